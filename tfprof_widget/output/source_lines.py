"""The text of the lines in which nodes were made, where the file is still at hand: a recording seldom has it."""

from __future__ import annotations

import linecache
import re
from dataclasses import replace

import numpy as np

from tfprof_widget.tables import Traces

# As js/src/views/frames.ts tells them: installed, worked on in place, or Python's own.
LIBRARIES = re.compile(
    r"(^|/)((site|dist)-packages|tensorflow|keras|tf_keras|tfprof_widget)/|/lib/python[\d.]*/|^<frozen "
)
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
        if is_of_library(file):
            continue  # it is folded away where code is shown, and reading it takes a while
        text = linecache.getline(file, line).strip() if line > 0 else ""
        if text and text not in place_of:
            place_of[text] = len(strings)
            strings.append(text)
        if text:
            source[frame] = place_of[text]
    added = len(strings) - len(traces.strings)
    numbers = np.append(traces.string_numbers, np.arange(added) + traces.string_numbers.max(initial=-1) + 1)
    return replace(traces, strings=tuple(strings), string_numbers=numbers, source=source)


def is_of_library(file: str) -> bool:
    """Whether a file belongs to an installed package or to Python, and not to the user's own code.

    >>> is_of_library("/venv/lib/python3.11/site-packages/keras/layer.py"), is_of_library("/home/me/train.py")
    (True, False)
    """
    return LIBRARIES.search(file.replace("\\", "/")) is not None
