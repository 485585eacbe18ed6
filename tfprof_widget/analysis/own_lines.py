"""Finds the user's own lines of code, and adds up the time of each."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tfprof_widget.engine.code import GRADIENT_SUFFIX, frame_name
from tfprof_widget.engine.measures import TIMES
from tfprof_widget.engine.view import ViewData
from tfprof_widget.lib.arrays import Integers
from tfprof_widget.lib.text import is_of_library
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.tables import CodeStacks


def own_lines(code: ViewData) -> tuple[list[str], dict[str, Integers]]:
    """The user's own lines, the costliest first, and their times as columns.

    The time of an op counts for the innermost own line in its stack; a gradient counts for the line of its op.

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


def _line_above(code: ViewData, row: int, own: set[str]) -> str:
    """The first own line from a row upwards, empty if there is none."""
    while row >= 0 and code.names[row].removesuffix(GRADIENT_SUFFIX) not in own:
        row = int(code.parent[row])
    return code.names[row] if row >= 0 else ""


def _own_frames(profile: ProfileData) -> set[str]:
    traces = profile.traces
    columns = zip(traces.file.tolist(), traces.line.tolist(), traces.function.tolist(), strict=True)
    places = ((traces.strings[file], line, traces.strings[function]) for file, line, function in columns)
    return {frame_name(*place) for place in places if not is_of_library(place[0])}


CELL = re.compile(r"In\[\d+\]")


def own_frames(traces: CodeStacks) -> tuple[str, ...]:
    """Regexes of the frames that a code view shows if frames of libraries are left out.

    >>> from tfprof_widget.demo import demo_profile
    >>> own_frames(demo_profile().traces)[0]
    'train\\\\.py:10:dense(\\\\ \\\\(gradient\\\\))?'
    """
    own: set[int] = set()
    for stack in np.unique(traces.stack[traces.stack >= 0]).tolist():
        own.update(_of_stack(traces, traces.stacks[stack].tolist()))
    return tuple(sorted({f"{re.escape(_name(traces, frame))}({re.escape(GRADIENT_SUFFIX)})?" for frame in own}))


def _of_stack(traces: CodeStacks, frames: list[int]) -> Iterator[int]:
    """The frames outside libraries, from the outermost cell inwards if any; the outermost frame if there are none."""
    files = [traces.strings[traces.file[frame]] for frame in frames]
    first = next((place for place, file in enumerate(files) if CELL.fullmatch(file)), 0)
    own = [frame for frame, file in zip(frames[first:], files[first:], strict=True) if not is_of_library(file)]
    yield from own or frames[:1]


def _name(traces: CodeStacks, frame: int) -> str:
    return frame_name(
        traces.strings[traces.file[frame]], int(traces.line[frame]), traces.strings[traces.function[frame]]
    )
