"""The Python stacks of several profiles' nodes as one table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfprof_widget.merging.dictionaries import united
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import ABSENT, Indices, Lists, Traces

# A frame by what it says: file, line, function, source and the function's line.
Frame = tuple[str, int, str, str, int]
Stack = tuple[Frame, ...]


def merged_traces(profiles: Sequence[Profile], rows: Sequence[Indices], count: int) -> Traces:
    """Each distinct frame and stack once; of two stacks that profiles tell of one node the first in order counts."""
    frames = [_frames(profile.traces) for profile in profiles]
    stacks = [_stacks(profile.traces, own) for profile, own in zip(profiles, frames, strict=True)]
    all_frames, frame_codes = united(frames)
    all_stacks, stack_codes = united(stacks)
    stack = np.full(count, len(all_stacks), np.int64)
    forward: dict[int, int] = {}
    live: set[int] = set()
    for profile, row, stack_code, frame_code in zip(profiles, rows, stack_codes, frame_codes, strict=True):
        told = profile.traces.stack
        known = np.flatnonzero(told >= 0)
        stack[row[known]] = np.minimum(stack[row[known]], stack_code[told[known]])
        for node, of in profile.traces.forward.items():
            forward[int(row[node])] = min(int(row[of]), forward.get(int(row[node]), count))
        live |= set(frame_code[sorted(profile.traces.live)].tolist())
    strings = tuple(sorted({text for file, _, function, source, _ in all_frames for text in (file, function, source)}))
    text_code = {text: code for code, text in enumerate(strings)}
    frame_place = {frame: place for place, frame in enumerate(all_frames)}
    start = np.zeros(len(all_stacks) + 1, np.int64)
    np.cumsum([len(each) for each in all_stacks], out=start[1:])
    return Traces(
        strings=strings,
        string_numbers=np.arange(len(strings), dtype=np.int64),
        file=_column([text_code[frame[0]] for frame in all_frames]),
        line=_column([frame[1] for frame in all_frames]),
        function=_column([text_code[frame[2]] for frame in all_frames]),
        source=_column([text_code[frame[3]] for frame in all_frames]),
        function_line=_column([frame[4] for frame in all_frames]),
        stacks=Lists(start, _column([frame_place[frame] for each in all_stacks for frame in each])),
        stack=np.where(stack == len(all_stacks), ABSENT, stack).astype(np.int32),
        forward=dict(sorted(forward.items())),
        live=frozenset(live),
    )


def _frames(traces: Traces) -> list[Frame]:
    strings = traces.strings
    columns = (traces.file, traces.line, traces.function, traces.source, traces.function_line)
    return [
        (strings[file], line, strings[function], strings[source], function_line)
        for file, line, function, source, function_line in zip(*(each.tolist() for each in columns), strict=True)
    ]


def _stacks(traces: Traces, frames: Sequence[Frame]) -> list[Stack]:
    return [tuple(frames[place] for place in traces.stacks[index].tolist()) for index in range(len(traces.stacks))]


def _column(values: Sequence[int]) -> Indices:
    return np.array(values, np.int32)
