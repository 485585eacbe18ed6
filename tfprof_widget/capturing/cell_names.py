"""Names the cells of this shell as their user knows them: `In[2]`, and not by the file that a kernel makes of one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tfprof_widget.capturing.recorded import GraphRecord
from tfprof_widget.memory import Memory
from tfprof_widget.output.source_lines import with_source_lines
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Traces


def with_cell_numbers(graphs: tuple[GraphRecord, ...]) -> tuple[GraphRecord, ...]:
    """The same graphs, whose frames tell of the cells' numbers where a shell runs cells: those of their last runs.

    >>> with_cell_numbers(())
    ()
    """
    label = _labels()
    return tuple(replace(graph, profile=_numbered(graph.profile, label)) for graph in graphs) if label else graphs


def _labels() -> Callable[[str], tuple[str, str] | None] | None:
    """What tells IPython's own tracebacks of the files that are cells; None without a shell, and with old ones."""
    loaded: Any = sys.modules.get("IPython")
    return getattr(getattr(loaded and loaded.get_ipython(), "compile", None), "format_code_name", None)


def _numbered(profile: Profile, label: Callable[[str], tuple[str, str] | None]) -> Profile:
    files = np.unique(profile.traces.file).tolist()
    told = {file: label(profile.traces.strings[file]) for file in files}
    cells = {file: found[1] for file, found in told.items() if found}
    # A memory of its own: what was computed of the recorded profile has the names of files.
    return replace(profile, traces=_renamed(profile.traces, cells), memory=Memory()) if cells else profile


def _renamed(traces: Traces, cells: dict[int, str]) -> Traces:
    """The traces with the lines of cells, which cannot be read by their numbers any more."""
    told = with_source_lines(traces)
    strings = list(told.strings)
    for file, name in cells.items():
        strings[file] = name
    of_cells = np.flatnonzero(np.isin(told.file, list(cells))).tolist()
    return replace(told, strings=tuple(strings), live=told.live.difference(of_cells))
