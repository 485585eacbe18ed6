"""Finds the user's own lines of code: adds up the time of each, and finds the loop that repeats some."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

import numpy as np

from tfprof_widget.engine.code import GRADIENT_SUFFIX, frame_name
from tfprof_widget.engine.measures import TIMES
from tfprof_widget.engine.view import ViewData
from tfprof_widget.lib.arrays import Integers
from tfprof_widget.lib.text import is_of_library
from tfprof_widget.lib.threads import parse_python, source_lines
from tfprof_widget.profiles.data import ProfileData, ProfileTables
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


def own_frames(tables: ProfileTables) -> tuple[str, ...]:
    """Regexes of the frames that a code view shows if frames of libraries are left out.

    >>> from tfprof_widget.demo import demo_profile
    >>> own_frames(demo_profile())[0]
    'train\\\\.py:10:dense(\\\\ \\\\(gradient\\\\))?'
    """
    own: set[int] = set()
    traces = tables.traces
    used = np.unique(np.concatenate([traces.stack, tables.other_stacks.stack]))
    for stack in used[used >= 0].tolist():
        own.update(own_of_stack(traces, traces.stacks[stack].tolist()))
    return tuple(sorted({f"{re.escape(_name(traces, frame))}({re.escape(GRADIENT_SUFFIX)})?" for frame in own}))


def own_of_stack(traces: CodeStacks, frames: list[int]) -> Iterator[int]:
    """The frames outside libraries, from the outermost cell inwards if any; the outermost frame if there are none.

    >>> from tfprof_widget.demo import demo_profile
    >>> traces = demo_profile().traces
    >>> [_name(traces, frame) for frame in own_of_stack(traces, traces.stacks[0].tolist())]
    ['train.py:13:<module>']
    """
    files = [traces.strings[traces.file[frame]] for frame in frames]
    first = next((place for place, file in enumerate(files) if CELL.fullmatch(file)), 0)
    own = [frame for frame, file in zip(frames[first:], files[first:], strict=True) if not is_of_library(file)]
    yield from own or frames[:1]


def _name(traces: CodeStacks, frame: int) -> str:
    return frame_name(
        traces.strings[traces.file[frame]], int(traces.line[frame]), traces.strings[traces.function[frame]]
    )


Line = tuple[str, int, str]
"""A line of code: its file, its number and the function that it is in."""

NEARLY_ALL = 0.8
"""A line that so large a share of the samples pass through has all of them, as far as sampling can tell."""

_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def repeated_place(seen: Mapping[tuple[Line, ...], int], opened: Line | None = None) -> Line | None:
    """The loop that repeats what was seen, or the function that a loop calls to do it all; None if no loop does.

    `seen` counts stacks of the user's own lines, the outermost first. The place of a loop has no function. A loop
    around `opened`, the line at which the capture began, repeats the capture and not what was seen in it.
    """
    found: Line | None = None
    frames = _down_to_several_lines(seen)
    blocks = {file: _blocks(file) for file in {line[0] for lines in frames for line in lines}}
    for lines in reversed(frames):
        file, line, function = next(iter(lines))
        is_opened_here = opened is not None and (file, function) == opened[::2]
        within = [block for block in blocks[file] if not (is_opened_here and opened and _is_loop_at(block, opened[1]))]
        loop = _loop_around(within, {line: count for (_, line, _), count in lines.items()})
        if loop:
            return found or (file, loop, "")
        if is_opened_here:
            return None
        if found is None and not function.startswith("<"):
            found = file, _line_of_function(blocks[file], line), function
    return None


def _down_to_several_lines(seen: Mapping[tuple[Line, ...], int]) -> list[Counter[Line]]:
    """The lines seen frame by frame, down to the frame in which several lines share what was seen."""
    stacks, found = dict(seen), list[Counter[Line]]()
    least = NEARLY_ALL * sum(stacks.values())
    for depth in count():
        frames = Counter[tuple[str, str]]()
        for lines, number in stacks.items():
            if len(lines) > depth:
                frames[lines[depth][0], lines[depth][2]] += number
        if not frames or frames.most_common(1)[0][1] < least:
            break
        of = frames.most_common(1)[0][0]
        at = Counter[Line]()
        for lines, number in stacks.items():
            if len(lines) > depth and (lines[depth][0], lines[depth][2]) == of:
                at[lines[depth]] += number
        found.append(at)
        line, most = at.most_common(1)[0]
        if most < least:
            break
        stacks = {lines: number for lines, number in stacks.items() if len(lines) > depth and lines[depth] == line}
    return found


@dataclass(frozen=True, slots=True)
class _Block:
    """A loop or a function in a file, from its first to its last line; `body` is where that of a `for` begins."""

    lineno: int
    end_lineno: int
    is_loop: bool
    body: int = 0


def _blocks(file: str) -> tuple[_Block, ...]:
    """The loops and functions of a file, outer ones before those in them; none if there is no source."""
    return _parsed("".join(source_lines(file)))


@lru_cache(maxsize=32)  # a file of thousands of lines takes some tenths of a second
def _parsed(source: str) -> tuple[_Block, ...]:
    try:
        tree = parse_python(source)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (*_LOOPS, *_FUNCTIONS)):
            body = node.body[0].lineno if isinstance(node, ast.For | ast.AsyncFor) else 0
            found.append(_Block(node.lineno, node.end_lineno or node.lineno, isinstance(node, _LOOPS), body))
    return tuple(sorted(found, key=lambda block: (block.lineno, -block.end_lineno)))


def loop_heads(file: str) -> frozenset[int]:
    """The lines of a file that are the head of a `for` alone: what they call gives the items of the loop."""
    return frozenset(line for block in _blocks(file) for line in range(block.lineno, block.body))


def is_repeated(file: str, line: int) -> bool:
    """Whether a line of a file is in a loop of its function."""
    return bool(_loops_around(_blocks(file), [line]))


def _loop_around(blocks: Sequence[_Block], lines: Mapping[int, int]) -> int:
    """The line of the loop that repeats most of these lines of one function; 0 if no loop does.

    That is the innermost loop around all lines that are in the same outermost loop.
    """
    by_loop = defaultdict[int, list[int]](list)
    for line in lines:
        loops = _loops_around(blocks, [line])
        if loops:
            by_loop[loops[0]].append(line)
    if not by_loop:
        return 0
    most = max(by_loop.values(), key=lambda of_loop: sum(lines[line] for line in of_loop))
    return _loops_around(blocks, most)[-1] if 2 * sum(lines[each] for each in most) > sum(lines.values()) else 0


def _loops_around(blocks: Sequence[_Block], lines: Sequence[int]) -> list[int]:
    """The lines of the loops around all these lines, the outermost first, within the innermost function."""
    found: list[int] = []
    for block in _around(blocks, lines):
        found = [*found, block.lineno] if block.is_loop else []
    return found


def _around(blocks: Sequence[_Block], lines: Sequence[int]) -> Iterator[_Block]:
    return (block for block in blocks if block.lineno <= min(lines) and max(lines) <= block.end_lineno)


def _is_loop_at(block: _Block, line: int) -> bool:
    return block.is_loop and block.lineno <= line <= block.end_lineno


def _line_of_function(blocks: Sequence[_Block], line: int) -> int:
    """The line of the innermost function around a line; the line itself if there is no source."""
    found = [block.lineno for block in _around(blocks, [line]) if not block.is_loop]
    return found[-1] if found else line
