"""A Capture: the profiles of what a block ran, how they were measured, and what to show of them first."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tfprof_widget.capturing.recorded import WARM_UP, GraphRecord, Recorded, Runs
from tfprof_widget.engine.view import View
from tfprof_widget.errors import ProfileError
from tfprof_widget.output.destination import write_whole
from tfprof_widget.output.numbers import time
from tfprof_widget.profiles import Profile


@dataclass(frozen=True)
class Measurement:
    """How a capture was measured: what ran, what of it was traced, and what that cost.

    `op_seconds` is the summed time of all ops of one run of the busiest kind, `run_seconds` what that run took by the
    clock when it was not traced: their ratio says how many ops ran at once. `coverage` is the share of the
    op time for which float operations are known.
    """

    name: str
    taken: datetime.datetime
    wall_seconds: float
    overhead_seconds: float
    runs: tuple[Runs, ...]
    run_seconds: float
    op_seconds: float
    coverage: float
    dropped_events: int
    warnings: tuple[str, ...]

    @property
    def runs_seen(self) -> int:
        """How many runs there were."""
        return sum(runs.seen for runs in self.runs)

    @property
    def runs_traced(self) -> int:
        """How many of the runs were traced."""
        return sum(runs.traced for runs in self.runs)

    def sentence(self) -> str:
        """The head line: runs traced, wall and op time, cost, coverage."""
        parts = [
            self.name,
            f"runs traced {self.runs_traced:,} of {self.runs_seen:,}",
            f"step {_seconds(self.op_seconds)} of ops in {_seconds(self.run_seconds)}",
            f"tracing cost {_share(self.overhead_seconds, self.wall_seconds - self.overhead_seconds)}",
            f"FLOP formulas for {self.coverage:.0%} of time",
        ]
        if self.dropped_events:
            parts.append(f"{self.dropped_events:,} events dropped")
        return " · ".join(filter(None, parts))


class Capture:
    """The result of capturing; empty until the block is over.

    >>> capture = Capture.of(Recorded((), 0.0, 0.0, 0, ("nothing ran",)), name="cell")
    >>> print(capture)
    Nothing was captured: nothing ran
    """

    def __init__(self) -> None:
        self._recorded: Recorded | None = None
        self._measurement: Measurement | None = None
        self._counts: Callable[[], tuple[int, ...]] = lambda: (0, 0)
        self.options: Mapping[str, Any] = {}

    @classmethod
    def of(cls, recorded: Recorded, name: str = "") -> Capture:
        """A finished capture of what was recorded."""
        capture = cls()
        capture.finish(recorded, name)
        return capture

    def finish(self, recorded: Recorded, name: str = "") -> None:
        """Take what was recorded; from now on it can be looked at."""
        self._recorded = recorded
        self._measurement = _measured(recorded, name)

    def counting(self, counts: Callable[[], tuple[int, ...]]) -> None:
        """Take what tells how many runs were seen and traced so far."""
        self._counts = counts

    def progress(self) -> str | None:
        """One line on how far the capture is, None if there is nothing to say yet."""
        seen, traced = self._counts()
        return f"tfprof: {traced:,} of {seen:,} runs traced" if seen else None

    @property
    def recorded(self) -> Recorded:
        """All that was recorded, graph by graph."""
        if self._recorded is None:
            raise ProfileError("the capture is not over; look at it after the block")
        return self._recorded

    @property
    def measurement(self) -> Measurement:
        """How it was measured."""
        if self._measurement is None:
            raise ProfileError("the capture is not over; look at it after the block")
        return self._measurement

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """One profile a graph, in the order first seen."""
        return tuple(graph.profile for graph in self.recorded.graphs)

    def view(self, view: str | None = None, **options: Any) -> View:
        """A view of the busiest graph, by default of the steady runs of its busiest kind."""
        graph = _busiest(self.recorded)
        if graph is None:
            raise ProfileError(self._why_empty())
        asked = {"order_by": "micros", **self.options, **options}
        chosen = view or asked.pop("view", "op")
        asked.pop("view", None)
        if "run_name_regexes" not in asked and asked.get("step", -1) < 0:
            asked["run_name_regexes"] = [re.escape(_steady_name(graph))]
        return graph.profile.view(chosen, **asked)

    def text(self, view: str | None = None, **options: Any) -> str:
        """The head line and a view of the busiest graph as text."""
        if _busiest(self.recorded) is None:
            return self._why_empty()
        return "\n".join([self.measurement.sentence(), *self._notes(), repr(self.view(view, **options))])

    def widget(self) -> View:
        """What a notebook shows of it."""
        return self.view()

    def save(self, path: str) -> None:
        """Write the profile of the busiest graph as tfprof's ProfileProto."""
        from tfprof_widget.output.profile_proto import profile_proto

        graph = _busiest(self.recorded)
        if graph is None:
            raise ProfileError(self._why_empty())
        write_whole(path, profile_proto(graph.profile).SerializeToString())

    def save_report(self, path: str) -> None:
        """Write one page with the head line and all views as tables."""
        from tfprof_widget.output.page import page

        views = [self.view(name, max_depth=8) for name in self._views()]
        title = self.measurement.name or "tfprof"
        write_whole(path, page(title, [self.measurement.sentence(), *self._notes()], views).encode())

    def _views(self) -> list[str]:
        graph = _busiest(self.recorded)
        if graph is None:
            raise ProfileError(self._why_empty())
        return ["scope", "graph", "op", *(["code"] if graph.profile.has_traces else [])]

    def _notes(self) -> list[str]:
        return [f"note: {warning}" for warning in self.measurement.warnings]

    def _why_empty(self) -> str:
        reasons = self.recorded.warnings or ("no session ran and no function was called while capturing",)
        return "Nothing was captured: " + " ".join(reasons)

    def __repr__(self) -> str:
        return "Capture, not over yet" if self._recorded is None else self.text()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        if self._recorded is None or _busiest(self._recorded) is None:
            return {"text/plain": repr(self)}
        from tfprof_widget.output.page import paragraphs

        html = paragraphs([self.measurement.sentence(), *self._notes()]) + self.view()._repr_html_()
        return {"text/plain": repr(self), "text/html": html}


def _measured(recorded: Recorded, name: str) -> Measurement:
    graph = _busiest(recorded)
    runs = _busiest_runs(graph)
    op_seconds, coverage = _op_time(graph) if graph is not None else (0.0, 0.0)
    return Measurement(
        name=name,
        taken=datetime.datetime.now(datetime.UTC),
        wall_seconds=recorded.wall_seconds,
        overhead_seconds=recorded.overhead_seconds,
        runs=tuple(each for graph in recorded.graphs for each in graph.runs),
        run_seconds=_run_seconds(runs) if runs is not None else 0.0,
        op_seconds=op_seconds,
        coverage=coverage,
        dropped_events=recorded.dropped_events,
        warnings=recorded.warnings,
    )


def _run_seconds(runs: Runs) -> float:
    """What one run took by the clock: an untraced one if there was any, else a traced one, else the first."""
    untraced = runs.seen - runs.traced
    if untraced and runs.untraced_seconds:
        return runs.untraced_seconds / untraced
    return runs.traced_seconds / max(runs.traced - 1, 1) or runs.warm_up_seconds


def _busiest(recorded: Recorded) -> GraphRecord | None:
    """The graph whose traced kinds of runs took longest."""
    traced = [graph for graph in recorded.graphs if _busiest_runs(graph) is not None]
    return max(traced, key=lambda graph: sum(map(_taken, graph.runs)), default=None)


def _busiest_runs(graph: GraphRecord | None) -> Runs | None:
    traced = [runs for runs in graph.runs if runs.traced] if graph is not None else []
    return max(traced, key=_taken, default=None)


def _taken(runs: Runs) -> float:
    return runs.untraced_seconds + runs.traced_seconds or runs.warm_up_seconds


def _steady_name(graph: GraphRecord) -> str:
    """The name of the steps to show first: the busiest kind's, after its warm-up if there was more."""
    runs = _busiest_runs(graph)
    names = graph.profile.step_names
    if runs is None:
        return ""
    return runs.name if runs.name in names else runs.name + WARM_UP


def _op_time(graph: GraphRecord) -> tuple[float, float]:
    """The summed op time of one run in seconds, and the share of it for which float operations are known."""
    view = graph.profile.view("op", run_name_regexes=[re.escape(_steady_name(graph))])
    total = int(view.grand_total["micros"][0])
    known = int(view.own["micros"][view.own["float_ops"] > 0].sum())
    return total / view.time_scale / 1e6, known / total if total else 0.0


def _seconds(seconds: float) -> str:
    return time(round(seconds * 1e9), 1000)


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.1%}" if whole > 0 else "unknown"
