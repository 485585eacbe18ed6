"""What each graph node cost in the chosen step and clock: one exact integer column a measure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tfprof_widget.engine.matching import Names
from tfprof_widget.integers import NANOS_A_MICRO, check_sum
from tfprof_widget.options import Options
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Flags, Indices, Integers, StepTotals

TIMES = ("micros", "accelerator_micros", "cpu_micros")
BYTES = ("bytes", "peak_bytes", "residual_bytes", "output_bytes")
MEASURES = (*TIMES, *BYTES, "runs", "float_ops", "params")

# Divisible by 1 to 10, so that the usual means have no rest; see `_common_divisor`.
LARGEST_DIVISOR = 5040


@dataclass(frozen=True, eq=False)
class Measures:
    """A column an entry of MEASURES over the graph nodes.

    Times count `1 / time_scale` microseconds and everything else `1 / scale`: the mean over steps
    stays a whole number that way, and sums of it stay exact.
    """

    columns: Mapping[str, Integers]
    scale: int
    time_scale: int

    def unit(self, measure: str) -> int:
        """How many of the column's units make one microsecond, byte, run, ..."""
        return self.time_scale if measure in TIMES else self.scale


def measures(profile: Profile, options: Options) -> Measures:
    """The measures of each node, kept with the profile for the next view of the same step and clock.

    >>> from tfprof_widget.demo import demo_profile
    >>> costs = measures(demo_profile(), Options.of())
    >>> int(costs.columns["micros"].sum()) / costs.time_scale
    320.802
    """
    steps = chosen_steps(profile, options)
    key = ("measures", steps, options.step < 0, options.timing)
    return profile.memory.recent(key, lambda: _measures(profile, steps, options.step < 0, options.timing == "exact"))


def chosen_steps(profile: Profile, options: Options) -> tuple[int, ...]:
    """The indices of the steps to look at: one, or all those whose run has a matching name."""
    if options.step >= 0:
        if options.step not in profile.steps:
            known = ", ".join(map(str, profile.steps)) or "none: no run metadata was given"
            raise ValueError(f"step {options.step} is not in the profile; its steps are {known}")
        return (profile.steps.index(options.step),)
    names = Names(profile.step_names)
    matching = np.flatnonzero(names.matching("run_name_regexes", options.run_name_regexes))
    if profile.steps and not len(matching):
        known = ", ".join(sorted({repr(name) for name in profile.step_names}))
        raise ValueError(f"run_name_regexes {list(options.run_name_regexes)} match no run; the runs are {known}")
    return tuple(matching.tolist())


def _measures(profile: Profile, steps: tuple[int, ...], is_mean: bool, exact: bool) -> Measures:
    count = len(profile.nodes)
    totals = profile.step_totals
    chosen = slice(None) if len(steps) == len(profile.steps) else np.isin(totals.step, steps)
    node = totals.node[chosen]
    recorded = {name: values[chosen] for name, values in _recorded(totals, exact).items()}
    if not is_mean:
        scale = 1
        columns = {name: _spread(values, node, count) for name, values in recorded.items()}
    else:
        steps_seen = np.bincount(node, minlength=count).astype(np.int64)
        sums = {name: _summed(name, values, node, count) for name, values in recorded.items()}
        scale = _common_divisor(steps_seen) if exact else 1
        columns = {name: _mean(name, values, steps_seen, scale) for name, values in sums.items()}
    ran = np.zeros(count, np.bool_)
    ran[totals.node] = True
    columns |= _static(profile, columns["runs"], ran, scale)
    for name, values in columns.items():
        check_sum(name, values)
    return Measures(columns, scale, scale * NANOS_A_MICRO if exact else scale)


def _recorded(totals: StepTotals, exact: bool) -> dict[str, Integers]:
    accelerator = totals.accelerator_nanos if exact else totals.accelerator_micros
    cpu = totals.cpu_nanos if exact else totals.cpu_micros
    check_sum("micros", accelerator, cpu)
    return {
        "micros": accelerator + cpu,
        "accelerator_micros": accelerator,
        "cpu_micros": cpu,
        "bytes": totals.requested_bytes,
        "peak_bytes": totals.peak_bytes,
        "residual_bytes": totals.residual_bytes,
        "output_bytes": totals.output_bytes,
        "runs": totals.run_count,
    }


def _spread(values: Integers, node: Indices, count: int) -> Integers:
    column = np.zeros(count, np.int64)
    column[node] = values
    return column


def _summed(name: str, values: Integers, node: Indices, count: int) -> Integers:
    check_sum(name, values)
    column = np.zeros(count, np.int64)
    np.add.at(column, node, values)
    return column


def _common_divisor(steps_seen: Integers) -> int:
    """The common denominator of the nodes' means, bounded so that scaled sums stay far from 2**63."""
    divisor = math.lcm(*np.unique(steps_seen[steps_seen > 0]).tolist())
    return divisor if divisor <= LARGEST_DIVISOR else LARGEST_DIVISOR


def _mean(name: str, sums: Integers, steps_seen: Integers, scale: int) -> Integers:
    divisor = np.maximum(steps_seen, 1)
    check_sum(name, sums, factor=scale)
    whole, rest = np.divmod(np.abs(sums) * scale, divisor)
    if scale > 1:  # there may be a rest only where the divisor does not divide the scale
        whole += 2 * rest >= divisor
    mean: Integers = np.sign(sums) * whole  # native divides as C++ does, towards zero
    return mean


def _static(profile: Profile, runs: Integers, ran: Flags, scale: int) -> dict[str, Integers]:
    nodes = profile.nodes
    times = np.where(ran, runs, scale)
    check_sum("float_ops", nodes.float_ops.astype(np.float64) * times)
    check_sum("params", nodes.parameters, factor=scale)
    return {
        "float_ops": nodes.float_ops * times,
        "params": nodes.parameters * scale,
    }
