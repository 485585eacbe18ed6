"""Measures each graph node in the chosen steps, with one column of exact integers for each measure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tfprof_widget.engine.steps import by_worker, chosen_steps
from tfprof_widget.engine.tree import prefix_sums
from tfprof_widget.lib.arrays import ABSENT, NANOS_A_MICRO, Indices, Integers, check_sum
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.options import Options
from tfprof_widget.profiles.tables import Lists

TIMES = ("micros", "accelerator_micros", "cpu_micros")
BYTES = ("bytes", "peak_bytes", "residual_bytes", "output_bytes")
MEASURES = (*TIMES, *BYTES, "runs", "float_ops", "params")

# Divisible by 1 to 10, so that the usual means are exact; see `_common_divisor`.
LARGEST_DIVISOR = 5040


@dataclass(frozen=True, eq=False)
class Measures:
    """A column over the graph nodes for each entry of MEASURES.

    Times are in units of `1 / time_scale` microseconds and all else in units of `1 / scale`. So means over steps are
    whole numbers, and their sums stay exact.
    """

    columns: Mapping[str, Integers]
    scale: int
    time_scale: int

    def unit(self, measure: str) -> int:
        """How many of the column's units make one microsecond, byte, run, ..."""
        return self.time_scale if measure.endswith("micros") else self.scale


def measures(profile: ProfileData, options: Options) -> Measures:
    """The measures of each node, kept with the profile for the next view with the same steps, timing and workers.

    >>> from tfprof_widget.demo import demo_profile
    >>> costs = measures(demo_profile(), Options.of())
    >>> int(costs.columns["micros"].sum()) / costs.time_scale
    320.802
    """
    steps = chosen_steps(profile, options)
    key = ("measures", steps, options.timing, options.across_workers)
    return profile.cache.recent(
        key, lambda: _measures(profile, steps, options.timing == "exact", options.across_workers)
    )


def measures_of(profile: ProfileData, steps: tuple[int, ...], *, exact: bool) -> Measures:
    """The measures of each node as means over some steps, such as a worker's; not kept, as there may be many workers.

    >>> from tfprof_widget.demo import demo_profile
    >>> int(measures_of(demo_profile(), (0,), exact=True).columns["micros"].sum())
    320802
    """
    return _added_up(profile, [steps], exact)


def _measures(profile: ProfileData, steps: tuple[int, ...], exact: bool, across: str) -> Measures:
    workers = by_worker(profile, steps)
    if across == "sum" and len(workers) > 1:
        return _added_up(profile, workers, exact)
    if across == "slowest" and len(workers) > 1:
        return max((_measures(profile, each, exact, across) for each in workers), key=_whole_time)
    return _added_up(profile, [steps], exact)


def _whole_time(found: Measures) -> Fraction:
    return Fraction(int(found.columns["micros"].sum()), found.time_scale)


def _added_up(profile: ProfileData, groups: Sequence[tuple[int, ...]], exact: bool) -> Measures:
    """The sum of the means of some groups of steps."""
    first, others = _Ran.of(profile, groups[0], exact), groups[1:]
    divisors = [first.divisor, *(np.unique(_Ran.of(profile, steps, exact).divisor) for steps in others)]
    scale = _common_divisor(np.unique(np.concatenate(divisors))) if exact else 1
    columns = _means(profile, first, exact, scale)
    for steps in others:  # one group after another: there may be many
        for name, values in _means(profile, _Ran.of(profile, steps, exact), exact, scale).items():
            check_sum(name, columns[name], values)
            columns[name] += values
    columns |= _static(profile, columns, scale, exact)
    return Measures(columns, scale, scale * NANOS_A_MICRO if exact else scale)


@dataclass(frozen=True, eq=False)
class _Ran:
    """The nodes that ran in some steps: the rows of the step totals, sorted by node, and where each node's begin.

    The sums of a node are divided by its `divisor`. The exact mean is over all steps of the kinds (the names of steps)
    that the node runs in, native tfprof's over the steps that it ran in: there, nodes that run in some steps only add
    up to more than any step took.
    """

    rows: slice | Integers
    first: Integers
    node: Indices
    divisor: Integers

    @classmethod
    def of(cls, profile: ProfileData, steps: tuple[int, ...], exact: bool) -> _Ran:
        """Those of these steps."""
        totals, rows = profile.step_totals, _rows(profile, steps)
        node = totals.node[rows]
        first = np.flatnonzero(np.diff(node, prepend=ABSENT))
        if exact:
            divisor = _steps_of_kinds(profile, steps, totals.step[rows], first)
        else:
            divisor = np.diff(first, append=len(node))
        return cls(rows, first, node[first], divisor)


def _steps_of_kinds(profile: ProfileData, steps: tuple[int, ...], step: Indices, first: Integers) -> Integers:
    """How many of the steps are of a kind that each node ran in; `step` has the step of each row."""
    names = [profile.step_names[each] for each in steps]
    kinds = {name: place for place, name in enumerate(dict.fromkeys(names))}
    count = np.bincount([kinds[name] for name in names], minlength=1)
    if len(count) == 1:
        return np.full(len(first), max(int(count[0]), 1))
    kind_of = np.zeros(len(profile.steps), np.int64)
    kind_of[list(steps)] = [kinds[name] for name in names]
    kind = kind_of[step]
    found = np.zeros(len(first), np.int64)
    for place, number in enumerate(count.tolist()):  # kinds are few
        found += number * np.maximum.reduceat(kind == place, first) if len(first) else 0
    return found


def _means(profile: ProfileData, ran: _Ran, exact: bool, scale: int) -> dict[str, Integers]:
    """The sums of each node by its divisor, times the scale."""
    means = {}
    for name, values in _recorded(profile, ran.rows, exact).items():
        check_sum(name, values)
        # The rows of a node follow one another, so that sums read memory once, in order.
        sums = np.add.reduceat(values, ran.first) if len(ran.first) < len(values) else values
        means[name] = np.zeros(len(profile.nodes), np.int64)
        means[name][ran.node] = _divided(name, sums, ran.divisor, scale)
    return means


def _rows(profile: ProfileData, steps: tuple[int, ...]) -> slice | Integers:
    """The rows of the step totals of some steps, in ascending order."""
    if len(profile.steps) < 2:
        return slice(None)
    # Made with the first view, whatever its steps, so that the next step is shown quickly.
    of_steps = profile.cache.kept("rows of steps", lambda: _rows_of_steps(profile))
    if len(steps) == len(profile.steps):
        return slice(None)
    return np.sort(np.concatenate([of_steps[step] for step in steps]))


def _rows_of_steps(profile: ProfileData) -> Lists:
    step, count = profile.step_totals.step, len(profile.steps)
    rows = np.argsort(step.astype(np.min_scalar_type(count)), kind="stable")
    return Lists(prefix_sums(np.bincount(step, minlength=count)), rows.astype(np.int32))


def _recorded(profile: ProfileData, rows: slice | Integers, exact: bool) -> dict[str, Integers]:
    """The columns of the step totals; float operations only in exact timing."""
    totals, nodes = profile.step_totals, profile.nodes
    float_ops = {"float_ops": totals.float_ops_of(nodes, rows)} if exact else {}
    if exact and totals.float_ops is None:
        check_sum("float_ops", nodes.float_ops[totals.node[rows]].astype(np.float64) * totals.run_count[rows])
    accelerator = (totals.accelerator_nanos if exact else totals.accelerator_micros)[rows]
    cpu = (totals.cpu_nanos if exact else totals.cpu_micros)[rows]
    check_sum("micros", accelerator, cpu)
    return {
        "micros": accelerator + cpu,
        "accelerator_micros": accelerator,
        "cpu_micros": cpu,
        "bytes": totals.requested_bytes[rows],
        "peak_bytes": totals.peak_bytes[rows],
        "residual_bytes": totals.residual_bytes[rows],
        "output_bytes": totals.output_bytes[rows],
        "runs": totals.run_count[rows],
        **float_ops,
    }


def _common_divisor(divisors: Integers) -> int:
    """The common denominator of the means, bounded so that scaled sums stay far below 2**63."""
    divisor = math.lcm(*divisors.tolist())
    return divisor if divisor <= LARGEST_DIVISOR else LARGEST_DIVISOR


def _divided(name: str, sums: Integers, divisor: Integers, scale: int) -> Integers:
    """The sums over the divisors, times the scale; exact timing rounds the quotients, native timing truncates them."""
    factor, rest = np.divmod(scale, divisor)
    if not rest.any():
        check_sum(name, sums, factor=int(factor.max(initial=1)))
        return sums * factor
    whole, rest = np.divmod(np.abs(sums), divisor)
    check_sum(name, whole, factor=scale)
    more, rest = np.divmod(rest * scale, divisor)
    whole = whole * scale + more
    if scale > 1:  # only exact timing has a scale
        whole += 2 * rest >= divisor
    mean: Integers = np.sign(sums) * whole  # native tfprof divides as C++ does, towards zero
    return mean


def _static(profile: ProfileData, columns: Mapping[str, Integers], scale: int, exact: bool) -> dict[str, Integers]:
    """The parameters, and the float operations: of nodes that never ran once, and natively of others times the runs."""
    nodes = profile.nodes
    has_run = profile.cache.kept("has run", lambda: np.isin(np.arange(len(nodes)), profile.step_totals.node))
    of_one = nodes.float_ops_in(exact=exact)
    counted = np.flatnonzero(np.where(has_run, 0, of_one) if exact else of_one)
    times = np.where(has_run[counted], columns["runs"][counted], scale)
    float_ops = columns["float_ops"] if exact else np.zeros(len(nodes), np.int64)
    check_sum("float_ops", of_one[counted].astype(np.float64) * times, float_ops)
    check_sum("params", nodes.parameters, factor=scale)
    float_ops[counted] = of_one[counted] * times
    return {
        "float_ops": float_ops,
        "params": nodes.parameters if scale == 1 else nodes.parameters * scale,
    }
