"""Compares what ops compute and move with what their machine can do at most: the roofline of a profile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tfprof_widget.analysis.account.step import recorded_steps
from tfprof_widget.analysis.machines import Machine, known_machine
from tfprof_widget.engine.layers import node_layers
from tfprof_widget.engine.measures import measures
from tfprof_widget.engine.view import ViewData
from tfprof_widget.ingest.flops.moved import count_moved
from tfprof_widget.ingest.parts.nodes import definitions_of
from tfprof_widget.lib.arrays import ABSENT, Floats, Indices, Integers
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.processor import processor
from tfprof_widget.lib.text import respelled, short_units
from tfprof_widget.profiles.data import ProfileData, ProfileTables, kind_of_steps
from tfprof_widget.profiles.devices import Accelerator, device_label
from tfprof_widget.profiles.options import Options, one_of
from tfprof_widget.profiles.program import MovedBytes
from tfprof_widget.profiles.tables import Lists

BOUNDS = ("compute", "memory", "overhead")
"""What ops take their time for: computing, waiting for memory, or neither."""

OVERHEAD = 0.1
"""If the arithmetic and the memory explain less of the time than this, something else takes it."""

KNOWN = 0.5
"""The work has to be known for so large a share of a row's time, or it tells nothing of the row."""

ROWS = ("op", "layer", "type")
MEASURE = "where tfprof_widget.machine() can measure the roof"
DTYPES = {1: "float32", 2: "float64", 14: "bfloat16", 19: "float16"}
"""The types in which ops compute, by TensorFlow's numbers of them."""

_MOST_LOOKED_AT = 50
# Multiply-add units for float32 in a multiprocessor, by the compute capability of NVIDIA's GPUs.
_UNITS = {
    **dict.fromkeys(("6.0", "7.0", "7.2", "7.5", "8.0"), 64),
    **dict.fromkeys(("5.0", "5.2", "5.3", "6.1", "6.2", "8.6", "8.7", "8.9", "9.0", "10.0", "12.0"), 128),
    **dict.fromkeys(("3.0", "3.5", "3.7"), 192),
}


@dataclass(frozen=True)
class Roof:
    """The most float operations and bytes a second, and those of a usual round; `name` says of what.

    >>> Roof("a CPU", 100e9, 40e9, 90e9, 38e9).ridge
    2.5
    """

    name: str
    float_ops: float
    bytes: float
    usual_float_ops: float
    usual_bytes: float

    @property
    def ridge(self) -> float:
        """The intensity from which on computing takes longer than the memory."""
        return self.float_ops / self.bytes

    @classmethod
    def measured(cls, machine: Machine) -> Roof:
        """The roof of a machine that was measured."""
        name = f"{machine.fingerprint.get('processor') or 'CPU'}, {machine.dtype}"
        compute, memory = machine.compute, machine.memory
        return cls(name, compute.best, memory.best, compute.median, memory.median)


@dataclass(frozen=True)
class KnownRoof:
    """The roof of a profile, or the reason why it is not known; with a roof, what else there is to say of it."""

    roof: Roof | None
    reason: str = ""


def moved_bytes(profile: ProfileData) -> MovedBytes:
    """What a run of each node takes in and puts out, counted once for a profile.

    >>> from tfprof_widget.demo import demo_profile
    >>> bool(moved_bytes(demo_profile()).is_known.any())
    True
    """
    return profile.moved_bytes or profile.cache.kept("moved bytes", lambda: count_moved(profile))


def roof_of(profile: ProfileTables, machine: Machine | None = None) -> KnownRoof:
    """The roof that ops of a profile are under: the given machine's, else that of the device or machine they ran on.

    >>> from tfprof_widget.demo import demo_profile
    >>> from tfprof_widget.profiles.kept_run import KeptRun
    >>> demo = demo_profile().having(kept_run=KeptRun(fingerprint={"processor": "a CPU of another make"}))
    >>> roof_of(demo).reason
    'this ran on another machine (a CPU of another make), where tfprof_widget.machine() can measure the roof'
    """
    if machine is not None:
        return KnownRoof(Roof.measured(machine))
    if _computes_on_accelerators(profile):
        return _of_accelerator(profile)
    told = profile.kept_run.fingerprint if profile.kept_run is not None else {}
    of_machine = {name: told[name] for name in processor() if name in told}
    if any(processor()[name] != value for name, value in of_machine.items()):
        return KnownRoof(None, f"this ran on another machine ({told.get('processor', 'not told which')}), {MEASURE}")
    is_here = of_machine or (profile.cells and profile.kept_run is None) or profile.traces.live
    reason = "" if is_here else "on which machine this ran is not known"
    dtype = computes_in(profile)
    known = known_machine(dtype)
    if known is None:
        given = "" if dtype == "float32" else f'"{dtype}"'
        if reason:
            return KnownRoof(None, f"{reason}; if it was this one, run tfprof_widget.machine({given})")
        return KnownRoof(None, f"this machine is not measured for {dtype}: run tfprof_widget.machine({given})")
    return KnownRoof(Roof.measured(known), reason and f"{reason}, and this one is compared with")


def computes_in(profile: ProfileTables) -> str:
    """The type in which the ops with most float operations compute; float32 if the graph does not tell.

    >>> from tfprof_widget.demo import demo_profile
    >>> computes_in(demo_profile())
    'float32'
    """
    nodes = profile.nodes
    costly = np.argsort(-nodes.float_ops, kind="stable")[:_MOST_LOOKED_AT]
    row_of = {nodes.names[row]: row for row in costly[nodes.float_ops[costly] > 0].tolist()}
    sums: dict[str, int] = {}
    for name, node in definitions_of(profile.graphs, row_of).items():
        dtype = DTYPES.get(node.attr["T"].type) if "T" in node.attr else None
        if dtype is not None:
            sums[dtype] = sums.get(dtype, 0) + int(nodes.float_ops[row_of[name]])
    return max(sums, key=lambda each: sums[each], default="float32")


def _computes_on_accelerators(profile: ProfileTables) -> bool:
    """Whether most float operations are of ops whose kernels ran on accelerators."""
    totals = profile.step_totals
    float_ops, on_accelerator = totals.float_ops_of(profile.nodes), totals.accelerator_nanos > 0
    if not float_ops.any():
        return bool(totals.accelerator_nanos.sum() > totals.cpu_nanos.sum())
    return bool(float_ops[on_accelerator].sum() > float_ops[~on_accelerator].sum())


def _of_accelerator(profile: ProfileTables) -> KnownRoof:
    """The roof by what the accelerator that the recording has says of itself."""
    for each in profile.accelerators:
        rate = each.float_ops_per_second or _rate_of_cores(each)
        if rate and each.bytes_per_second:
            label = device_label(each.name) + (f", {each.model}" if each.model else "")
            by = "" if each.float_ops_per_second else ", float32 by clock and cores"
            return KnownRoof(Roof(f"{label}{by}", rate, each.bytes_per_second, rate, each.bytes_per_second))
    return KnownRoof(None, "the recording does not tell how fast its accelerator computes and how fast its memory is")


def _rate_of_cores(each: Accelerator) -> int:
    """The float operations a second of a GPU without its units for half precision; 0 if that is not known."""
    return 2 * _UNITS.get(each.compute_capability, 0) * each.cores * each.clock_hertz


@dataclass(frozen=True, eq=False)
class Rates:
    """What rows compute and move in a step of so many seconds of op time, and how much of that time is `known`."""

    seconds: Floats
    float_ops: Floats
    bytes: Floats
    known: Floats

    @property
    def intensity(self) -> Floats:
        """Float operations for each byte; NaN where no bytes are known."""
        return _ratio(self.float_ops, self.bytes)

    @property
    def rate(self) -> Floats:
        """Float operations a second; NaN for rows that took no time."""
        return _ratio(self.float_ops, self.seconds)

    def bounds(self, roof: Roof | None) -> list[str | None]:
        """What each row takes its time for, one of BOUNDS; None where that is not known.

        >>> rows = Rates(*np.array([[1.0, 1.0, 1.0, 0.0], [60.0, 2.0, 1.0, 0.0], [10.0, 30.0, 1.0, 0.0], [1, 1, 1, 1]]))
        >>> rows.bounds(Roof("a CPU", 100.0, 40.0, 100.0, 40.0))
        ['compute', 'memory', 'overhead', None]
        """
        if roof is None:
            return [None] * len(self.seconds)
        computing, moving = self.float_ops / roof.float_ops, self.bytes / roof.bytes
        code = np.where(computing >= moving, 0, 1)
        code = np.where(np.maximum(computing, moving) < OVERHEAD * self.seconds, 2, code)
        told = (self.seconds > 0) & (self.known >= KNOWN)
        return [BOUNDS[each] if is_told else None for each, is_told in zip(code.tolist(), told.tolist(), strict=True)]


def _ratio(one: Floats, other: Floats) -> Floats:
    found: Floats = np.divide(one, other, out=np.full(len(one), np.nan), where=other > 0)
    return found


def rates_of(profile: ProfileData, options: Options, groups: Indices, count: int) -> Rates:
    """What groups of nodes do in the mean of the chosen steps; `groups` has the group of each node, or ABSENT.

    What ran on an accelerator takes the time of its kernels, without that of the host, which starts them.
    """
    found, moved = measures(profile, options), moved_bytes(profile)
    of_kernels, unit = found.columns["accelerator_micros"], found.time_scale
    micros = np.where(of_kernels > 0, of_kernels, found.columns["micros"])
    columns = (
        micros / (1e6 * unit),
        found.columns["float_ops"] / found.scale,
        found.columns["runs"] * moved.of_one_run.astype(np.float64) / found.scale,
        np.where(moved.is_known, micros, 0) / (1e6 * unit),
    )
    inside = (groups != ABSENT) & (found.columns["runs"] > 0)
    sums = np.zeros((4, count))
    for values, each in zip(sums, columns, strict=True):
        np.add.at(values, groups[inside], each[inside])
    seconds, float_ops, moved_in_all, known = sums
    return Rates(seconds, float_ops, moved_in_all, np.nan_to_num(_ratio(known, seconds), nan=1.0))


def rates_of_view(view: ViewData) -> Rates:
    """What the rows of a view do themselves, without what is below them.

    >>> from tfprof_widget.demo import demo_profile
    >>> rates = rates_of_view(demo_profile().view("op", order_by="float_ops"))
    >>> int(rates.float_ops[0]), int(rates.bytes[0])
    (13172736, 715776)
    """
    tree, profile = view.forest.tree, view.profile
    start, rows = tree.row_start[view.places], tree.row_start[view.places + 1]
    members = Lists(np.concatenate([[0], np.cumsum(rows - start)]), np.zeros(0, np.int32))
    owner = np.repeat(np.arange(len(view)), rows - start)
    place = np.arange(len(owner)) - np.repeat(members.start[:-1] - start, rows - start)
    weight = view.forest.weight[place]
    groups = np.full(len(profile.nodes), ABSENT, np.int32)
    groups[tree.rows[place[weight > 0]]] = owner[weight > 0]
    return rates_of(profile, view.options, groups, len(view))


def step_nanos(profile: ProfileData) -> Integers:
    """What each step takes by the clock: in the median of its kind's runs without tracing, else as it was recorded.

    >>> from tfprof_widget.demo import demo_profile
    >>> step_nanos(demo_profile()).tolist()
    [365125]
    """
    found, recorded = np.zeros(len(profile.steps), np.int64), recorded_steps(profile)
    found[recorded.step] = recorded.nanos
    if profile.cell is not None:
        for step, name in enumerate(profile.step_names):
            runs = profile.cell.runs_of(kind_of_steps(name))
            if runs is not None and runs.usual_nanos and name == kind_of_steps(name):
                found[step] = runs.usual_nanos
    return found


def roofline_table(
    profile: ProfileData, machine: Machine | None, by: str, options: Options
) -> tuple[dict[str, Any], KnownRoof]:
    """The columns of `Profile.roofline`, and what they are compared with."""
    one_of("by", by, ROWS)
    names, types, groups = _grouped(profile, by)
    rates, known = rates_of(profile, options, groups, len(names)), roof_of(profile, machine)
    if not rates.seconds.any():
        raise ProfileError("roofline: no op of this profile has a time; capture a run of it, or give its RunMetadata")
    roof, missing = known.roof, np.full(len(names), np.nan)
    rate = rates.rate
    columns = {
        "name": names,
        **({} if types is None else {"type": types}),
        "micros": rates.seconds * 1e6,
        "float_ops": rates.float_ops,
        "bytes_moved": rates.bytes,
        "intensity": rates.intensity,
        "gflops": rate / 1e9,
        "of_peak": rate / roof.float_ops if roof else missing,
        "of_bandwidth": _ratio(rates.bytes, rates.seconds) / roof.bytes if roof else missing,
        "bound": rates.bounds(roof),
        "known": rates.known,
    }
    order = np.argsort(-rates.seconds, kind="stable")
    order = order[rates.seconds[order] > 0].tolist()
    return {name: [values[row] for row in order] for name, values in columns.items()}, known


def _grouped(profile: ProfileData, by: str) -> tuple[list[str], list[str] | None, Indices]:
    """The names of the groups and their types, and the group of each node."""
    nodes = profile.nodes
    match by:
        case "layer":
            layers = node_layers(profile)
            return [*layers.names], [*layers.types], layers.layer
        case "type":
            return [*nodes.ops], None, nodes.op
        case _:
            types = [nodes.ops[op] for op in nodes.op.tolist()]
            return [*nodes.names], types, np.arange(len(nodes), dtype=np.int32)


def told_roof(roof: Roof) -> str:
    """A roof in words.

    >>> told_roof(Roof("a CPU", 100e9, 40e9, 90e9, 38e9))
    'a CPU: 100 GFLOP/s, 40 GB/s'
    """
    return f"{respelled(roof.name)}: {short_units(roof.float_ops, 'FLOP/s')}, {short_units(roof.bytes, 'B/s')}"
