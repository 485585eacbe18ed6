"""A Capture: the profiles of what a block ran, how they were measured, and what to show of them first."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

from tfprof_widget.capturing.cell_names import with_cell_numbers
from tfprof_widget.capturing.measurement import Measurement, note_on_slow_runs
from tfprof_widget.capturing.printed import narrowed
from tfprof_widget.capturing.recorded import WARM_UP, GraphRecord, Recorded, Runs
from tfprof_widget.capturing.traces import EAGER
from tfprof_widget.engine.view import View
from tfprof_widget.errors import ProfileError
from tfprof_widget.flops.coverage import flops_coverage
from tfprof_widget.options import EVERYTHING
from tfprof_widget.output.destination import write_whole
from tfprof_widget.output.numbers import seconds
from tfprof_widget.output.text import counted_rows
from tfprof_widget.profiles import Profile

if TYPE_CHECKING:
    import pandas

    from tfprof_widget.advisor.advice import Advice
    from tfprof_widget.exhibit import Exhibit
    from tfprof_widget.widget import TfprofWidget

Found = TypeVar("Found")

# So many of the costliest ops are in a line of progress.
PROGRESS_OPS = 3

# So many kinds of runs are told of where their times are all there is.
MOST_TIMED = 5


class Capture:
    """The result of capturing; empty until the block is over.

    >>> capture = Capture.of(Recorded((), 0.0, 0.0, 0, ("nothing ran",)), name="cell")
    >>> print(capture)
    Nothing was captured: nothing ran
    """

    def __init__(self) -> None:
        self._recorded: Recorded | None = None
        self._named: tuple[GraphRecord, ...] | None = None
        self._measurement: Measurement | None = None
        self._counts: Callable[[], tuple[int, ...]] = lambda: (0, 0)
        self._costliest: Callable[[int], list[tuple[str, float]]] = lambda limit: []
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
        self._named = with_cell_numbers(recorded.graphs)
        self._measurement = _measured(recorded, _busiest(self._named), name)

    def counting(
        self, counts: Callable[[], tuple[int, ...]], costliest: Callable[[int], list[tuple[str, float]]]
    ) -> None:
        """Take what tells how many runs were seen and traced so far, and which ops cost how many seconds a run."""
        self._counts, self._costliest = counts, costliest

    def progress(self) -> str | None:
        """One line on how far the capture is, None if there is nothing to say yet.

        >>> capture = Capture()
        >>> capture.counting(lambda: (312, 14), lambda limit: [("MatMul", 0.0012), ("Conv2D", 8e-4)][:limit])
        >>> capture.progress()
        'tfprof: 14 of 312 runs traced; MatMul 1.20 ms, Conv2D 800 µs a run'
        """
        seen, traced = self._counts()
        if not seen:
            return None
        costs = ", ".join(f"{op} {seconds(taken)}" for op, taken in self._costliest(PROGRESS_OPS))
        return f"tfprof: {traced:,} of {seen:,} runs traced" + (f"; {costs} a run" if costs else "")

    @property
    def recorded(self) -> Recorded:
        """All that was recorded, graph by graph, before the cells of a notebook were named."""
        return _once_over(self._recorded)

    @property
    def measurement(self) -> Measurement:
        """How it was measured."""
        return _once_over(self._measurement)

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """One profile a graph, in the order first seen."""
        return tuple(graph.profile for graph in self._graphs)

    @property
    def profile(self) -> Profile:
        """The profile of the busiest graph."""
        return self._shown().profile

    def advice(self) -> Advice:
        """What every checker says of the busiest graph: print it, or take its `reports`."""
        return self.profile.advice()

    def to_dataframe(self, view: str | None = None, **options: Any) -> pandas.DataFrame:
        """The rows of a view of the busiest graph, as `view` gives it."""
        return self.view(view, **options).to_dataframe()

    def view(self, view: str | None = None, **options: Any) -> View:
        """A view of the busiest graph, by default of the steady runs of its busiest kind."""
        graph = self._shown()
        given = {"order_by": "micros", **self.options, **options}
        chosen = view or given.pop("view", "op")
        given.pop("view", None)
        asked = {**self._asked(graph), **given}
        asked.pop("view", None)
        return graph.profile.view(chosen, **asked)

    def text(self, view: str | None = None, **options: Any) -> str:
        """The head line and a view of the busiest graph as text, without what tells nothing there.

        That is the frames of libraries in code view, and where there are but CPUs the columns of accelerators.
        """
        if _busiest(self._graphs) is None:
            return self._why_empty()
        whole = self.view(view, **options)
        shown = self.view(view, **{**options, **narrowed(whole, {**self.options, **options})})
        left_out = len(whole) - len(shown)
        told = [f"... {counted_rows(left_out)} of libraries left out: see .view('code')"] if left_out else []
        return "\n".join([self.measurement.sentence(), *self._notes(), repr(shown), *told])

    def widget(self, view: str | None = None, **options: Any) -> TfprofWidget:
        """All graphs to look at, the busiest first: tables, charts and timeline, with live options."""
        from tfprof_widget.widget import TfprofWidget

        return TfprofWidget(self._exhibit(view, **options))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the profile of the busiest graph as tfprof's ProfileProto."""
        self.profile.save(path)

    def save_report(self, path: str | PathLike[str]) -> None:
        """Write one page that shows what the widget shows, sliders included, wherever it is opened."""
        from tfprof_widget.report import report

        write_whole(path, report(self._exhibit()).encode())

    def _exhibit(self, view: str | None = None, **options: Any) -> Exhibit:
        from tfprof_widget.exhibit import Exhibit, Exhibited, starting_options

        busiest = self._shown()
        asked = {**self._asked(busiest), **options}
        chosen = view or asked.pop("view", "scope")
        asked.pop("view", None)
        facts, notes = tuple(self.measurement.facts()), self.measurement.warnings
        graphs = sorted(self._graphs, key=lambda graph: graph is not busiest)
        return Exhibit(
            title=self.measurement.name,
            graphs=tuple(
                Exhibited(f"graph {number}: {_kinds(graph)}", graph.profile, facts, notes, _steady_regexes(graph))
                for number, graph in enumerate(graphs, 1)
            ),
            view=chosen,
            options=starting_options(busiest.profile, asked),
            taken=self.measurement.taken,
        )

    @property
    def _graphs(self) -> tuple[GraphRecord, ...]:
        """The graphs to show: the recorded ones, with the numbers of cells."""
        return _once_over(self._named)

    def _shown(self) -> GraphRecord:
        """The busiest graph, which is the one to show."""
        graph = _busiest(self._graphs)
        if graph is None:
            raise ProfileError(self._why_empty())
        return graph

    def _asked(self, graph: GraphRecord) -> dict[str, Any]:
        """The options given with the capture, on the steady runs of the busiest kind unless they say otherwise."""
        asked = dict(self.options)
        if "run_name_regexes" not in asked and asked.get("step", -1) < 0:
            asked["run_name_regexes"] = _steady_regexes(graph)
        return asked

    def _notes(self) -> list[str]:
        return [f"note: {warning}" for warning in self.measurement.warnings]

    def _why_empty(self) -> str:
        reasons = self.recorded.warnings or ("no session ran and no function was called while capturing",)
        kinds = sorted((runs for runs in self.measurement.runs if runs.seen), key=_rank, reverse=True)
        missing = "No ops were recorded" if kinds else "Nothing was captured"
        return "\n".join([f"{missing}: {'; '.join(reasons)}", *map(_timed, kinds[:MOST_TIMED])])

    def __repr__(self) -> str:
        return "Capture, not over yet" if self._recorded is None else self.text()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        if self._named is None or _busiest(self._named) is None:
            return {"text/plain": repr(self)}
        lines = "".join(f"<p>{escape(line)}</p>" for line in [self.measurement.sentence(), *self._notes()])
        return {"text/plain": repr(self), "text/html": lines + self.view()._repr_html_()}

    def _ipython_display_(self) -> None:
        """Show the widget where there is one, else what can be shown without; at a terminal what `print` prints."""
        from IPython.display import display

        bundle: Any = self._repr_mimebundle_()
        if "text/html" in bundle and not _shows_text_alone():
            try:
                self.widget()._ipython_display_()
            except (ImportError, ProfileError) as error:
                bundle["text/html"] = f"<p>{escape(str(error))}</p>{bundle['text/html']}"
            else:
                return
        display(bundle, raw=True)


def _timed(runs: Runs) -> str:
    """How long the runs of a kind took of which no ops were recorded."""
    steady = runs.seen - runs.warm_ups
    first = f"the first {seconds(runs.warm_up_seconds)}" if runs.warm_ups else ""
    others = f"then {steady:,} of {seconds(runs.run_seconds)}" if steady > 0 else ""
    return f"timed: {runs.name}: {', '.join(filter(None, [first, others]))}"


def _once_over(found: Found | None) -> Found:
    if found is None:
        raise ProfileError("the capture is not over; look at it after the block")
    return found


def _shows_text_alone() -> bool:
    """Whether what is displayed now goes to a terminal."""
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    formatter = getattr(shell, "display_formatter", None)
    return formatter is not None and formatter.active_types == ["text/plain"]


def _measured(recorded: Recorded, graph: GraphRecord | None, name: str) -> Measurement:
    kinds = tuple(each for graph in recorded.graphs for each in graph.runs)
    runs = _busiest_runs(graph) or max(kinds, key=_rank, default=None)
    op_seconds, coverage = _op_time(graph) if graph is not None else (0.0, 0.0)
    slowed = note_on_slow_runs(runs) if runs is not None else None
    return Measurement(
        name=name,
        taken=datetime.datetime.now(datetime.UTC),
        wall_seconds=recorded.wall_seconds,
        overhead_seconds=recorded.overhead_seconds,
        runs=kinds,
        run_seconds=runs.run_seconds if runs is not None else 0.0,
        traced_run_seconds=runs.traced_run_seconds if runs is not None else 0.0,
        op_seconds=op_seconds,
        coverage=coverage,
        dropped_events=recorded.dropped_events,
        warnings=recorded.warnings if slowed is None else (*recorded.warnings, slowed),
    )


def _busiest(graphs: tuple[GraphRecord, ...]) -> GraphRecord | None:
    """The graph whose traced kinds of runs took longest, those that ran but once, as initializers do, aside."""
    traced = [graph for graph in graphs if _busiest_runs(graph) is not None]
    return max(traced, key=lambda graph: _rank(*graph.runs), default=None)


def _busiest_runs(graph: GraphRecord | None) -> Runs | None:
    traced = [runs for runs in graph.runs if runs.traced] if graph is not None else []
    return max(traced, key=_rank, default=None)


def _rank(*kinds: Runs) -> tuple[float, float]:
    """What the steady runs of some kinds took, and then what the first runs did."""
    steady = sum(runs.untraced_seconds + runs.traced_seconds for runs in kinds if runs.name != EAGER)
    return steady, sum(runs.untraced_seconds + runs.traced_seconds + runs.warm_up_seconds for runs in kinds)


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
    return total / view.time_scale / 1e6, flops_coverage(view).share if total else 0.0


def _steady_regexes(graph: GraphRecord) -> tuple[str, ...]:
    return (re.escape(_steady_name(graph)),) if _busiest_runs(graph) is not None else EVERYTHING


def _kinds(graph: GraphRecord) -> str:
    """The names of the kinds of runs of a graph, the first few."""
    names = [runs.name for runs in graph.runs]
    return ", ".join(names[:2]) + (" …" if len(names) > 2 else "")
