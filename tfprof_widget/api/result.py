"""Defines Capture, the result of capturing: the profiles, how they were measured, and what to show of them first."""

from __future__ import annotations

import datetime
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

from tfprof_widget.analysis.coverage import flops_coverage
from tfprof_widget.analysis.own_lines import own_frames
from tfprof_widget.analysis.steady import ops_at_once
from tfprof_widget.api.profile import Profile, View
from tfprof_widget.capturing.recording import (
    GraphRecording,
    KindOfRun,
    Measurement,
    Recording,
    busiest,
    main_steps,
    note_on_slow_runs,
    notes_on_untraced,
    timed_sentence,
    work_of,
)
from tfprof_widget.ingest.assemble import assemble
from tfprof_widget.ingest.parts.stacks import name_cells
from tfprof_widget.lib.errors import ProfileError, error_text
from tfprof_widget.lib.private_names import gone_names
from tfprof_widget.lib.safely import write_whole
from tfprof_widget.lib.text import written_seconds
from tfprof_widget.output.text import counted_rows
from tfprof_widget.profiles.devices import ran_on_cpus
from tfprof_widget.profiles.options import EVERYTHING

if TYPE_CHECKING:
    import pandas

    from tfprof_widget.analysis.advisor.runner import Advice
    from tfprof_widget.widget.shown import Shown
    from tfprof_widget.widget.traits import TfprofWidget


def print_options(view: View, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Options that shorten the printed text of a view: only CPU time, only the user's lines, unless asked otherwise.

    >>> from tfprof_widget.demo import demo_profile
    >>> print_options(demo_profile().view("op"), {})
    {'select': ('cpu_micros',)}
    >>> print_options(demo_profile().view("op"), {"select": ("micros",)})
    {}
    """
    options: dict[str, Any] = {}
    if "select" not in asked and ran_on_cpus(view.profile):
        options["select"] = ("cpu_micros",)
    if view.view == "code" and not {"show_name_regexes", "start_name_regexes"} & asked.keys():
        frames = own_frames(view.profile.traces)
        options |= {"show_name_regexes": frames} if frames else {}
    return options


@dataclass(frozen=True)
class CapturedGraph:
    """One graph's profile, and the kinds of runs of it, in the order first seen."""

    profile: Profile
    kinds: tuple[KindOfRun, ...]


def captured_graphs(graphs: Iterable[GraphRecording]) -> tuple[CapturedGraph, ...]:
    """The recorded graphs as profiles; in a notebook their frames name cells by number, as `In[2]`."""
    label = _labels()
    stages = [name_cells(label)] if label is not None else []
    return tuple(
        CapturedGraph(
            Profile.of(assemble(graph.tables.having(main_kind=main_steps(graph.tables, graph.kinds)), *stages)),
            graph.kinds,
        )
        for graph in graphs
    )


def _labels() -> Callable[[str], tuple[str, str] | None] | None:
    """IPython's function from a cell's file to its label in tracebacks; None without IPython and in old versions."""
    loaded: Any = sys.modules.get("IPython")
    return getattr(getattr(loaded and loaded.get_ipython(), "compile", None), "format_code_name", None)


Value = TypeVar("Value")

# The number of op types in the progress line.
PROGRESS_OPS = 3

# The most kinds of runs to list in the text of a capture that has times but no ops.
MOST_TIMED = 5

NO_LINES = "code view: no lines are known of ops that ran one by one; put them into a tf.function to see their lines"


class Capture:
    """The result of capturing; empty until the block is over.

    >>> capture = Capture.of(Recording((), 0.0, 0.0, 0, ("nothing ran",)), name="cell")
    >>> print(capture)
    Nothing was captured: nothing ran
    """

    def __init__(self) -> None:
        self._recorded: Recording | None = None
        self._captured: tuple[CapturedGraph, ...] | None = None
        self._measurement: Measurement | None = None
        self._counts: Callable[[], tuple[int, ...]] = lambda: (0, 0)
        self._costliest: Callable[[int], list[tuple[str, float]]] = lambda limit: []
        self.options: Mapping[str, Any] = {}

    @classmethod
    def of(cls, recorded: Recording, name: str = "") -> Capture:
        """A finished capture of what was recorded."""
        capture = cls()
        capture.finish(recorded, name)
        return capture

    def finish(self, recorded: Recording, name: str = "") -> None:
        """Take what was recorded; from now on the capture can be looked at."""
        self._recorded = recorded
        self._captured = captured_graphs(recorded.graphs)
        self._measurement = _measured(recorded, _busiest(self._captured), name)

    def counting(
        self, counts: Callable[[], tuple[int, ...]], costliest: Callable[[int], list[tuple[str, float]]]
    ) -> None:
        """Take the functions that give the progress: runs seen and traced so far; op types with their seconds a run."""
        self._counts, self._costliest = counts, costliest

    def progress(self) -> str | None:
        """One line on the progress of the capture; None if nothing ran yet.

        >>> capture = Capture()
        >>> capture.counting(lambda: (312, 14), lambda limit: [("MatMul", 0.0012), ("Conv2D", 8e-4)][:limit])
        >>> capture.progress()
        'tfprof: 14 of 312 runs traced; MatMul 1.20 ms, Conv2D 800 µs a run'
        """
        seen, traced = self._counts()
        if not seen:
            return None
        costs = ", ".join(f"{op} {written_seconds(taken)}" for op, taken in self._costliest(PROGRESS_OPS))
        return f"tfprof: {traced:,} of {seen:,} runs traced" + (f"; {costs} a run" if costs else "")

    @property
    def recorded(self) -> Recording:
        """All that was recorded, graph by graph, with the files of cells in place of their numbers."""
        return _once_over(self._recorded)

    @property
    def measurement(self) -> Measurement:
        """How the capture was measured."""
        return _once_over(self._measurement)

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """One profile for each graph, in the order first seen."""
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
        """A view of the busiest graph, by default of the runs of its busiest kind after the warm-up."""
        graph = self._shown()
        given = {"order_by": "micros", **self.options, **options}
        chosen = view or given.pop("view", "op")
        given.pop("view", None)
        asked = {**self._asked(graph), **given}
        asked.pop("view", None)
        if chosen == "code" and not graph.profile.has_traces:
            raise ProfileError(NO_LINES)
        return graph.profile.view(chosen, **asked)

    def text(self, view: str | None = None, **options: Any) -> str:
        """The head line and a view of the busiest graph as text.

        In code view the frames of libraries are left out; if all ran on CPUs, so are the columns of accelerators.
        """
        if _busiest(self._graphs) is None:
            return self._why_empty()
        try:
            whole = self.view(view, **options)
        except ProfileError as error:
            return "\n".join([self.measurement.sentence(), *self._notes(), str(error)])
        shown = self.view(view, **{**options, **print_options(whole, {**self.options, **options})})
        left_out = len(whole) - len(shown)
        rest = [f"... {counted_rows(left_out)} of libraries left out: see .view('code')"] if left_out else []
        return "\n".join([self.measurement.sentence(), *self._notes(), repr(shown), *rest])

    def widget(self, view: str | None = None, **options: Any) -> TfprofWidget:
        """A widget that shows all graphs, the busiest first: tables, charts and timeline, with live options."""
        from tfprof_widget.widget.traits import TfprofWidget

        return TfprofWidget(self._to_show(view, **options))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the profile of the busiest graph as tfprof's ProfileProto."""
        self.profile.save(path)

    def save_report(self, path: str | PathLike[str]) -> None:
        """Write one HTML page that works like the widget, sliders included, in any browser and without a kernel."""
        from tfprof_widget.widget.report import report

        write_whole(path, report(self._to_show()).encode())

    def _to_show(self, view: str | None = None, **options: Any) -> Shown:
        from tfprof_widget.widget.shown import Shown, ShownGraph, starting_options

        busiest = self._shown()
        asked = {**self._asked(busiest), **options}
        chosen = view or asked.pop("view", "scope")
        asked.pop("view", None)
        facts, notes = tuple(self.measurement.facts()), self.measurement.warnings
        graphs = sorted(self._graphs, key=lambda graph: graph is not busiest)
        return Shown(
            title=self.measurement.name,
            graphs=tuple(
                ShownGraph(f"graph {number}: {_kinds(graph)}", graph.profile, facts, notes, _steady_regexes(graph))
                for number, graph in enumerate(graphs, 1)
            ),
            view=chosen,
            options=starting_options(busiest.profile, asked),
            taken=self.measurement.taken,
        )

    @property
    def _graphs(self) -> tuple[CapturedGraph, ...]:
        """The captured graphs, with the numbers of cells in their frames."""
        return _once_over(self._captured)

    def _shown(self) -> CapturedGraph:
        """The busiest graph, which is the one to show."""
        graph = _busiest(self._graphs)
        if graph is None:
            raise ProfileError(self._why_empty())
        return graph

    def _asked(self, graph: CapturedGraph) -> dict[str, Any]:
        """The options given with the capture; if these choose no runs, with the steady runs of the busiest kind."""
        asked = dict(self.options)
        if "run_name_regexes" not in asked and asked.get("step", -1) < 0:
            asked["run_name_regexes"] = _steady_regexes(graph)
        return asked

    def _notes(self) -> list[str]:
        return [f"note: {warning}" for warning in self.measurement.warnings]

    def _why_empty(self) -> str:
        reasons = self.recorded.warnings or ("no session ran and no function was called while capturing",)
        kinds = sorted((runs for runs in self.measurement.runs if runs.seen), key=lambda runs: -runs.seconds)
        missing = "No ops were recorded" if kinds else "Nothing was captured"
        return "\n".join([f"{missing}: {'; '.join(reasons)}", *map(timed_sentence, kinds[:MOST_TIMED])])

    def __repr__(self) -> str:
        return "Capture, not over yet" if self._recorded is None else self.text()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        if self._captured is None or _busiest(self._captured) is None:
            return {"text/plain": repr(self)}
        lines = "".join(f"<p>{escape(line)}</p>" for line in [self.measurement.sentence(), *self._notes()])
        try:
            rows = self.view()._repr_html_()
        except ProfileError as error:
            rows = f"<p>{escape(str(error))}</p>"
        return {"text/plain": repr(self), "text/html": lines + rows}

    def _ipython_display_(self) -> None:
        """Show the widget; if it cannot be made, the reason and a table; at a terminal the text."""
        from IPython.display import display

        bundle: Any = self._repr_mimebundle_()
        if "text/html" in bundle and not _shows_text_alone():
            try:
                self.widget()._ipython_display_()
            except Exception as error:
                bundle["text/html"] = f"<p>{escape(_why_no_widget(error))}</p>{bundle['text/html']}"
            else:
                return
        display(bundle, raw=True)


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
    """Why a table stands in the widget's place, with what anywidget and ipywidgets no longer have."""
    if isinstance(error, ImportError | ProfileError):
        return str(error)
    gone = gone_names("anywidget", "ipywidgets")
    lacking = [f"{each.package} {version(each.package)} has no {each.name}" for each in gone]
    way_out = "; install an earlier one, or a newer tfprof-widget" if gone else ""
    return f"the widget cannot be shown: {', '.join(lacking) or error_text(error)}{way_out}"


def _measured(recorded: Recording, graph: CapturedGraph | None, name: str) -> Measurement:
    kinds = tuple(each for graph in recorded.graphs for each in graph.kinds)
    runs = _busiest_runs(graph) or max(kinds, key=lambda each: each.seconds, default=None)
    op_seconds, coverage = _op_time(graph) if graph is not None else (0.0, 0.0)
    notes = list(recorded.warnings)
    if runs is not None and (slowed := note_on_slow_runs(runs)):
        notes.append(slowed)
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
        warnings=(*notes, *notes_on_untraced(kinds, recorded.wall_seconds)),
        ops_at_once=ops_at_once(graph.profile, graph.profile.main_kind) if graph is not None else 0.0,
        shown=graph.profile.main_kind if graph is not None else "",
    )


def _busiest(graphs: tuple[CapturedGraph, ...]) -> CapturedGraph | None:
    """The graph whose traced kinds of runs did most work; those that ran only once, as initializers, count last."""
    traced = [graph for graph in graphs if graph.profile.main_kind or _busiest_runs(graph) is not None]
    return max(traced, key=lambda graph: max(work_of(graph.profile, graph.kinds)), default=None)


def _busiest_runs(graph: CapturedGraph | None) -> KindOfRun | None:
    return busiest(graph.profile, graph.kinds) if graph is not None else None


def _op_time(graph: CapturedGraph) -> tuple[float, float]:
    """The summed op time of one run in seconds, and the share of it for which float operations are known."""
    view = graph.profile.view("op", run_name_regexes=[re.escape(graph.profile.main_kind)])
    total = int(view.grand_total["micros"][0])
    return total / view.time_scale / 1e6, flops_coverage(view).share if total else 0.0


def _steady_regexes(graph: CapturedGraph) -> tuple[str, ...]:
    return (re.escape(graph.profile.main_kind),) if _busiest_runs(graph) is not None else EVERYTHING


def _kinds(graph: CapturedGraph) -> str:
    """The names of the first two kinds of runs of a graph."""
    names = [runs.name for runs in graph.kinds]
    return ", ".join(names[:2]) + (" …" if len(names) > 2 else "")
