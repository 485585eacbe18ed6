"""Tells which frames of a profile are the user's own, and none of a library, of a kernel or of a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tfprof_widget.engine.code import GRADIENT_SUFFIX, frame_name
from tfprof_widget.output.source_lines import is_of_library
from tfprof_widget.tables import Traces

CELL = re.compile(r"In\[\d+\]")


def own_frames(traces: Traces) -> tuple[str, ...]:
    """Regexes of the frames that are left of a code view where those of others are folded away.

    >>> from tfprof_widget.demo import demo_profile
    >>> own_frames(demo_profile().traces)[0]
    'train\\\\.py:10:dense(\\\\ \\\\(gradient\\\\))?'
    """
    own: set[int] = set()
    for stack in np.unique(traces.stack[traces.stack >= 0]).tolist():
        own.update(_of_stack(traces, traces.stacks[stack].tolist()))
    return tuple(sorted({f"{re.escape(_name(traces, frame))}({re.escape(GRADIENT_SUFFIX)})?" for frame in own}))


def _of_stack(traces: Traces, frames: list[int]) -> Iterator[int]:
    """The frames of no library, from the outermost cell on if there is one; the outermost of all if none is left."""
    files = [traces.strings[traces.file[frame]] for frame in frames]
    first = next((place for place, file in enumerate(files) if CELL.fullmatch(file)), 0)
    own = [frame for frame, file in zip(frames[first:], files[first:], strict=True) if not is_of_library(file)]
    yield from own or frames[:1]


def _name(traces: Traces, frame: int) -> str:
    return frame_name(
        traces.strings[traces.file[frame]], int(traces.line[frame]), traces.strings[traces.function[frame]]
    )
