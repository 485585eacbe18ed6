"""Records session runs: names them by what they fetch, and makes tables of each graph and its runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from time import perf_counter
from typing import Any

import numpy as np

from tfprof_widget.capturing.recorder import RunUnderWay, SamplingRecorder
from tfprof_widget.capturing.recording import GraphRecording
from tfprof_widget.capturing.sampling import Policy
from tfprof_widget.capturing.tallies import KindTally
from tfprof_widget.capturing.trace_store import ROOM, OpSeconds, ReadTrace, TraceStore
from tfprof_widget.ingest.flops.counting import count_float_ops
from tfprof_widget.ingest.flops.fused import name_kernels
from tfprof_widget.ingest.gathered import Gathered
from tfprof_widget.ingest.live.op_log import READING, Reading
from tfprof_widget.ingest.parts.names import may_be_node
from tfprof_widget.ingest.parts.runs import RunTable
from tfprof_widget.ingest.run_metadata import ReadRun, RunDetails
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.profiles.devices import accelerator_streams, canonical

LONGEST_NAME = 60
DEAR_SECONDS = 1.0
"""A trace that takes longer to read is followed by another one only if that is affordable."""

MOST = 512 << 20
"""The most bytes of metadata to keep of all runs; their tables take about as much memory again."""


@dataclass(slots=True, eq=False)
class _GraphRuns:
    """A graph that runs: its kinds of runs by what they fetch, and what was gathered of it.

    `asked` has the same kinds by the nodes in the order in which they were fetched, which need not be sorted again.
    """

    graph: Any
    gathered: Gathered
    kinds: dict[tuple[str, ...], KindTally] = field(default_factory=dict)
    asked: dict[tuple[str, ...], KindTally] = field(default_factory=dict)
    namesakes: Counter[str] = field(default_factory=Counter)
    next_step: count[int] = field(default_factory=count)
    op_types: dict[str, str] = field(default_factory=dict)

    def kind(self, nodes: tuple[str, ...]) -> KindTally:
        """The kind of the runs that fetch these nodes, under a name that no other kind of this graph has."""
        found = self.kinds.get(nodes)
        if found is None:
            name = run_name(nodes)
            self.namesakes[name] += 1
            name = name if self.namesakes[name] == 1 else f"{name} ({self.namesakes[name]})"
            found = self.kinds[nodes] = KindTally(name)
        return found

    def op_type(self, node: str) -> str:
        """A node's op type: the graph's; if the graph lacks the node, the one that ran; else the node's name."""
        if node not in self.op_types:
            self.op_types[node] = self.gathered.details.ops.get(node) or node
            with suppress(Exception):
                self.op_types[node] = self.graph.get_operation_by_name(node).type
        return self.op_types[node]


class SessionRun(RunUnderWay):
    """A session run that has begun; its step is its number among the runs of its graph, `of` that graph's runs."""

    of: _GraphRuns


class SessionSource(SamplingRecorder):
    """Takes note of every session run, from any thread, and says which ones to trace."""

    def __init__(
        self,
        policy: Policy,
        *,
        clock: Callable[[], float] = perf_counter,
        room: int = ROOM,
        most: int = MOST,
        kept: Callable[[Any], Sequence[range]] = READING.kept,
    ) -> None:
        super().__init__(policy, clock)
        self.traces: TraceStore[tuple[SessionRun, bytes], tuple[SessionRun, ReadRun]] = TraceStore(
            self._read_run, room=room, most=most, clock=clock
        )
        self._reading = Reading(self.note, kept)
        self._graphs: dict[int, _GraphRuns] = {}
        self._untraceable: Counter[str] = Counter()
        self._sizes: dict[KindTally, int] = {}

    def begin(self, graph: Any, nodes: Iterable[str], *, untraceable: str = "") -> SessionRun | None:
        """Take note of a run that begins now and fetches these nodes; gives None to let it pass.

        `untraceable` is the reason why no run like this can be traced, if there is one.
        """
        if self.lets_pass:
            return None
        fetched = tuple(nodes)
        with self.lock:
            if not self.is_open:  # the recording may have ended while this waited
                return None
            of = self._graphs.get(id(graph))
            if of is None:
                of = self._graphs[id(graph)] = _GraphRuns(graph, Gathered(reading=self._reading))
                of.gathered.details = RunDetails(keeps_shapes=True)
            kind = of.asked.get(fetched)
            if kind is None:
                nodes = tuple(sorted(set(fetched)))
                kind = of.asked[fetched] = self.sampler.kind((id(graph), nodes), lambda: of.kind(nodes))
            number, traced = self.sampler.begin(
                kind, self._reading_seconds, lambda kind: not untraceable and self._can_keep(kind)
            )
            if untraceable:
                self._untraceable[untraceable] += 1
            run = SessionRun(kind, number, traced, self.clock(), next(of.next_step))
            run.of = of
            self.begun(run)
        return run

    def finished(self, run: SessionRun, metadata: bytes | None = None, since: float | None = None) -> None:
        """Take note that a run has ended, with the RunMetadata if it was traced; `since` is as in `watched`."""
        with self.lock:
            if not self.ended(run):
                return
            if metadata is not None:
                self.traces.add((run, metadata), len(metadata))
                self._sizes[run.kind] = len(metadata)
            if since is not None and run.ended is not None:
                self.sampler.overhead_seconds += self.held_up(run, since, run.ended)
        if metadata is not None:
            self.traces.read_some()

    def watched(self, run: SessionRun, since: float) -> None:
        """Take note that watching a run took the time from `since` until now, without the run itself."""
        with self.lock:
            if run.ended is not None:
                self.add_overhead(self.held_up(run, since, run.ended))

    def raised(self, run: SessionRun) -> None:
        """Take note that a run ended in an exception, and so has no metadata."""
        with self.lock:
            self.ended(run, raised=True)

    def read(self) -> list[GraphRecording]:
        """Make tables of all that was recorded."""
        runs = self.traces.all()
        graphs = [self._recording(of, of.gathered, runs, self.note) for of in self._graphs.values()]
        for reason, number in self._untraceable.items():
            self.note(f"{self.counted(number)} not traced: {reason}")
        self._graphs.clear()
        return [graph for graph in graphs if graph is not None]

    def read_so_far(self, note: Callable[[str], None]) -> list[GraphRecording]:
        """Make tables of what was recorded so far, beside those that are made at the end."""
        runs, found = self.traces.all(), []
        for of in list(self._graphs.values()):
            gathered, told = Gathered(reading=self._reading), of.gathered.details
            gathered.details = replace(
                told, any=dict(told.any), replacing=dict(told.replacing), ops=dict(told.ops), shapes=dict(told.shapes)
            )
            found.append(self._recording(of, gathered, runs, note))
        return [graph for graph in found if graph is not None]

    def _can_keep(self, kind: KindTally) -> bool:
        """Whether there is room for another trace of this kind, and time to read it."""
        return self._has_room() and not self._is_dear(kind)

    def _has_room(self) -> bool:
        """Whether there is room for the trace of another run."""
        if self.traces.is_full:
            megabytes = self.traces.nbytes >> 20
            self.note(f"tracing stopped at {megabytes:,} MB of metadata; trace fewer runs: --every 10")
        return not self.traces.is_full

    def _reading_seconds(self, kind: KindTally) -> float:
        """How long it takes to read another trace of this kind."""
        return self.traces.reading_seconds(self._sizes.get(kind, 0))

    def _is_dear(self, kind: KindTally) -> bool:
        """Whether another trace of this kind would take long to read, and longer than tracing may cost."""
        seconds = self._reading_seconds(kind)
        is_dear = seconds > max(DEAR_SECONDS, self.sampler.affordable_seconds())
        if is_dear:
            self.note(
                f"runs of {kind.name} were not all traced that should have been, for each trace takes seconds to read: "
                "a run executes too many ops; to trace more of them: --all, or trace_all=True"
            )
        return is_dear

    def _read_run(self, traced: tuple[SessionRun, bytes]) -> ReadTrace[tuple[SessionRun, ReadRun]] | None:
        run, metadata = traced
        try:
            read = run.of.gathered.read(metadata)
        except (ProfileError, ValueError) as error:
            self._missing(run, error, self.note)
            return None
        seconds = OpSeconds(1, _seconds_by_type(run.of, read.table), are_warm_ups=run.is_warm_up)
        return ReadTrace((run, read), len(metadata), (seconds,))

    def _recording(
        self,
        of: _GraphRuns,
        gathered: Gathered,
        runs: Sequence[tuple[SessionRun, ReadRun]],
        note: Callable[[str], None],
    ) -> GraphRecording | None:
        try:
            gathered.add_graph(of.graph)
            marks = {kind.name: kind.marked_steps() for kind in of.kinds.values()}
            for run, read in runs:
                if run.of is not of:
                    continue
                assert run.step is not None
                name = run.name + marks[run.kind.name].get(run.step, "")
                try:
                    gathered.add_run(run.step, read, name, belongs=True)
                except (ProfileError, ValueError) as error:
                    self._missing(run, error, note)
            tables = name_kernels(count_float_ops(gathered.formulas, of_what_ran=True)(gathered.tables()))
            kinds = of.kinds.values()
            all_runs = tuple(kind.all_runs(self.log.entered) for kind in kinds)
            return GraphRecording(tables, tuple(kind.runs() for kind in kinds), all_runs)
        except Exception as error:  # what was recorded of other graphs is still good
            note(f"the runs of a graph are missing, for they could not be read ({type(error).__name__}: {error})")
            return None

    @staticmethod
    def _missing(run: SessionRun, error: Exception, note: Callable[[str], None]) -> None:
        note(f"a run of {run.name} is missing: {error}")


def _seconds_by_type(of: _GraphRuns, table: RunTable) -> Counter[str]:
    """The seconds of each op type; kernels count on all streams of a GPU together, and not again on each stream."""
    counts = canonical(table.devices) | accelerator_streams(table.devices)
    counted = counts[table.device] if len(table) else np.zeros(0, np.bool_)
    nanos = np.bincount(table.node[counted], table.values["duration_nanos"][counted])
    found = Counter[str]()
    for code in np.flatnonzero(nanos).tolist():
        name = table.node_names[code]
        if may_be_node(name):
            found[of.op_type(name)] += nanos[code] / 1e9
    return found


def run_name(nodes: Sequence[str]) -> str:
    """A short name for the runs that fetch these nodes.

    >>> run_name(["train", "loss"])
    'train, loss'
    >>> run_name([f"tower_{number}/gradients/loss" for number in range(9)])
    'tower_0/gradients/loss, tower_1/gradients/loss … and 7 more'
    """
    first, *others = nodes or ("nothing",)
    name = first if len(first) <= LONGEST_NAME else first[: LONGEST_NAME - 1] + "…"
    for position, node in enumerate(others):
        if len(name) + len(", ") + len(node) > LONGEST_NAME:
            return f"{name} … and {len(others) - position} more"
        name += f", {node}"
    return name
