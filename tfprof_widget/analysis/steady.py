"""Selects the steady steps, and answers questions about what ran in them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tfprof_widget.ingest.parts.names import DATA_SCOPE
from tfprof_widget.lib.arrays import ABSENT, Flags, Indices, Integers
from tfprof_widget.lib.intervals import Intervals
from tfprof_widget.lib.text import written_seconds
from tfprof_widget.profiles.data import EAGER, EARLY, FIRST, PARTIAL, SHORTER, ProfileData, ProfileTables
from tfprof_widget.profiles.devices import accelerator_streams, canonical

WORTHWHILE = 0.1
"""A cause with a smaller share of the time is not worth a change of the program, and is no finding."""

MOST_SELECTED = 5

COLLECTIVE = re.compile(
    r"Collective\w+|_?Nccl\w+|Horovod\w+|(m?n|r)ccl\w*.*"  # TensorFlow, Horovod, and the kernels of NCCL and RCCL
    r"|(all-reduce|all-gather|reduce-scatter|all-to-all|collective-(permute|broadcast)|ragged-all-to-all)"
    r"(-start|-done)?(\.\d+)?"  # XLA
    r"|psum(_scatter|_invariant)?|p(max|min|permute|broadcast)|all_(gather|to_all|reduce)(_invariant)?|reduce_scatter",
    re.DOTALL,
)
"""Op types and kernels by which accelerators exchange what each of them has."""

COPYING = re.compile(
    r"(copy-(start|done)|(send|recv)(-done)?|infeed|outfeed)(\.\d+)?"  # XLA: what a TPU does until data have come
    r"|__amd_rocclr_copyBuffer.*",  # ROCm copies by kernels, too
    re.DOTALL,
)
"""Op types and kernels that only move data, or wait until they are moved."""


@dataclass(frozen=True, eq=False)
class SteadySteps:
    """The steps that checkers look at: those of the main kind if it is known, else all but warm-ups and eager ops.

    Times are in nanoseconds.

    >>> from tfprof_widget.demo import demo_profile
    >>> steady = SteadySteps.of(demo_profile())
    >>> steady.steps.tolist(), steady.shown(steady.wall.length), steady.options
    ([0], '365.1 µs', {})
    """

    profile: ProfileData
    steps: Integers

    @classmethod
    def of(cls, profile: ProfileData) -> SteadySteps:
        """The steady steps of a profile."""
        return profile.cache.kept("steady", lambda: cls(profile, _steady_steps(profile)))

    @cached_property
    def rows(self) -> slice | Integers:
        """The rows of the executions in these steps that have a start."""
        executions = self.profile.executions
        counts = np.zeros(len(self.profile.steps), np.bool_)
        counts[self.steps] = True
        chosen = executions.start_nanos > 0
        if not counts.all():
            chosen &= counts[executions.step]
        found: Integers = np.flatnonzero(chosen)
        first, end = (int(found[0]), int(found[-1]) + 1) if len(found) else (0, 0)
        # Mostly the rows are adjacent, so that their columns are views of the profile's columns and no copies.
        return slice(first, end) if end - first == len(found) else found

    @cached_property
    def node(self) -> Indices:
        """The node of each of the rows."""
        return self.profile.executions.node[self.rows]

    @cached_property
    def start(self) -> Integers:
        """When each of the rows started."""
        return self.profile.executions.start_nanos[self.rows]

    @cached_property
    def duration(self) -> Integers:
        """How long each of the rows took."""
        return self.profile.executions.duration_nanos[self.rows]

    @property
    def end(self) -> Integers:
        """When each of the rows ended."""
        return self.start + self.duration

    @cached_property
    def device(self) -> Indices:
        """The device of each of the rows."""
        return self.profile.executions.device[self.rows]

    @cached_property
    def is_on_stream(self) -> Flags:
        """Whether each row ran on an accelerator, on the one line that has every kernel once."""
        return self.on_devices(accelerator_streams(self.profile.nodes.devices))

    @cached_property
    def is_data(self) -> Flags:
        """Whether each node belongs to `tf.data`, whose threads work ahead of the steps."""
        return _is_data(self.profile)

    @cached_property
    def wall(self) -> Intervals:
        """The time of the steps, each from its first start to its last end, without `tf.data`."""
        own = _picked(~self.of_nodes(self.is_data))
        step = self.profile.executions.step[self.rows][own]
        start = np.full(len(self.profile.steps), np.iinfo(np.int64).max)
        end = np.zeros(len(self.profile.steps), np.int64)
        np.minimum.at(start, step, self.start[own])
        np.maximum.at(end, step, self.end[own])
        ran = end > 0
        return Intervals.of(start[ran], end[ran])

    @cached_property
    def are_steps(self) -> bool:
        """Whether these are whole steps that repeat: a warm-up sets up what others use, and eager ops have no step."""
        names = {self.profile.step_names[step] for step in self.steps.tolist()}
        return any(name != EAGER and not name.endswith((*FIRST, PARTIAL)) for name in names)

    @cached_property
    def clock(self) -> int:
        """The time of the steps by the clock, as it is without tracing if that is known, else as it was traced."""
        cell, names = self.profile.cell, {self.profile.step_names[step] for step in self.steps.tolist()}
        runs = cell.runs_of(self.profile.main_kind) if cell is not None and names == {self.profile.main_kind} else None
        return (runs.usual_nanos if runs is not None else 0) * len(self.steps) or self.wall.length

    @property
    def untraced_share(self) -> float:
        """The time of the steps without tracing by their time as traced, at most 1: tracing slows steps."""
        return min(self.clock / max(self.wall.length, 1), 1.0)

    def busy(self, rows: Flags) -> int:
        """The time within the steps in which any of these rows ran."""
        return self.wall.length - self.wall.without(self.during(rows)).length

    def of_clock(self, nanos: int, others: Flags) -> int:
        """A time in which none of the other rows ran, as it is without tracing, which makes it longer.

        It shrinks as the steps do, and is at most what the others leave of the steps' time.
        """
        return min(round(nanos * self.untraced_share), max(self.clock - self.busy(others), 0))

    @cached_property
    def nanos(self) -> Integers:
        """The time of each node, on accelerators and CPUs together; 0 for nodes of `tf.data`."""
        totals = self.profile.step_totals
        sums = self._added_up(totals.accelerator_nanos) + self._added_up(totals.cpu_nanos)
        sums[self.is_data] = 0
        return sums

    @cached_property
    def runs(self) -> Integers:
        """How often each node ran."""
        return self._added_up(self.profile.step_totals.run_count)

    @cached_property
    def float_ops(self) -> Integers:
        """The float operations of each node."""
        return self._added_up(self.profile.step_totals.float_ops_of(self.profile.nodes))

    @property
    def options(self) -> Mapping[str, Any]:
        """The options by which a view shows only these steps."""
        names = self.profile.step_names
        chosen = sorted({names[step] for step in self.steps.tolist()})
        return {} if len(chosen) == len(set(names)) else {"run_name_regexes": [re.escape(name) for name in chosen]}

    def of_nodes(self, nodes: Flags) -> Flags:
        """Whether each row is of one of some nodes."""
        return _looked_up(nodes, self.node)

    def on_devices(self, devices: Flags) -> Flags:
        """Whether each row ran on one of some devices."""
        return _looked_up(devices, self.device)

    def of_ops_or_kernels(self, pattern: re.Pattern[str]) -> Flags:
        """Whether each row is of such ops or kernels: by its op, its node's kernels, or those on its stream."""
        names = self.profile.nodes.names
        others: set[tuple[str, int | None]] = set()
        found: set[tuple[str, int | None]] = set()
        for each in self.profile.kernel_runs:
            of = found if pattern.fullmatch(each.kernel) else others
            of.update([(each.node, each.stream), (each.node, None)])
        found -= others
        row_of = {name: row for row, name in enumerate(names)} if found else {}
        nodes = self.ops(pattern)
        nodes[[row_of[name] for name, stream in found if stream is None and name in row_of]] = True
        rows = self.of_nodes(nodes)
        thread = self.profile.executions.thread[self.rows]
        for name, stream in found:
            if stream is not None and name in row_of:
                rows = rows | (self.is_on_stream & (self.node == row_of[name]) & (thread == stream))
        return rows

    @cached_property
    def moves(self) -> Flags:
        """Whether each row only moves data on an accelerator, or waits until they are moved."""
        return self.is_on_stream & self.of_ops_or_kernels(COPYING)

    def copies_of(self, device: str) -> tuple[Indices, Integers, Integers, Flags]:
        """The step, start and end of each transfer, and whether it is a copy to, from or within an accelerator."""
        transfers = self.profile.transfers
        is_copy = np.array(["MEMCPY" in kind.upper() for kind in transfers.kinds], np.bool_)
        at_it = np.array([name.endswith(device) for name in transfers.devices], np.bool_)
        start = transfers.start_nanos
        if not len(transfers):
            return transfers.step, start, start, np.zeros(0, np.bool_)
        chosen: Flags = is_copy[transfers.kind] & (at_it[transfers.source] | at_it[transfers.target])
        return transfers.step, start, start + transfers.duration_nanos, chosen

    def copies(self, device: str) -> Intervals:
        """The stretches in which data were moved to, from or within an accelerator in these steps."""
        step, start, end, chosen = self.copies_of(device)
        rows = np.flatnonzero(chosen & np.isin(step, self.steps))
        names = self.profile.nodes.devices
        own = self.moves & self.on_devices(
            np.array([name.partition("/stream")[0] == device for name in names], np.bool_)
        )
        return Intervals.of(np.append(start[rows], self.start[own]), np.append(end[rows], self.end[own]))

    def during(self, rows: Flags) -> Intervals:
        """The stretches in which any of some rows ran."""
        picked = _picked(rows)
        return Intervals.of(self.start[picked], self.end[picked])

    def alone(self, rows: Flags) -> int:
        """The time within the steps in which some of these rows ran and no others."""
        outside = Intervals.of(np.append(0, self.wall.end), np.append(self.wall.start, np.iinfo(np.int64).max))
        return self.during(rows).without(self.during(~rows)).without(outside).length

    def ops(self, pattern: str | re.Pattern[str]) -> Flags:
        """Whether each node's op matches a regex in full."""
        nodes = self.profile.nodes
        matches = re.compile(pattern).fullmatch
        return np.array([matches(op) is not None for op in nodes.ops], np.bool_)[nodes.op]

    def share(self, nodes: Flags) -> float:
        """The share of the op time that some nodes take."""
        return float(self.nanos[nodes].sum()) / max(float(self.nanos.sum()), 1.0)

    def of_wall(self, nanos: int) -> float:
        """The share of a time in the time of the steps by the clock."""
        return nanos / max(self.clock, 1)

    def costliest(self, nodes: Flags) -> tuple[str, ...]:
        """The names of the few nodes among these that take most time; nodes that take none are left out."""
        rows = np.flatnonzero(nodes & (self.nanos > 0))
        rows = rows[np.argsort(-self.nanos[rows], kind="stable")][:MOST_SELECTED]
        return tuple(self.profile.nodes.names[row] for row in rows.tolist())

    def op_names(self, nodes: Flags) -> list[str]:
        """Regexes for the ops of those nodes among these that take time."""
        kinds = self.profile.nodes
        return [re.escape(kinds.ops[op]) for op in np.unique(kinds.op[nodes & (self.nanos > 0)]).tolist()]

    def shown(self, nanos: int) -> str:
        """A time of all steps as text, divided by the number of steps."""
        return written_seconds(nanos / max(len(self.steps), 1) / 1e9)

    @cached_property
    def _totals(self) -> slice | Integers:
        """The rows of the step totals in these steps."""
        counts = np.zeros(len(self.profile.steps), np.bool_)
        counts[self.steps] = True
        return slice(None) if counts.all() else np.flatnonzero(counts[self.profile.step_totals.step])

    def _added_up(self, column: Integers) -> Integers:
        """The sum of a column of the step totals for each node; rows are sorted by node."""
        node = self.profile.step_totals.node[self._totals]
        first = np.flatnonzero(np.diff(node, prepend=np.int32(ABSENT)))
        sums = np.zeros(len(self.profile.nodes), np.int64)
        sums[node[first]] = np.add.reduceat(column[self._totals], first) if len(first) else 0
        return sums


def _is_data(tables: ProfileTables) -> Flags:
    names = tables.nodes.names
    flags = np.zeros(len(names), np.bool_)
    flags[bisect_left(names, f"{DATA_SCOPE}/") : bisect_left(names, f"{DATA_SCOPE}0")] = True
    return flags


def _looked_up(flags: Flags, rows: Indices) -> Flags:
    """The flag of each row; if no flag is set, this is quick for many rows, too."""
    return flags[rows] if flags.any() else np.zeros(len(rows), np.bool_)


def _picked(rows: Flags) -> slice | Flags:
    """An index that picks these rows: if they are all rows, a slice, which makes no copy."""
    return slice(None) if rows.all() else rows


def _steady_steps(profile: ProfileTables) -> Integers:
    names = profile.step_names
    main = [step for step, name in enumerate(names) if name and name == profile.main_kind]
    unlike = (*FIRST, SHORTER, EARLY, PARTIAL)
    steady = [step for step, name in enumerate(names) if name != EAGER and not name.endswith(unlike)]
    return np.array(main or steady or range(len(names)), np.int64)


_WAITING = re.compile(
    r"(Padding|Priority|FIFO|RandomShuffle)?Queue(En|De)queue.*|Barrier.*|(Ordered)?Map(Unst|St)age|(Unst|St)age"
    r"|IteratorGetNext(Sync|AsOptional)?|_?(Host)?Recv|Collective.*"
)
"""Ops that mostly wait for other threads or tasks; a queue's may wait for as long as the program runs."""


def op_seconds(tables: ProfileTables, name: str) -> float:
    """The time of all ops in the steps of this name.

    >>> from tfprof_widget.demo import demo_profile
    >>> op_seconds(demo_profile(), "no such steps")
    0.0
    """
    executions = tables.executions
    return float(executions.duration_nanos[np.isin(executions.step, tables.steps_named(name))].sum()) / 1e9


def work_seconds(tables: ProfileTables, name: str) -> float:
    """The op time of a step of this name in the mean, without `tf.data` and ops that mostly wait; 0 if there is none.

    >>> from tfprof_widget.demo import demo_profile
    >>> demo_profile().step_names, work_seconds(demo_profile(), "")
    (('',), 0.000320802)
    """
    totals, nodes = tables.step_totals, tables.nodes
    named = tables.steps_named(name)
    waits = np.array([_WAITING.fullmatch(op) is not None for op in nodes.ops], np.bool_)[nodes.op]
    counted = np.isin(totals.step, named) & ~(waits | _is_data(tables))[totals.node]
    nanos = totals.accelerator_nanos[counted].sum() + totals.cpu_nanos[counted].sum()
    return float(nanos) / 1e9 / max(len(named), 1)


def executions_a_step(tables: ProfileTables, name: str) -> float:
    """How many executions there were in a step of this name in the mean, without `tf.data`; 0 if there is none.

    >>> from tfprof_widget.demo import demo_profile
    >>> executions_a_step(demo_profile(), "")
    30.0
    """
    named = tables.steps_named(name)
    executions = tables.executions
    counted = np.isin(executions.step, named) & ~_is_data(tables)[executions.node]
    return float(counted.sum()) / max(len(named), 1)


OP_TIME = "op time"
OF_STEPS = ("shown", "step", "recorded", OP_TIME, "FLOP formulas for")
"""The labels of the head line's facts that are of the steps shown. They stand behind `RUNS_TRACED`."""
RUNS_TRACED = "runs traced"


@dataclass(frozen=True, eq=False)
class StepUse:
    """For each step, in nanoseconds: the summed durations of its ops (`work`), and the time in which any op ran.

    >>> from tfprof_widget.demo import demo_profile
    >>> use = StepUse.of(demo_profile())
    >>> use.work.tolist(), use.busy.tolist(), round(use.ops_at_once([0]), 2)
    ([320802], [317387], 1.01)
    """

    work: Integers
    busy: Integers

    @classmethod
    def of(cls, tables: ProfileTables) -> StepUse:
        """The use of the steps of some tables; an accelerator counts by the one line that has every kernel once."""
        executions, devices = tables.executions, tables.nodes.devices
        counts = accelerator_streams(devices) | (
            canonical(devices) & np.array(["cpu:" in each for each in devices], np.bool_)
        )
        chosen = (executions.start_nanos > 0) & (executions.device != ABSENT) & _looked_up(counts, executions.device)
        step, start = executions.step[chosen], executions.start_nanos[chosen]
        work, busy = np.zeros((2, len(tables.steps)), np.int64)
        np.add.at(work, step, executions.duration_nanos[chosen])
        order = np.argsort(step, kind="stable")
        step, start, end = step[order], start[order], (start + executions.duration_nanos[chosen])[order]
        first = np.searchsorted(step, np.arange(len(tables.steps) + 1))
        # Workers run steps at the same time, so that each step's ops are joined apart.
        for each in np.unique(step).tolist():
            ran = slice(first[each], first[each + 1])
            busy[each] = Intervals.of(start[ran], end[ran]).length
        return cls(work, busy)

    def ops_at_once(self, steps: Sequence[int]) -> float:
        """How many ops ran at once in these steps: their op time by the time in which any of them ran."""
        chosen = np.array(steps, np.int64)
        busy = int(self.busy[chosen].sum())
        return float(self.work[chosen].sum()) / busy if busy else 0.0
