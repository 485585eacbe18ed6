"""Defines Capture, the result of capturing: the profiles, how they were measured, and what to show of them first."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property
from html import escape
from importlib.metadata import version
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

from tfprof_widget.analysis.steady import executions_a_step
from tfprof_widget.api.accounted import Accounted
from tfprof_widget.api.captured import (
    CapturedGraph,
    busiest_graph,
    captured_graphs,
    cell_alone,
    graph_without_source,
    names_of_kinds,
    op_time,
    print_options,
    recording_without_source,
    steady_regexes,
)
from tfprof_widget.api.history import Kept
from tfprof_widget.api.profile import Profile
from tfprof_widget.api.view import View
from tfprof_widget.capturing.recording import Measurement, Recording, timed_sentence
from tfprof_widget.capturing.sampling_notes import note_on_slow_runs, notes_on_untraced
from tfprof_widget.capturing.surroundings import Surroundings
from tfprof_widget.lib.errors import ProfileError, error_text
from tfprof_widget.lib.private_names import gone_names
from tfprof_widget.lib.safely import write_whole
from tfprof_widget.output.sourceless import run_without_source
from tfprof_widget.output.text import counted_rows, summary
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.devices import CPU_MEMORY
from tfprof_widget.profiles.live import LiveState
from tfprof_widget.profiles.options import VIEWS, Options

if TYPE_CHECKING:
    import pandas

    from tfprof_widget.analysis.advisor.runner import Advice
    from tfprof_widget.widget.shown import Shown, ShownGraph
    from tfprof_widget.widget.traits import TfprofWidget


Value = TypeVar("Value")

# The most kinds of runs to list in the text of a capture that has times but no ops.
MOST_TIMED = 5


class Capture(Accounted, Kept):
    """The result of capturing; empty until the block is over. A widget of it that has no name is called `title`.

    >>> capture = Capture.of(Recording((), 0.0, 0.0, 0, ("nothing ran",)), name="cell")
    >>> print(capture)
    Nothing was captured: nothing ran
    """

    def __init__(self) -> None:
        self._recorded: Recording | None = None
        self._captured: tuple[CapturedGraph, ...] | None = None
        self._name = self.title = ""
        self._taken = datetime.datetime.now(datetime.UTC)
        self._measurement: Measurement | None = None
        self._look: Callable[[], LiveState] | None = None
        self.options: Mapping[str, Any] = {}

    @classmethod
    def of(cls, recorded: Recording, name: str = "") -> Capture:
        """A finished capture of what was recorded."""
        capture = cls()
        capture.finish(recorded, name)
        return capture

    def finish(
        self,
        recorded: Recording,
        name: str = "",
        elapsed: Callable[[], int] | None = None,
        surroundings: Surroundings | None = None,
    ) -> None:
        """Take the recording; from now on the capture has a profile.

        `elapsed` gives the nanoseconds that the cell has taken, and `surroundings` the machine and versions.
        """
        self._surroundings = surroundings
        self._recorded, self._name, self._taken = recorded, name, datetime.datetime.now(datetime.UTC)
        self._captured = captured_graphs(recorded, elapsed)
        self._look = None  # it would keep the user's graphs and models alive, and cannot be pickled

    def follow(self, look: Callable[[], LiveState]) -> None:
        """Take the function that tells how the capture stands while it runs."""
        self._look = look

    def live(self) -> LiveState | None:
        """How the capture stands while it runs, to be asked from any thread; None once it is over.

        >>> import tfprof_widget as tfprof
        >>> with tfprof.capture(name="nothing") as prof:
        ...     prof.live().what, prof.live().phase
        ('nothing', 'starting')
        >>> prof.live()
        """
        return None if (look := self._look) is None else look()

    def progress(self) -> str | None:
        """One line on the progress of the capture; None if nothing ran yet, and once the capture is over."""
        state = self.live()
        return state.line() if state is not None and state.runs else None

    @property
    def recorded(self) -> Recording:
        """All that was recorded, graph by graph, with the files of cells in place of their numbers."""
        return _once_over(self._recorded)

    @property
    def measurement(self) -> Measurement:
        """How the capture was measured."""
        if self._measurement is None:  # not at the end of the cell, as it takes some time
            self._measurement = self._measured(busiest_graph(self._graphs))
        return self._measurement

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """One profile for each graph, in the order first seen."""
        return tuple(graph.profile for graph in self._graphs)

    @property
    def profile(self) -> Profile:
        """The profile of the busiest graph."""
        return self._shown().profile

    @property
    def is_empty(self) -> bool:
        """Whether no ops were recorded."""
        return busiest_graph(self._graphs) is None

    @property
    def _accounted(self) -> ProfileData:
        """The profile of the busiest graph; if no ops were recorded, a profile with only the times of the cell."""
        graph = busiest_graph(self._graphs)
        return graph.profile if graph is not None else self._cell_alone

    def _account_notes(self) -> tuple[str, ...]:
        return self.measurement.warnings

    @cached_property
    def _cell_alone(self) -> ProfileData:
        return cell_alone(self.recorded)

    def steps(self) -> pandas.DataFrame:
        """Every run of the busiest kind, recorded or not: `step`, `start`, `seconds`, `traced`, `first`, and its parts.

        Times are in seconds, and `start` counts from the start of the cell. The parts, from `forward` to `idle`, are
        known only for runs whose ops were recorded, as measured while recording.

        >>> import tfprof_widget as tfprof
        >>> with tfprof.capture() as prof:
        ...     pass
        >>> prof.steps()
        Traceback (most recent call last):
            ...
        tfprof_widget.ProfileError: the cell has no steps: no session ran, and no function or Keras model was called ...
        """
        from tfprof_widget.output.account import steps_frame

        return steps_frame(self._accounted)

    def advice(self) -> Advice:
        """The reports of all checkers on the busiest graph: print the result, or use its `reports`."""
        return self.profile.advice()

    def to_dataframe(self, view: str | None = None, **options: Any) -> pandas.DataFrame:
        """The rows of a view of the busiest graph, as `view` gives it."""
        return self.view(view, **options).to_dataframe()

    def view(self, view: str | None = None, **options: Any) -> View:
        """A view of the busiest graph, by default of the runs of its busiest kind after the warm-up."""
        graph = self._shown()
        deepest = max(Options.of().max_depth, graph.profile.traces.most_frames + 1)
        given = {"order_by": "micros", "max_depth": deepest, **self.options, **options}
        tab = given.pop("view", "op")
        chosen = view or (tab if tab in VIEWS else "op")  # the widget's other tabs are no rows
        asked = {**self._asked(graph), **given}
        asked.pop("view", None)
        if chosen == "layers" and "order_by" not in {**self.options, **options}:
            asked["order_by"] = "name"  # the order of the model
        return graph.profile.view(chosen, **asked)

    def text(self, view: str | None = None, **options: Any) -> str:
        """The head line and a view of the busiest graph as text, without rows and columns that say nothing.

        Left out are frames of libraries in the code view, columns of accelerators if there are none, and the note on
        bytes if no bytes are shown.
        """
        if busiest_graph(self._graphs) is None:
            return self._why_empty()
        try:
            whole = self.view(view, **options)
        except ProfileError as error:
            return "\n".join([self.measurement.sentence(), *self._notes(), str(error)])
        shown = self.view(view, **{**options, **print_options(whole, {**self.options, **options})})
        left_out = len(whole) - len(shown)
        rest = [f"... {counted_rows(left_out)} of libraries left out: see .view('code')"] if left_out else []
        has_bytes = any("bytes" in column for column in shown.options.select)
        notes = (note for note in self._notes() if has_bytes or CPU_MEMORY not in note)
        return "\n".join([self._head(whole), *notes, summary(shown, whole), *rest])

    def _head(self, view: View) -> str:
        """The head line of the steps that a view shows."""
        facts = self._shown_graph(self._shown(), 1).facts_of(view.options)
        return " · ".join(filter(None, [self.measurement.name, *map(str, facts)]))

    def widget(self, view: str | None = None, **options: Any) -> TfprofWidget:
        """A widget that shows all graphs, the busiest first: tables, charts and timeline, with live options."""
        from tfprof_widget.widget.traits import TfprofWidget

        return TfprofWidget(self._to_show(view, **options))

    def save_report(self, path: str | PathLike[str], *, source: bool = True) -> None:
        """Write one HTML page that works like the widget, sliders included, in any browser and without a kernel.

        With `source=False`, the page has no lines of code, no paths, and no texts of the graph.
        """
        from tfprof_widget.widget.report import report

        write_whole(path, report((self if source else self.without_source())._to_show()).encode())

    def without_source(self) -> Capture:
        """The capture without lines of code, paths, arguments and texts of the graph, to be passed on."""
        bare = copy(self)
        bare.__dict__.pop("_cell_alone", None)
        bare._captured = tuple(map(graph_without_source, self._graphs))
        bare._recorded = recording_without_source(self.recorded, bare._captured)
        bare._measurement, bare.options = None, {}
        if not self.is_empty:
            bare.kept_run = run_without_source(self.kept_run)
        return bare

    def overview_sentence(self) -> str:
        """The sentence of the overview: what takes the time, and what to do first about it."""
        return self._shown_graph(self._shown(), 1).overview.sentence

    def _to_show(self, view: str | None = None, **options: Any) -> Shown:
        from tfprof_widget.widget.shown import Shown, starting_options

        busiest = self._shown()
        asked = {**self._asked(busiest), **options}
        chosen = view or asked.pop("view", "overview")
        asked.pop("view", None)
        graphs = sorted(self._graphs, key=lambda graph: graph is not busiest)
        return Shown(
            title=self.title or self.measurement.name,
            graphs=tuple(self._shown_graph(graph, number) for number, graph in enumerate(graphs, 1)),
            view=chosen,
            options=starting_options(busiest.profile, asked),
            taken=self.measurement.taken,
            history=self._shown_history(),
        )

    def _shown_graph(self, graph: CapturedGraph, number: int) -> ShownGraph:
        from tfprof_widget.widget.shown import ShownGraph

        told = self._measured(graph)
        return ShownGraph(
            f"graph {number}: {names_of_kinds(graph)}",
            graph.profile,
            tuple(told.facts()),
            told.warnings,
            steady_regexes(graph),
            {name: tuple(told.of_steps(name).facts_of_steps()) for name in dict.fromkeys(graph.profile.step_names)},
        )

    @property
    def _graphs(self) -> tuple[CapturedGraph, ...]:
        """The captured graphs, with the numbers of cells in their frames."""
        return _once_over(self._captured)

    def _shown(self) -> CapturedGraph:
        """The busiest graph, which is the one to show."""
        graph = busiest_graph(self._graphs)
        if graph is None:
            raise ProfileError(self._why_empty())
        return graph

    def _asked(self, graph: CapturedGraph) -> dict[str, Any]:
        """The options given with the capture; if they choose no runs, the steady runs of the busiest kind are added."""
        asked = dict(self.options)
        if "run_name_regexes" not in asked and asked.get("step", -1) < 0:
            asked["run_name_regexes"] = steady_regexes(graph)
        return asked

    def _measured(self, graph: CapturedGraph | None) -> Measurement:
        """How the capture was measured, with a graph's busiest steps shown."""
        recorded = self.recorded
        kinds = tuple(each for graph in recorded.graphs for each in graph.kinds)
        runs = (graph and graph.busiest) or max(kinds, key=lambda each: each.seconds, default=None)
        shown = graph.profile.main_kind if graph is not None else ""
        op_seconds, coverage, at_once = op_time(graph) if graph is not None else (0.0, 0.0, 0.0)
        executions = executions_a_step(graph.profile, shown) if graph is not None else 0.0
        slowed = note_on_slow_runs(runs, executions) if runs is not None else None
        cells = graph.profile.cells if graph is not None else recorded.cells
        wall_seconds = max((cell.nanos / 1e9 for cell in cells), default=recorded.wall_seconds)
        return Measurement(
            name=self._name,
            taken=self._taken,
            wall_seconds=wall_seconds,
            overhead_seconds=recorded.overhead_seconds,
            runs=kinds,
            run_seconds=runs.seconds_of(shown) if runs is not None else 0.0,
            traced_run_seconds=runs.traced_run_seconds if runs is not None else 0.0,
            op_seconds=op_seconds,
            coverage=coverage,
            dropped_events=recorded.dropped_events,
            warnings=(
                *recorded.warnings,
                *([slowed] if slowed else ()),
                *notes_on_untraced(kinds, wall_seconds, {runs.kind for runs in recorded.runs}),
            ),
            ops_at_once=at_once,
            shown=shown,
            known_overhead=recorded.known_overhead,
            raised_seconds=sum(each.raised_seconds for each in recorded.runs),
        )

    def _notes(self) -> list[str]:
        return [f"note: {warning}" for warning in self.measurement.warnings]

    def _why_empty(self) -> str:
        reasons = self.recorded.warnings or ("no session ran and no function was called while capturing",)
        kinds = sorted((runs for runs in self.measurement.runs if runs.seen), key=lambda runs: -runs.seconds)
        missing = "No ops were recorded" if kinds else "Nothing was captured"
        return "\n".join([f"{missing}: {'; '.join(reasons)}", *map(timed_sentence, kinds[:MOST_TIMED])])

    def __getstate__(self) -> dict[str, Any]:
        _once_over(self._recorded)  # what watches TensorFlow belongs to this process
        return self.__dict__

    def __repr__(self) -> str:
        return "Capture, not over yet" if self._recorded is None else self.text()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        if self._captured is None or busiest_graph(self._captured) is None:
            return {"text/plain": repr(self)}
        lines = "".join(f"<p>{escape(line)}</p>" for line in [self.measurement.sentence(), *self._notes()])
        try:
            rows = self.view()._repr_html_()
        except ProfileError as error:
            rows = f"<p>{escape(str(error))}</p>"
        return {"text/plain": repr(self), "text/html": lines + rows}

    def _ipython_display_(self) -> None:
        self.show()

    def show(self, places: Sequence[str] = ()) -> None:
        """Show the widget, in outputs with these display ids if given; without it the reason and a table, or text."""
        from IPython.display import display

        bundle: Any = self._repr_mimebundle_()
        if "text/html" in bundle and not _shows_text_alone():
            try:
                self.widget().show(places)
            except Exception as error:
                bundle["text/html"] = f"<p>{escape(_why_no_widget(error))}</p>{bundle['text/html']}"
            else:
                return
        for place, data in zip(places or ("",), (bundle, {}), strict=False):
            display(data, raw=True, **({"display_id": place, "update": True} if place else {}))


def _once_over(found: Value | None) -> Value:
    if found is None:
        raise ProfileError("the capture is not over; look at it after the block")
    return found


def _shows_text_alone() -> bool:
    """Whether IPython displays text only, as at a terminal."""
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    formatter = getattr(shell, "display_formatter", None)
    return getattr(formatter, "active_types", None) == ["text/plain"]


def _why_no_widget(error: Exception) -> str:
    """Why a table is shown instead of the widget: the error, or the names that anywidget or ipywidgets lack."""
    if isinstance(error, ImportError | ProfileError):
        return str(error)
    gone = gone_names("anywidget", "ipywidgets")
    lacking = [f"{each.package} {version(each.package)} has no {each.name}" for each in gone]
    way_out = "; install an earlier one, or a newer tfprof-widget" if gone else ""
    return f"the widget cannot be shown: {', '.join(lacking) or error_text(error)}{way_out}"
