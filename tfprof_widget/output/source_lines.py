"""The text of the lines in which nodes were made, where the file is still at hand: a recording seldom has it."""

from __future__ import annotations

import linecache
from dataclasses import replace

import numpy as np

from tfprof_widget.tables import Traces

# Frames of libraries are folded away where code is shown, and reading their files takes a while.
LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python")
UNKNOWN = 0


def with_source_lines(traces: Traces) -> Traces:
    """The same traces, with the text of the lines of the user's own files.

    >>> from tfprof_widget.demo import demo_profile
    >>> traces = demo_profile().traces
    >>> len(with_source_lines(traces).file) == len(traces.file)
    True
    """
    strings, place_of = list(traces.strings), dict[str, int]()
    source = traces.source.copy()
    for frame in np.flatnonzero(source == UNKNOWN).tolist():
        file, line = traces.strings[traces.file[frame]], int(traces.line[frame])
        if any(library in file for library in LIBRARIES):
            continue
        text = linecache.getline(file, line).strip() if line > 0 else ""
        if text and text not in place_of:
            place_of[text] = len(strings)
            strings.append(text)
        if text:
            source[frame] = place_of[text]
    added = len(strings) - len(traces.strings)
    numbers = np.append(traces.string_numbers, np.arange(added) + traces.string_numbers.max(initial=-1) + 1)
    return replace(traces, strings=tuple(strings), string_numbers=numbers, source=source)
