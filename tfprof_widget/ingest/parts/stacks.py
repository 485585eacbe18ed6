"""Reads op logs, stores each Python stack once, reads lines of source, and names cells."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from operator import attrgetter
from pathlib import Path

import numpy as np
from google.protobuf.message import DecodeError

from tfprof_widget.engine.code import forward_name
from tfprof_widget.ingest.parts.names import named_forward
from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.messages import CodeDef, SealedCode, SealedOpLog
from tfprof_widget.lib.text import is_of_library
from tfprof_widget.lib.threads import source_line
from tfprof_widget.profiles.data import ProfileTables
from tfprof_widget.profiles.tables import CodeStacks, Lists, OtherStacks

FrameKey = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class StackBuilder:
    """Numbers strings, frames and stacks, each distinct one once.

    A string comes with the number that its op log gives it. A frame is (file, line, function, source line, line where
    the function starts), with strings as indices. Frames of live graphs are `live`.
    """

    strings: dict[tuple[int, str], int] = field(default_factory=dict)
    frames: dict[FrameKey, int] = field(default_factory=dict)
    stacks: dict[tuple[int, ...], int] = field(default_factory=dict)
    live: set[int] = field(default_factory=set)

    def string(self, number: int, text: str) -> int:
        """The index of a string."""
        return self.strings.setdefault((number, text), len(self.strings))

    def frame(self, frame: FrameKey) -> int:
        """The index of a frame."""
        return self.frames.setdefault(frame, len(self.frames))

    def stack(self, frames: tuple[int, ...]) -> int:
        """The index of a stack of frames, outermost first."""
        return self.stacks.setdefault(frames, len(self.stacks))

    def of_lines(self, lines: Iterable[tuple[str, int, str]]) -> int:
        """The index of a stack of lines, each with file, number and function, outermost first.

        >>> builder = StackBuilder()
        >>> builder.of_lines([("train.py", 7, "step")]), builder.of_lines([("train.py", 8, "step")])
        (0, 1)
        """
        texts = {text: index for (_, text), index in self.strings.items()}
        for file, _, function in lines:
            for text in (file, function):
                if text not in texts:
                    texts[text] = self.string(len(self.strings), text)
        return self.stack(
            tuple(self.frame((texts[file], line, texts[function], ABSENT, 0)) for file, line, function in lines)
        )

    def common(self, stack: int, other: int) -> int:
        """The stack of the outer frames that two stacks have in common; absent if there are none.

        >>> builder = StackBuilder()
        >>> builder.common(builder.stack((1, 2, 3)), builder.stack((1, 2, 4))) == builder.stack((1, 2))
        True
        """
        if stack == other or ABSENT in (stack, other):
            return min(stack, other)
        frames = {number: frames for frames, number in self.stacks.items() if number in (stack, other)}
        pairs = zip(frames[stack], frames[other], strict=False)
        same = tuple(frame for frame, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        return self.stack(same) if same else ABSENT


@dataclass(frozen=True)
class StacksOfSteps:
    """The stack and the forward node of each node that was made elsewhere in these steps than op logs say, by name.

    A stack may be absent, and the name of the forward node empty.
    """

    steps: frozenset[int]
    places: Mapping[str, tuple[int, str]]

    def beside(self, given: Iterable[NodeDetails]) -> StacksOfSteps:
        """The same without nodes whose stack is given.

        >>> StacksOfSteps(frozenset([0]), {"a": (1, ""), "b": (2, "")}).beside([NodeDetails(stack={"a": 0})]).places
        {'b': (2, '')}
        """
        known = {name for columns in given for name in columns.stack}
        return replace(self, places={name: place for name, place in self.places.items() if name not in known})


@dataclass(frozen=True)
class NodeDetails:
    """What an op log says of nodes, by name; `forward` has forward nodes of gradients whose names do not tell them."""

    types: dict[str, list[str]] = field(default_factory=dict)
    float_ops: dict[str, int] = field(default_factory=dict)
    stack: dict[str, int] = field(default_factory=dict)
    forward: dict[str, str] = field(default_factory=dict)

    def beside(self, given: Iterable[NodeDetails]) -> NodeDetails:
        """What these details say beyond the given ones; types of both count.

        >>> known = NodeDetails(float_ops={"a": 1, "b": 2}, stack={"a": 0})
        >>> known.beside([NodeDetails(float_ops={"a": 9})])
        NodeDetails(types={}, float_ops={'b': 2}, stack={'a': 0}, forward={})
        """
        float_ops, stack = dict(self.float_ops), dict(self.stack)
        for columns in given:
            for name in columns.float_ops:
                float_ops.pop(name, None)
            for name in columns.stack:
                stack.pop(name, None)
        return replace(self, float_ops=float_ops, stack=stack)


def last_entries(op_log: SealedOpLog) -> SealedOpLog:
    """The op log with only the last entry of each node, as native tfprof takes it with a live graph.

    Traces without frames are left out too: with a live graph they do not count.

    >>> op_log = SealedOpLog(log_entries=[{"name": "w", "float_ops": 8}, {"name": "w", "types": ["mine"]}])
    >>> [(entry.name, entry.float_ops, *entry.types) for entry in last_entries(op_log).log_entries]
    [('w', 0, 'mine')]
    """
    last = {entry.name: entry for entry in op_log.log_entries}
    kept = SealedOpLog(log_entries=last.values(), id_to_string=op_log.id_to_string)
    for entry in kept.log_entries:
        if not entry.code_def:
            entry.ClearField("code_def")
    return kept


def read_op_log(op_log: SealedOpLog, stacks: StackBuilder, nodes: Container[str]) -> NodeDetails:
    """What an op log says of `nodes`; if a node has several entries, the last FLOPs and the first trace count.

    >>> op_log = SealedOpLog(log_entries=[{"name": "w", "types": ["mine"], "float_ops": 8}])
    >>> read_op_log(op_log, StackBuilder(), {"w"})
    NodeDetails(types={'w': ['mine']}, float_ops={'w': 8}, stack={}, forward={})
    """
    columns = NodeDetails()
    strings = {number: stacks.string(number, text) for number, text in sorted(op_log.id_to_string.items())}
    frames = Frames(strings, stacks)
    known: dict[bytes, int] = {}
    for entry in op_log.log_entries:
        name, float_ops, types, code = _ENTRY(entry)
        if name not in nodes:
            continue
        if types:
            columns.types.setdefault(name, []).extend(types)
        if float_ops:
            columns.float_ops[name] = float_ops
        if name not in columns.stack and (code or entry.HasField("code_def")):
            if code not in known:
                known[code] = frames.stack(code, name)
            columns.stack[name] = known[code]
    return columns


_ENTRY = attrgetter("name", "float_ops", "types", "code_def")

_AGAIN = {"op_log": "write the op log again with write_op_log", "profile": "save the profile again"}


class Frames:
    """Reads the traces of one op log or profile; each distinct frame is read once, and there are few."""

    def __init__(self, strings: dict[int, int], stacks: StackBuilder, source: str = "op_log") -> None:
        self.strings, self.stacks, self.source = strings, stacks, source
        self._known: dict[bytes, int] = {}

    def stack(self, code: bytes, name: str) -> int:
        """The index of the stack in the bytes of a CodeDef; `name` is the node's, for errors."""
        try:
            traces = SealedCode.FromString(code).traces[:]
            for trace in traces:
                if trace not in self._known:
                    self._known[trace] = self._frame(trace)
        except DecodeError as error:
            raise ProfileError(
                f"{self.source}: the trace of {name!r} cannot be read ({error}); check that the file is whole"
            ) from None
        except KeyError as missing:
            raise ProfileError(
                f"{self.source}: the trace of {name!r} names string {missing}, which id_to_string lacks; "
                + _AGAIN[self.source]
            ) from None
        return self.stacks.stack(tuple([self._known[trace] for trace in traces]))

    def _frame(self, sealed: bytes) -> int:
        trace = CodeDef.Trace.FromString(sealed)
        file, function = self.strings[trace.file_id], self.strings[trace.function_id]
        source = self.strings.get(trace.line_id, ABSENT)
        return self.stacks.frame((file, trace.lineno, function, source, trace.func_start_line))


UNKNOWN = 0
MOST_BYTES = 2**24


def with_source_lines(traces: CodeStacks) -> CodeStacks:
    """The same stacks with source lines of the user's own files, if this process made the nodes."""
    strings, place_of = list(traces.strings), dict[str, int]()
    source = traces.source.copy()
    for frame in sorted(traces.live.intersection(np.flatnonzero(source == UNKNOWN).tolist())):
        file, line = traces.strings[traces.file[frame]], int(traces.line[frame])
        if is_of_library(file):
            continue  # library frames are folded when code is shown, and reading their lines is slow
        text = source_line(file, line) if _is_source(file) else ""
        if text and text not in place_of:
            place_of[text] = len(strings)
            strings.append(text)
        if text:
            source[frame] = place_of[text]
    added = len(strings) - len(traces.strings)
    numbers = np.append(traces.string_numbers, np.arange(added) + traces.string_numbers.max(initial=-1) + 1)
    return replace(traces, strings=tuple(strings), string_numbers=numbers, source=source)


def _is_source(file: str) -> bool:
    """Whether it is a cell or a source file of usual size: a program may come from a pipe, which never ends."""
    if file in linecache.cache:
        return True
    try:
        path = Path(file)
        return path.is_file() and path.stat().st_size <= MOST_BYTES
    except (OSError, ValueError):  # such as a name that is too long
        return False


def name_cells(label: Callable[[str], tuple[str, str] | None]) -> Callable[[ProfileTables], ProfileTables]:
    """The stage that names the cells of this shell as the user knows them, as `In[2]` and not as a kernel's file.

    `label` is the function of IPython's own tracebacks that gives the kind and name of a file that is a cell. Source
    lines are read before renaming, because they cannot be found under the new names.
    """

    def name(tables: ProfileTables) -> ProfileTables:
        files = np.unique(tables.traces.file).tolist()
        told = {file: label(tables.traces.strings[file]) for file in files}
        cells = {file: found[1] for file, found in told.items() if found}
        return tables.having(traces=_renamed(tables.traces, cells)) if cells else tables

    return name


def _renamed(traces: CodeStacks, cells: dict[int, str]) -> CodeStacks:
    """The stacks with the new names of cells; their source lines cannot be read any more."""
    told = with_source_lines(traces)
    strings = list(told.strings)
    for file, name in cells.items():
        strings[file] = name
    of_cells = np.flatnonzero(np.isin(told.file, list(cells))).tolist()
    return replace(told, strings=tuple(strings), live=told.live.difference(of_cells))


def place_lone_gradients(tables: ProfileTables) -> ProfileTables:
    """Let gradients whose forward nodes have no line be at lines of their own.

    Native tfprof leaves them out of the code view, and with them their time; it also takes the first `gradients/` in a
    name for the one that gradients have. A gradient that is told to be its own forward node counts as any other node.

    >>> from tfprof_widget.demo import demo_profile
    >>> demo = demo_profile()
    >>> place_lone_gradients(demo) is demo
    True
    """
    names, traces = tables.nodes.names, tables.traces
    has_stack = (np.append(np.diff(traces.stacks.start), 0) > 0)[traces.stack]
    rows = np.flatnonzero(has_stack).tolist()
    told = {row: names[forward] for row, forward in traces.forward.items()}
    forward_of = {row: told.get(row) or forward_name(names[row]) for row in rows}
    with_lines = {names[row]: row for row in rows if forward_of[row] is None}
    lost = [row for row in rows if forward_of[row] is not None and forward_of[row] not in with_lines]
    found = {row: with_lines.get(named_forward(names[row], with_lines) or "", row) for row in lost}
    return tables.having(traces=replace(traces, forward={**traces.forward, **found})) if found else tables


def other_stacks(
    row_of: Mapping[str, int], steps: Sequence[int], traces: CodeStacks, found: Sequence[StacksOfSteps]
) -> OtherStacks:
    """The stacks that nodes have in some of the steps, beside those of `traces`.

    >>> traces = code_stacks({"loss": 0}, [NodeDetails(stack={"loss": 0})], StackBuilder())
    >>> other_stacks({"loss": 0}, [5, 7], traces, [StacksOfSteps(frozenset([7]), {"loss": (1, "")})]).group.tolist()
    [-1, 0]
    """
    group, of_groups = [ABSENT] * len(steps), []
    for number, each in enumerate(found):
        stack, forward = traces.stack.copy(), dict(traces.forward)
        for name, (place, of) in each.places.items():
            if name in row_of:
                stack[row_of[name]] = place
                forward[row_of[name]] = row_of.get(of, ABSENT)
        told = {node: of for node, of in forward.items() if of != ABSENT}
        of_groups.append(replace(traces, stack=stack, forward=told))
        group = [number if step in each.steps else known for step, known in zip(steps, group, strict=True)]
    return OtherStacks.beside(traces, group, of_groups)


def code_stacks(row_of: Mapping[str, int], op_logs: Sequence[NodeDetails], stacks: StackBuilder) -> CodeStacks:
    """The stacks of the nodes; the first op log with a trace of the node counts.

    >>> code_stacks({"loss": 0}, [], StackBuilder()).stack.tolist()
    [-1]
    """
    stack = np.full(len(row_of), ABSENT, np.int32)
    for op_log in reversed(op_logs):
        for name, found in op_log.stack.items():
            if name in row_of:
                stack[row_of[name]] = found
    numbers = [number for number, _ in stacks.strings]
    if len(set(numbers)) < len(numbers):  # op logs that number their strings differently
        numbers = list(range(len(numbers)))
    frames = np.array(list(stacks.frames), np.int64).reshape(-1, 5).astype(np.int32)
    return CodeStacks(
        strings=tuple(text for _, text in stacks.strings),
        string_numbers=np.array(numbers, np.int64),
        file=frames[:, 0],
        line=frames[:, 1],
        function=frames[:, 2],
        source=frames[:, 3],
        function_line=frames[:, 4],
        stacks=Lists.of(list(stacks.stacks)),
        stack=stack,
        forward={
            row_of[name]: row_of[of]
            for op_log in op_logs
            for name, of in op_log.forward.items()
            if name in row_of and of in row_of
        },
        live=frozenset(stacks.live),
    )
