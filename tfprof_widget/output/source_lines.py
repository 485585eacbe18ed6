"""The text of the lines in which nodes were made, read from the files of this very process.

A profile from elsewhere may name any file, and what is read would go into the reports that its reader passes on: of
such a profile nothing is read, and only the lines are shown that it brings itself.
"""

from __future__ import annotations

import linecache
import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from tfprof_widget.tables import Traces

# As js/src/views/frames.ts tells them: installed, worked on in place, or Python's own.
LIBRARIES = re.compile(
    r"(^|/)((site|dist)-packages|tensorflow|keras|tf_keras|tfprof_widget)/|/lib/python[\d.]*/|^<frozen "
)
UNKNOWN = 0
MOST_BYTES = 2**24


def with_source_lines(traces: Traces) -> Traces:
    """The same traces, with the text of the lines of the user's own files, where this process made the nodes.

    >>> from tfprof_widget.demo import demo_profile
    >>> traces = demo_profile().traces
    >>> len(with_source_lines(traces).file) == len(traces.file)
    True
    """
    strings, place_of = list(traces.strings), dict[str, int]()
    source = traces.source.copy()
    for frame in sorted(traces.live.intersection(np.flatnonzero(source == UNKNOWN).tolist())):
        file, line = traces.strings[traces.file[frame]], int(traces.line[frame])
        if is_of_library(file):
            continue  # it is folded away where code is shown, and reading it takes a while
        text = linecache.getline(file, line).strip() if line > 0 and _is_source(file) else ""
        if text and text not in place_of:
            place_of[text] = len(strings)
            strings.append(text)
        if text:
            source[frame] = place_of[text]
    added = len(strings) - len(traces.strings)
    numbers = np.append(traces.string_numbers, np.arange(added) + traces.string_numbers.max(initial=-1) + 1)
    return replace(traces, strings=tuple(strings), string_numbers=numbers, source=source)


def _is_source(file: str) -> bool:
    """Whether it is a cell, or a file as people write them: a program may come from a pipe, which never ends."""
    if file in linecache.cache:
        return True
    try:
        path = Path(file)
        return path.is_file() and path.stat().st_size <= MOST_BYTES
    except (OSError, ValueError):  # such as a name that is too long
        return False


def is_of_library(file: str) -> bool:
    """Whether a file belongs to an installed package or to Python, and not to the user's own code.

    >>> is_of_library("/venv/lib/python3.11/site-packages/keras/layer.py"), is_of_library("/home/me/train.py")
    (True, False)
    """
    return LIBRARIES.search(file.replace("\\", "/")) is not None
