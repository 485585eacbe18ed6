"""Reads an OpLogProto: own types, float operations and code traces of nodes, each distinct stack once."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from google.protobuf.message import DecodeError

from tfprof_widget.errors import ProfileError
from tfprof_widget.messages import CodeDef, SealedOpLog
from tfprof_widget.tables import ABSENT

FrameKey = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class Stacks:
    """Growing dictionaries of strings, frames and stacks.

    A string comes with the number that its op log gives it. A frame is (file, line, function, source line,
    line where the function starts), strings by index.
    """

    strings: dict[tuple[int, str], int] = field(default_factory=dict)
    frames: dict[FrameKey, int] = field(default_factory=dict)
    stacks: dict[tuple[int, ...], int] = field(default_factory=dict)

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
    """What an op log says of nodes, by name."""

    types: dict[str, list[str]] = field(default_factory=dict)
    float_ops: dict[str, int] = field(default_factory=dict)
    stack: dict[str, int] = field(default_factory=dict)


def read_op_log(op_log: SealedOpLog, stacks: Stacks, nodes: Container[str]) -> OpLogColumns:
    """What an op log says of `nodes`; of several entries for a node the last FLOPs and the first trace count.

    >>> op_log = SealedOpLog(log_entries=[{"name": "w", "types": ["mine"], "float_ops": 8}])
    >>> read_op_log(op_log, Stacks(), {"w"})
    OpLogColumns(types={'w': ['mine']}, float_ops={'w': 8}, stack={})
    """
    columns = OpLogColumns()
    strings = {number: stacks.string(number, text) for number, text in sorted(op_log.id_to_string.items())}
    known: dict[bytes, int] = {}
    for entry in op_log.log_entries:
        name = entry.name
        if name not in nodes:
            continue
        types = entry.types[:]
        if types:
            columns.types.setdefault(name, []).extend(types)
        float_ops = entry.float_ops
        if float_ops:
            columns.float_ops[name] = float_ops
        code = entry.code_def
        if name not in columns.stack and (code or entry.HasField("code_def")):
            if code not in known:
                known[code] = _read_stack(code, strings, stacks, name)
            columns.stack[name] = known[code]
    return columns


def _read_stack(sealed: bytes, strings: dict[int, int], stacks: Stacks, name: str) -> int:
    try:
        code = CodeDef.FromString(sealed)
    except DecodeError as error:
        raise ProfileError(
            f"op_log: the trace of {name!r} cannot be read ({error}); check that the file is whole"
        ) from None
    try:
        return stacks.stack(
            tuple(
                stacks.frame(
                    (
                        strings[trace.file_id],
                        trace.lineno,
                        strings[trace.function_id],
                        strings.get(trace.line_id, ABSENT),
                        trace.func_start_line,
                    )
                )
                for trace in code.traces
            )
        )
    except KeyError as missing:
        raise ProfileError(
            f"op_log: the trace of {name!r} names string {missing}, which id_to_string lacks; "
            "write the op log again with write_op_log"
        ) from None
