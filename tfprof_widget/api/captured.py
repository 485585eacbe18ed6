"""Makes profiles of the graphs that a capture recorded, and picks the busiest of them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from tfprof_widget.analysis.coverage import flops_coverage
from tfprof_widget.analysis.own_lines import own_frames
from tfprof_widget.analysis.own_statements import own_statements
from tfprof_widget.analysis.steady import StepUse
from tfprof_widget.api.profile import Profile
from tfprof_widget.api.view import View
from tfprof_widget.capturing.recording import GraphRecording, KindOfRun, Recording, busiest, steps_shown
from tfprof_widget.engine.steps import chosen_steps
from tfprof_widget.ingest.assemble import assemble
from tfprof_widget.ingest.gathered import Gathered
from tfprof_widget.ingest.parts.stacks import name_cells, place_lone_gradients
from tfprof_widget.output.sourceless import without_paths, without_source
from tfprof_widget.profiles.cell import CellTimes
from tfprof_widget.profiles.data import ProfileData, ProfileTables
from tfprof_widget.profiles.devices import ran_on_cpus
from tfprof_widget.profiles.options import EVERYTHING
from tfprof_widget.profiles.program import DataFunction

Label = Callable[[str], tuple[str, str] | None]
"""IPython's function that gives the kind and name of a file that is a cell."""


@dataclass(frozen=True)
class CapturedGraph:
    """One graph's profile, and the kinds of runs of it, in the order first seen.

    `busiest` is the traced kind that does most of the `work`, None if no run was traced.
    """

    profile: Profile
    kinds: tuple[KindOfRun, ...]
    busiest: KindOfRun | None
    work: tuple[float, float]


def captured_graphs(recorded: Recording, elapsed: Callable[[], int] | None = None) -> tuple[CapturedGraph, ...]:
    """The recorded graphs as profiles; in a notebook their frames name cells by number, as `In[2]`.

    `elapsed` tells how long the cell has taken, in nanoseconds: to read it takes some of its time, too.
    """
    label = _labels()
    stages = [place_lone_gradients, *([name_cells(label)] if label is not None else [])]
    found = []
    for graph in recorded.graphs:
        runs, work = busiest(graph.tables, graph.kinds)
        tables = graph.tables.having(main_kind=steps_shown(graph.tables, runs) if runs is not None else "")
        for stage in stages:
            tables = stage(tables)
        tables = tables.having(pipelines=tuple(tuple(map(_named, each)) for each in tables.pipelines))
        found.append((tables, graph, runs, work))
    nanos = elapsed() if elapsed is not None else 0
    cells = tuple(cell.longer(nanos) for cell in recorded.cells)
    return tuple(
        CapturedGraph(Profile.of(assemble(_with_code(_with_cells(tables, cells, graph)))), graph.kinds, runs, work)
        for tables, graph, runs, work in found
    )


def _with_code(tables: ProfileTables) -> ProfileTables:
    """The tables with the statements that advice may change; without them if they cannot be read."""
    with suppress(Exception):  # the user's files are anything
        code = replace(tables.own_code, statements=own_statements(tables, tables.cells, cell_name))
        return tables.having(own_code=code)
    return tables


def _named(function: DataFunction) -> DataFunction:
    line = function.line
    return function if line is None else replace(function, line=replace(line, file=cell_name(line.file)))


def cell_alone(recorded: Recording) -> ProfileData:
    """A profile without nodes that has the times of the cell, and the kind of runs that took longest for the busiest.

    >>> cell_alone(Recording((), 0.0, 0.0, 0, ())).cells
    ()
    """
    most = max(recorded.runs, key=lambda runs: runs.total_nanos, default=None)
    cells = tuple(replace(cell, runs=recorded.runs) for cell in recorded.cells)
    return assemble(Gathered().tables().having(cells=cells, main_kind=most.kind if most is not None else ""))


def _with_cells(tables: ProfileTables, cells: Sequence[CellTimes], graph: GraphRecording) -> ProfileTables:
    """The tables with the times of the cell and the runs of the graph; those of engines have these already."""
    return tables if tables.cells else tables.having(cells=tuple(replace(cell, runs=graph.runs) for cell in cells))


def _labels() -> Label | None:
    """IPython's function from a cell's file to its label in tracebacks; None without IPython and in old versions."""
    loaded: Any = sys.modules.get("IPython")
    return getattr(getattr(loaded and loaded.get_ipython(), "compile", None), "format_code_name", None)


def cell_name(file: str) -> str:
    """The name of a notebook's cell, such as `In[2]`, if the file is one; else the file.

    >>> cell_name("/home/me/train.py")
    '/home/me/train.py'
    """
    label = _labels()
    named = label(file) if label is not None and file else None
    return named[1] if named else file


def busiest_graph(graphs: tuple[CapturedGraph, ...]) -> CapturedGraph | None:
    """The graph whose traced kinds of runs did most work; those that ran only once, as initializers, count last."""
    traced = [graph for graph in graphs if graph.busiest is not None]
    return max(traced, key=lambda graph: graph.work, default=None)


def op_time(graph: CapturedGraph) -> tuple[float, float, float]:
    """The op time of the steps shown in seconds, its share with known float operations, and the ops at once."""
    view = graph.profile.view("op", run_name_regexes=steady_regexes(graph))
    total = int(view.grand_total["micros"][0])
    at_once = StepUse.of(graph.profile).ops_at_once(chosen_steps(graph.profile, view.options))
    return total / view.time_scale / 1e6, flops_coverage(view).share if total else 0.0, at_once


def steady_regexes(graph: CapturedGraph) -> tuple[str, ...]:
    """The option that chooses the steps of the graph's busiest kind; all steps if no run was traced."""
    return (re.escape(graph.profile.main_kind),) if graph.busiest is not None else EVERYTHING


def names_of_kinds(graph: CapturedGraph) -> str:
    """The names of the first two kinds of runs of a graph."""
    names = [runs.name for runs in graph.kinds]
    return ", ".join(names[:2]) + (" …" if len(names) > 2 else "")


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
        frames = own_frames(view.profile)
        options |= {"show_name_regexes": frames} if frames else {}
    return options


def graph_without_source(graph: CapturedGraph) -> CapturedGraph:
    """The graph, with a profile that tells nothing of the source."""
    return replace(graph, profile=Profile.of(assemble(without_source(graph.profile))))


def recording_without_source(recorded: Recording, graphs: Sequence[CapturedGraph]) -> Recording:
    """The recording with the tables of these graphs, in which nothing tells of the source.

    >>> recording_without_source(Recording((), 0.0, 0.0, 0, ("no room in /tmp/x",)), ()).warnings
    ('no room in …',)
    """
    tables = [replace(each, tables=of.profile) for each, of in zip(recorded.graphs, graphs, strict=True)]
    cells = without_source(cell_alone(recorded)).cells
    return replace(recorded, graphs=tuple(tables), cells=cells, warnings=tuple(map(without_paths, recorded.warnings)))
