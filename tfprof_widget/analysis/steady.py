"""Selects the steady steps, and answers questions about what ran in them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tfprof_widget.ingest.parts.names import DATA_SCOPE
from tfprof_widget.lib.arrays import ABSENT, Flags, Indices, Integers
from tfprof_widget.lib.intervals import Intervals
from tfprof_widget.lib.text import written_time
from tfprof_widget.profiles.data import EAGER, SHORTER, WARM_UP, ProfileData, ProfileTables
from tfprof_widget.profiles.devices import accelerator_streams, canonical

WORTHWHILE = 0.1
"""A cause with a smaller share of the time is not worth a change of the program, and is no finding."""

MOST_SELECTED = 5


@dataclass(frozen=True, eq=False)
class SteadySteps:
    """The steps that checkers look at: those of the main kind if it is known, else all but warm-ups and eager ops.

    Times are in nanoseconds.

    >>> from tfprof_widget.demo import demo_profile
    >>> steady = SteadySteps.of(demo_profile())
    >>> steady.steps.tolist(), steady.shown(steady.wall.length), steady.options
    ([0], '365.12us', {})
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
        names = self.profile.nodes.names
        flags = np.zeros(len(names), np.bool_)
        flags[bisect_left(names, f"{DATA_SCOPE}/") : bisect_left(names, f"{DATA_SCOPE}0")] = True
        return flags

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

    def during(self, rows: Flags) -> Intervals:
        """The stretches in which any of some rows ran."""
        picked = _picked(rows)
        return Intervals.of(self.start[picked], self.end[picked])

    def alone(self, rows: Flags) -> int:
        """The time within the steps in which some of these rows ran and no others."""
        outside = Intervals.of(np.append(0, self.wall.end), np.append(self.wall.start, np.iinfo(np.int64).max))
        return self.during(rows).without(self.during(~rows)).without(outside).length

    def ops(self, pattern: str) -> Flags:
        """Whether each node's op matches a regex in full."""
        nodes = self.profile.nodes
        matches = re.compile(pattern).fullmatch
        return np.array([matches(op) is not None for op in nodes.ops], np.bool_)[nodes.op]

    def share(self, nodes: Flags) -> float:
        """The share of the op time that some nodes take."""
        return float(self.nanos[nodes].sum()) / max(float(self.nanos.sum()), 1.0)

    def of_wall(self, nanos: int) -> float:
        """The share of a time in the time of the steps."""
        return nanos / max(self.wall.length, 1)

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
        return written_time(nanos // max(len(self.steps), 1), 1000)

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


def _looked_up(flags: Flags, rows: Indices) -> Flags:
    """The flag of each row; if no flag is set, this is quick for many rows, too."""
    return flags[rows] if flags.any() else np.zeros(len(rows), np.bool_)


def _picked(rows: Flags) -> slice | Flags:
    """An index that picks these rows: if they are all rows, a slice, which makes no copy."""
    return slice(None) if rows.all() else rows


def _steady_steps(profile: ProfileTables) -> Integers:
    names = profile.step_names
    main = [step for step, name in enumerate(names) if name and name == profile.main_kind]
    steady = [step for step, name in enumerate(names) if name != EAGER and not name.endswith((WARM_UP, SHORTER))]
    return np.array(main or steady or range(len(names)), np.int64)


_WAITING = re.compile(
    r"(Padding|Priority|FIFO|RandomShuffle)?Queue(En|De)queue.*|Barrier.*|(Ordered)?Map(Unst|St)age|(Unst|St)age"
    r"|IteratorGetNext(Sync|AsOptional)?|_?(Host)?Recv|Collective.*|Iterator::.*"
)
"""Ops that mostly wait for other threads or tasks; a queue's may wait for as long as the program runs."""


def work_seconds(tables: ProfileTables, name: str) -> float:
    """The op time of a step of this name in the mean, without that of ops that mostly wait; 0 if there is none.

    >>> from tfprof_widget.demo import demo_profile
    >>> demo_profile().step_names, work_seconds(demo_profile(), "")
    (('',), 0.000320802)
    """
    totals, nodes = tables.step_totals, tables.nodes
    named = [step for step, each in enumerate(tables.step_names) if each == name]
    waits = np.array([_WAITING.fullmatch(op) is not None for op in nodes.ops], np.bool_)[nodes.op]
    counted = np.isin(totals.step, named) & ~waits[totals.node]
    nanos = totals.accelerator_nanos[counted].sum() + totals.cpu_nanos[counted].sum()
    return float(nanos) / 1e9 / max(len(named), 1)


def executions_a_step(tables: ProfileTables, name: str) -> float:
    """How many executions there were in a step of this name, in the mean; 0 if there is no such step.

    >>> from tfprof_widget.demo import demo_profile
    >>> executions_a_step(demo_profile(), "")
    30.0
    """
    named = [step for step, each in enumerate(tables.step_names) if each == name]
    return float(np.isin(tables.executions.step, named).sum()) / max(len(named), 1)


def ops_at_once(tables: ProfileTables, name: str) -> float:
    """How many ops ran at once in the steps of this name: their op time by the time in which any of them ran.

    >>> from tfprof_widget.demo import demo_profile
    >>> round(ops_at_once(demo_profile(), ""), 2)
    1.01
    """
    executions = tables.executions
    named = [step for step, each in enumerate(tables.step_names) if each == name]
    devices = tables.nodes.devices
    counts = accelerator_streams(devices) | (
        canonical(devices) & np.array(["cpu:" in each for each in devices], np.bool_)
    )
    chosen = np.isin(executions.step, named) & (executions.start_nanos > 0) & counts[executions.device]
    start, duration = executions.start_nanos[chosen], executions.duration_nanos[chosen]
    busy = Intervals.of(start, start + duration).length
    return float(duration.sum()) / busy if busy else 0.0
