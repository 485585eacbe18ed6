"""Adds the times of a code view up by the user's own lines, which alone they can change."""

from __future__ import annotations

import numpy as np

from tfprof_widget.engine.code import GRADIENT_SUFFIX, frame_name
from tfprof_widget.engine.measures import TIMES
from tfprof_widget.engine.view import View
from tfprof_widget.output.source_lines import is_of_library
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Integers


def own_lines(code: View) -> tuple[list[str], dict[str, Integers]]:
    """The lines, the costliest first, and their times as columns.

    What an op takes counts for the innermost line on the way to it that is no library's; a gradient's beside its op's.

    >>> from tfprof_widget.demo import demo_profile
    >>> own_lines(demo_profile().view("code"))[0][:2]
    ['train.py:10:dense (gradient)', 'train.py:15:<module>']
    """
    own = _own_frames(code.profile)
    found: dict[str, Integers] = {}
    for row in np.flatnonzero(code.own["micros"]).tolist():
        line = _line_above(code, row, own)
        if line:
            found[line] = found.get(line, np.zeros(len(TIMES), np.int64)) + [code.own[time][row] for time in TIMES]
    lines = sorted(found, key=lambda line: -int(found[line][0]))
    columns = np.array([found[line] for line in lines], np.int64).reshape(-1, len(TIMES))
    return lines, dict(zip(TIMES, columns.T, strict=True))


def _line_above(code: View, row: int, own: set[str]) -> str:
    """The first own line from a row upwards, empty if there is none."""
    while row >= 0 and code.names[row].removesuffix(GRADIENT_SUFFIX) not in own:
        row = int(code.parent[row])
    return code.names[row] if row >= 0 else ""


def _own_frames(profile: Profile) -> set[str]:
    traces = profile.traces
    columns = zip(traces.file.tolist(), traces.line.tolist(), traces.function.tolist(), strict=True)
    places = ((traces.strings[file], line, traces.strings[function]) for file, line, function in columns)
    return {frame_name(*place) for place in places if not is_of_library(place[0])}
