"""Tells what Python did in a cell while no step ran, by the user's line and by what libraries did for it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.analysis.own_lines import NEARLY_ALL, is_repeated, loop_heads, repeated_place
from tfprof_widget.lib.arrays import ABSENT, Indices, Integers
from tfprof_widget.lib.intervals import Intervals
from tfprof_widget.lib.text import is_of_library
from tfprof_widget.profiles.cell import CELL_PARTS, CellTimes, CodeLine, Doing, PythonLooks, PythonTime

FEWEST_LOOKS = 10
"""Of a time in which the thread was seen less often it is not told what it did."""

Place = tuple[str, int, str]
"""A line: file, number, function."""

_ITERATORS = "/tensorflow/python/data/"
_NEXT = frozenset({"__next__", "next", "get_next", "get_next_as_optional"})
_ADAPTERS = re.compile(r"/data_adapters?(/|\.py$)|/epoch_iterator\.py$")
_CALLBACK = re.compile(r"/(tf_)?keras/(src/)?callbacks(/|\.py$)")
_CALLS = re.compile(
    r"/tensorflow/python/(client|eager/polymorphic_function)/|/tensorflow/python/training/\w*(session|hook)\w*\.py "
    r"|/keras/src/.*trainer\.py |/engine/training\w*\.py (?!__call__$)"
)
"""Files and functions that make runs. A model of Keras 2 that is called by itself runs its ops one by one."""
_NO_OPS = re.compile(
    r"/tensorflow/python/(checkpoint|saved_model|summary)/|/(func_graph|op_def_library|saver)\.py$"
    r"|/keras/src/saving/"
)
"""Files of TensorFlow and Keras that read and write files or build graphs."""

_BUILDING = frozenset({"build", "add_weight", "compute_output_spec", "symbolic_call"})
"""Functions of Keras in which a model is built, which makes its weights op by op, once."""

_LEAVING = "/traceback_utils.py"
"""The outermost file of a call of Keras or TensorFlow: alone it frees what the call leaves behind."""

_FRAMEWORK = re.compile(r"/(tensorflow|keras|tf_keras)/")


MOST_CALLED = 8
"""So far below the user's line a library has the loop that runs ops, if it has one."""

_WHILE_LOOP = re.compile(r"/tensorflow/python/ops/(while_loop|control_flow_ops)\.py$")


@dataclass(frozen=True)
class SeenStack:
    """What a thread was seen to do in a stack, and the user's lines in it, the outermost first.

    If it ran ops, `called` are the lines of libraries that the innermost of the user's lines called.
    """

    doing: Doing
    lines: tuple[Place, ...]
    called: tuple[Place, ...] = ()


Seen = Counter[SeenStack]
"""How long each was seen, in nanoseconds."""


def seen_stack(stack: Sequence[CodeLine]) -> SeenStack:
    """What a thread does in a stack, outermost frame first.

    >>> seen_stack([CodeLine("/home/me/train.py", 7, "main")])
    SeenStack(doing='python', lines=(('/home/me/train.py', 7, 'main'),), called=())
    """
    places = [(line.file, line.line, line.function) for line in reversed(stack)]
    own = [at for at, (file, _, _) in enumerate(places) if not is_of_library(file)]
    below = places[: own[0]] if own else places
    doing = _doing(places, below)
    lines = tuple(places[at] for at in reversed(own))
    return SeenStack(doing, lines, tuple(below[: -MOST_CALLED - 1 : -1]) if doing == "ops" else ())


def _doing(stack: Sequence[Place], below: Sequence[Place]) -> Doing:
    """What is done in a stack, innermost frame first; `below` are the frames that the user's innermost frame calls."""
    files = [file.replace("\\", "/") for file, _, _ in stack]
    inner, outer = files[: len(below)], files[len(below) :]
    waits = any(_ITERATORS in file and place[2] in _NEXT for file, place in zip(inner, below, strict=True))
    if waits or any(_ITERATORS in file or _ADAPTERS.search(file) for file in outer):
        return "input"
    if any(map(_CALLBACK.search, files)):
        return "callback"
    makes_runs = any(_CALLS.search(f"{file} {place[2]}") for file, place in zip(inner, below, strict=True))
    if makes_runs or any(map(_ADAPTERS.search, inner)) or (inner and inner[0].endswith(_LEAVING)):
        return "calls"
    if any(_ITERATORS in file for file in inner):
        return "input"
    is_other = any(map(_NO_OPS.search, inner)) or any(function in _BUILDING for _, _, function in below)
    return "ops" if any(map(_FRAMEWORK.search, inner)) and not is_other else "python"


@dataclass(frozen=True)
class PythonDoings:
    """What Python did outside of runs, and between two of them, what took most first.

    Between two runs is not what came before the first run of a kind, nor what came after the last run.
    """

    outside: tuple[PythonTime, ...]
    between: tuple[PythonTime, ...]


def doings(looks: PythonLooks) -> PythonDoings:
    """What Python did at work and waiting for batches, by the looks at it.

    >>> doings(PythonLooks.none())
    PythonDoings(outside=(), between=())
    """
    stacks = [seen_stack(looks.stack_lines(stack)) for stack in range(len(looks.stacks))]
    counted = [CELL_PARTS.index("python"), CELL_PARTS.index("input")]
    seen: dict[bool, Seen] = {True: Counter(), False: Counter()}
    count, gaps_with_calls = Counter[bool](), set[int]()
    columns = (looks.stack, looks.nanos, looks.part, looks.gap)
    for stack, nanos, part, gap in zip(*(column.tolist() for column in columns), strict=True):
        if part in counted:
            is_between = gap >= 0
            seen[is_between][stacks[stack]] += nanos
            count[is_between] += 1
            if is_between and stacks[stack].doing == "calls":
                gaps_with_calls.add(gap)
    at = looks.begun_at
    begun = (at.file, at.line, at.function) if at is not None else None
    outside = _by_doing(seen[True] + seen[False], begun) if count.total() >= FEWEST_LOOKS else ()
    between = _by_doing(seen[True], begun) if count[True] >= FEWEST_LOOKS else ()
    if len(gaps_with_calls) < FEWEST_LOOKS:  # such as one long end of an epoch, which frees its input
        between = (each for each in between if each.doing != "calls")
    return PythonDoings(tuple(outside), tuple(between))


def _by_doing(seen: Seen, begun_at: Place | None) -> Iterator[PythonTime]:
    """The time by what Python did, what took most first; the capture was begun at the user's line `begun_at`."""
    files = {file for sample in seen if sample.doing == "python" for file, _, _ in sample.lines}
    heads = {file: loop_heads(file) for file in files}
    over_datasets = {sample.lines[-1:] for sample in seen if sample.doing == "input"}
    done: dict[Doing, Counter[tuple[Place, ...]]] = {}
    for sample, count in seen.items():
        at_heads = [sample.doing == "python" and line in heads[file] for file, line, _ in sample.lines]
        if any(at_heads[:-1]):
            doing: Doing = "input"
        else:
            # No Python runs while an iterator is freed, which takes long if it holds many items.
            doing = "freed" if at_heads[-1:] == [True] and sample.lines[-1:] in over_datasets else sample.doing
        done.setdefault(doing, Counter())[sample.lines] += count
    for doing, of_it in sorted(done.items(), key=lambda each: -each[1].total()):
        place = repeated_place(of_it, begun_at) if doing == "ops" else _innermost(of_it)
        calling = _calling_line(seen) if doing == "ops" and place is None else None
        file, line, function = place or calling or ("", 0, "")
        yield PythonTime(doing, of_it.total() / 1e9, file, line, function, by_library=calling is not None)


def _calling_line(seen: Seen) -> Place | None:
    """The user's line below which nearly all ops were run by a loop of a library; None if there is no such line."""
    of_line: dict[Place, Counter[tuple[Place, ...]]] = {}
    for sample, count in seen.items():
        if sample.doing == "ops" and sample.lines:
            of_line.setdefault(sample.lines[-1], Counter())[sample.called] += count
    ops = sum(count for sample, count in seen.items() if sample.doing == "ops")
    line = max(of_line, key=lambda line: of_line[line].total(), default=None)
    if line is None or not ops or of_line[line].total() < NEARLY_ALL * ops:
        return None
    # TensorFlow and Keras go through layers, structures and callbacks in loops of their own, which repeat nothing.
    places = {place for called in of_line[line] for place in called if _may_repeat(place[0])}
    loops = {place for place in places if is_repeated(*place[:2])}
    in_loop = sum(count for called, count in of_line[line].items() if loops.intersection(called))
    return line if in_loop >= NEARLY_ALL * of_line[line].total() else None


def _may_repeat(file: str) -> bool:
    file = file.replace("\\", "/")
    return not _FRAMEWORK.search(file) or _WHILE_LOOP.search(file) is not None


def _innermost(seen: Counter[tuple[Place, ...]]) -> Place | None:
    """The innermost line of the user's that was seen most often."""
    found: Counter[Place] = Counter()
    for lines, count in seen.items():
        if lines:
            found[lines[-1]] += count
    return found.most_common(1)[0][0] if found else None


@dataclass(frozen=True)
class LineTime:
    """The time that a line of the user's took, and how often it was seen."""

    line: CodeLine
    nanos: int
    looks: int


def line_times(looks: PythonLooks, part: str = "python") -> list[LineTime]:
    """The user's innermost line of each stack that was seen in a part of the cell, the costliest first.

    What has no line of the user's counts for the outermost line.

    >>> line_times(PythonLooks.none())
    []
    """
    counted = looks.part == CELL_PARTS.index(part)
    nanos, number = Counter[CodeLine](), Counter[CodeLine]()
    of_stack = [_users_line(looks.stack_lines(stack)) for stack in range(len(looks.stacks))]
    for stack, took in zip(looks.stack[counted].tolist(), looks.nanos[counted].tolist(), strict=True):
        line = of_stack[stack]
        nanos[line] += took
        number[line] += 1
    found = [LineTime(line, took, number[line]) for line, took in nanos.items()]
    return sorted(found, key=lambda each: (-each.nanos, each.line.file, each.line.line))


def _users_line(stack: Sequence[CodeLine]) -> CodeLine:
    return next((line for line in reversed(stack) if not is_of_library(line.file)), (*stack, CodeLine("", 0, ""))[0])


_BUILDING_FILES = re.compile(r"/tensorflow/python/(eager/|framework/func_graph)")


def building_line(looks: PythonLooks) -> CodeLine | None:
    """The user's line that was seen most often to call what builds a function; None if none was seen.

    >>> building_line(PythonLooks.none()) is None
    True
    """
    counted = looks.part == CELL_PARTS.index("tracing")
    nanos = Counter[CodeLine]()
    for stack, took in zip(looks.stack[counted].tolist(), looks.nanos[counted].tolist(), strict=True):
        lines = looks.stack_lines(stack)
        calls = [line for line in lines if _BUILDING_FILES.search(line.file.replace("\\", "/"))][:1]
        before = lines[: lines.index(calls[0])] if calls else lines
        own = next((line for line in reversed(before) if not is_of_library(line.file)), None)
        if own is not None:
            nanos[own] += took
    return nanos.most_common(1)[0][0] if nanos else None


PARTS_SEEN = ("python", "input", "tracing")
"""The parts of a cell in which Python is looked at."""

MOST_CALLS = 300
MOST_SLICES = 800


@dataclass(frozen=True, eq=False)
class SeenCalls:
    """What Python was seen to do, as a tree of calls: a row each, after the one above it, ABSENT for an outermost one.

    The outermost frame of a call is the user's, if there is one in its stack. `nanos` has a column for each of
    PARTS_SEEN: the time in which the call was the innermost one. `of_stack` has the call of each stack of each cell.
    """

    frames: tuple[CodeLine, ...]
    above: Indices
    frame: Indices
    nanos: Integers
    looks: Integers
    of_stack: tuple[Indices, ...]


def seen_calls(cells: Sequence[PythonLooks], most: int = MOST_CALLS) -> SeenCalls:
    """The calls seen in cells; of more than `most`, the cheapest count for those that they are in.

    >>> len(seen_calls([PythonLooks.none()]).frame)
    0
    """
    frames = dict[CodeLine, int]()
    place = dict[tuple[int, int], int]()
    leaves = [[_leaf(looks.stack_lines(each), frames, place) for each in range(len(looks.stacks))] for looks in cells]
    count = len(place)
    nanos, seen = np.zeros((count + 1, len(PARTS_SEEN)), np.int64), np.zeros(count + 1, np.int64)
    for looks, of_stack in zip(cells, leaves, strict=True):
        leaf = np.array(of_stack, np.int32)[looks.stack]
        for column, part in enumerate(PARTS_SEEN):
            rows = looks.part == CELL_PARTS.index(part)
            np.add.at(nanos, (leaf[rows], column), looks.nanos[rows])
            np.add.at(seen, leaf[rows], 1)
    above = np.array([above for above, _ in place], np.int32)
    whole = nanos.sum(axis=1)
    for each in range(count - 1, -1, -1):
        if above[each] != ABSENT:
            whole[above[each]] += whole[each]
    # A call takes no longer than that above it, which comes first.
    kept = np.sort(np.argsort(-whole[:count], kind="stable")[:most])
    new = np.full(count + 1, ABSENT, np.int32)
    new[kept] = np.arange(len(kept))
    for each in range(count):
        if new[each] == ABSENT:
            new[each] = new[above[each]]
    frame = np.array([frame for _, frame in place], np.int32)[kept]
    summed, looked = np.zeros((len(kept) + 1, len(PARTS_SEEN)), np.int64), np.zeros(len(kept) + 1, np.int64)
    np.add.at(summed, new, nanos)
    np.add.at(looked, new, seen)
    used = np.unique(frame)
    lines = tuple(frames)
    return SeenCalls(
        tuple(lines[each] for each in used.tolist()),
        new[above[kept]],
        np.searchsorted(used, frame).astype(np.int32),
        summed[:-1],
        looked[:-1],
        tuple(new[np.array(of_stack, np.int32)] for of_stack in leaves),
    )


def _leaf(stack: Sequence[CodeLine], frames: dict[CodeLine, int], place: dict[tuple[int, int], int]) -> int:
    """The place of the innermost call of a stack in a growing tree."""
    first = next((at for at, line in enumerate(stack) if not is_of_library(line.file)), 0)
    call = ABSENT
    for line in stack[first:]:
        call = place.setdefault((call, frames.setdefault(line, len(frames))), len(place))
    return call


def busy_time(cell: CellTimes) -> Intervals:
    """When runs went on in a cell, without the time in which Python built their functions.

    >>> from tfprof_widget.profiles.cell import CellRuns
    >>> runs = CellRuns.of("train", [2], [7], building={0: 3})
    >>> busy_time(CellTimes.of({}, runs=(runs,))).drawn()
    '5-9'
    """
    start = [each.start + each.building for each in cell.runs]
    end = [each.start + each.nanos for each in cell.runs]
    nothing = np.zeros(0, np.int64)
    return Intervals.of(np.concatenate([nothing, *start]), np.concatenate([nothing, *end]))


@dataclass(frozen=True, eq=False)
class SeenSlices:
    """When Python was seen in each stack, in nanoseconds since the cell was entered, by looks at it."""

    start: Integers
    nanos: Integers
    stack: Indices
    part: NDArray[np.int8]


def seen_slices(looks: PythonLooks, busy: Intervals, most: int = MOST_SLICES) -> SeenSlices:
    """A slice for the looks one after the other at one stack, without the `busy` time, in which runs went on.

    It begins at the look before, and ends at the last of them, or at the next run if that begins before the next look.
    Of many looks, some are left out evenly, so that there are at most so many slices.

    >>> len(seen_slices(PythonLooks.none(), Intervals.of(np.zeros(0, np.int64), np.zeros(0, np.int64))).start)
    0
    """
    parts = [CELL_PARTS.index(part) for part in PARTS_SEEN]
    rows = np.flatnonzero(np.isin(looks.part, parts) & ~busy.covers(looks.at))
    usual = int(np.median(np.diff(looks.at, prepend=0))) if len(rows) else 0
    while True:
        found = _slices(looks, rows, busy, usual)
        if len(found.start) <= most:
            return found
        rows, usual = rows[::2], 2 * usual


def _slices(looks: PythonLooks, rows: Integers, busy: Intervals, usual: int) -> SeenSlices:
    at, stack, part = looks.at[rows], looks.stack[rows], looks.part[rows]
    ended = np.append(0, busy.end)[np.searchsorted(busy.end, at, "right")]
    start = np.maximum(ended, np.append(0, at[:-1])) if len(at) else at
    start = np.maximum(start, at - 2 * usual)
    next_start = np.append(start[1:], at[-1:] + usual)
    next_run = np.append(busy.start, at[-1:] + usual)[np.searchsorted(busy.start, at, "left")]
    end = np.where(next_start > at, np.minimum(np.minimum(next_run, next_start), at + usual), at)
    joins = (stack[1:] == stack[:-1]) & (part[1:] == part[:-1]) & (start[1:] <= end[:-1])
    first, last = np.flatnonzero(np.append(True, ~joins)[: len(at)]), np.flatnonzero(np.append(~joins, True)[: len(at)])
    return SeenSlices(start[first], np.maximum(end[last] - start[first], 1), stack[first], part[first])
