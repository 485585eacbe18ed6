"""Reads an OpLogProto: own types, float operations and code traces of nodes, each distinct stack once."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace
from operator import attrgetter

from google.protobuf.message import DecodeError

from tfprof_widget.errors import ProfileError
from tfprof_widget.messages import CodeDef, SealedCode, SealedOpLog
from tfprof_widget.tables import ABSENT

FrameKey = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class Stacks:
    """Growing dictionaries of strings, frames and stacks.

    A string comes with the number that its op log gives it. A frame is (file, line, function, source line,
    line where the function starts), strings by index; those that a live graph tells are `live`.
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


@dataclass(frozen=True)
class OpLogColumns:
    """What an op log says of nodes, by name; `forward` are forward nodes of gradients whose names do not tell."""

    types: dict[str, list[str]] = field(default_factory=dict)
    float_ops: dict[str, int] = field(default_factory=dict)
    stack: dict[str, int] = field(default_factory=dict)
    forward: dict[str, str] = field(default_factory=dict)

    def beside(self, given: Iterable[OpLogColumns]) -> OpLogColumns:
        """What these say where the given ones do not; types add up.

        >>> known = OpLogColumns(float_ops={"a": 1, "b": 2}, stack={"a": 0})
        >>> known.beside([OpLogColumns(float_ops={"a": 9})])
        OpLogColumns(types={}, float_ops={'b': 2}, stack={'a': 0}, forward={})
        """
        float_ops, stack = dict(self.float_ops), dict(self.stack)
        for columns in given:
            for name in columns.float_ops:
                float_ops.pop(name, None)
            for name in columns.stack:
                stack.pop(name, None)
        return replace(self, float_ops=float_ops, stack=stack)


def last_entries(op_log: SealedOpLog) -> SealedOpLog:
    """The op log with the last entry of each node alone, as native tfprof takes it beside a live graph.

    Traces without frames are left out too: there they count for nothing.

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


def read_op_log(op_log: SealedOpLog, stacks: Stacks, nodes: Container[str]) -> OpLogColumns:
    """What an op log says of `nodes`; of several entries for a node the last FLOPs and the first trace count.

    >>> op_log = SealedOpLog(log_entries=[{"name": "w", "types": ["mine"], "float_ops": 8}])
    >>> read_op_log(op_log, Stacks(), {"w"})
    OpLogColumns(types={'w': ['mine']}, float_ops={'w': 8}, stack={}, forward={})
    """
    columns = OpLogColumns()
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
    """Reads the traces of one op log or profile: each distinct frame is read once, and there are few."""

    def __init__(self, strings: dict[int, int], stacks: Stacks, source: str = "op_log") -> None:
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
