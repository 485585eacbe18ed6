"""Graphs and runs written as text, and views drawn as text, so that tests show what they are about."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any, NamedTuple

from tfprof_widget.api.profile import Profile
from tfprof_widget.api.view import View
from tfprof_widget.engine.measures import TIMES
from tfprof_widget.engine.tree import Tree
from tfprof_widget.lib.messages import GraphDef, OpLogProto, RunMetadata

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"

_LINE = re.compile(r"(?P<name>\S+) += (?P<op>[^\s(]+)\((?P<inputs>[^)]*)\)(?P<rest>[^|]*)(\|(?P<stack>.*))?")
_RUNS = re.compile(r"(-|\d+(us|ns))([+;](-|\d+(us|ns)))*")
_SHAPE = re.compile(r"\[\]|(\?|\d+)(x(\?|\d+))*")


class Protos(NamedTuple):
    """What a profile is made from; a run metadata a step."""

    graph: GraphDef
    run_metas: list[RunMetadata]
    op_log: OpLogProto


@dataclass
class Sketched:
    """One line of a sketch."""

    name: str
    op: str
    inputs: list[str]
    runs: list[list[str]] = field(default_factory=list)
    shape: list[int] | None = None
    float_ops: int = 0
    requested: int = 0
    device: str = CPU
    types: list[str] = field(default_factory=list)
    stack: list[str] = field(default_factory=list)


def protos_of(sketch: str) -> Protos:
    """The protos of a sketch: a node a line, as `c = Add(a, b) 5us`, and then what is known of it.

    `4us+300ns;-;6us` are two executions in step 0, none in step 1, one in step 2; `3x?x16` is the shape
    attribute and `[]` a scalar's; `8flops` and `+mine` come from the op log; `64B` is requested by each
    execution; `@/gpu:0` is the device; `| a.py:1:main > b.py:7:layer` is the stack, outermost first.
    """
    lines = [_read(line) for line in dedent(sketch).strip().splitlines()]
    steps = max((len(line.runs) for line in lines), default=0)
    return Protos(_graph(lines), [_run_meta(lines, step) for step in range(steps)], _op_log(lines))


def profile_of(sketch: str) -> Profile:
    """The profile of a sketch."""
    return Profile.from_protos(*protos_of(sketch))


def shaped(sketch: str, dtype: Any = 1, **shapes: Any) -> Profile:
    """The profile of a sketch whose nodes compute in a type, by its number, and put out tensors of these shapes."""
    protos = protos_of(sketch)
    for node in protos.graph.node:
        node.attr["T"].type = dtype
        if node.name in shapes:
            shape = node.attr["_output_shapes"].list.shape.add()
            for size in shapes[node.name]:
                shape.dim.add(size=size)
    return Profile.from_protos(*protos)


def drawn(view: View, *measures: str) -> str:
    """The rows of a view, indented, each with own and total of the measures (times in microseconds)."""
    lines = []
    for row, depth in enumerate(view.depth.tolist()):
        values = [f"{_amount(view, name, row, own=True)}/{_amount(view, name, row, own=False)}" for name in measures]
        lines.append("  " * depth + " ".join([view.names[row], *values]))
    return "\n".join(lines)


def drawn_tree(tree: Tree) -> str:
    """The names of a tree, indented."""
    depths: list[int] = []
    for parent in tree.parent.tolist():
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
    return "\n".join("  " * depth + name for depth, name in zip(depths, tree.names, strict=True))


def drawing(text: str) -> str:
    """An expected drawing, as it stands indented in a test."""
    return dedent(text).strip()


def _amount(view: View, measure: str, row: int, *, own: bool) -> str:
    value = int((view.own if own else view.total)[measure][row])
    unit = view.time_scale if measure in TIMES else view.scale
    return str(value // unit) if value % unit == 0 else str(value / unit)


def _read(line: str) -> Sketched:
    match = _LINE.fullmatch(line.strip())
    if match is None:
        raise ValueError(f"{line!r} is no line of a sketch, as `c = Add(a, b) 5us`")
    read = Sketched(match["name"], match["op"], [each for each in re.split(r",\s*", match["inputs"]) if each])
    read.stack = [each.strip() for each in (match["stack"] or "").split(" > ") if each.strip()]
    for word in match["rest"].split():
        if _RUNS.fullmatch(word):
            read.runs = [[each for each in step.split("+") if each != "-"] for step in word.split(";")]
        elif _SHAPE.fullmatch(word):
            read.shape = [int(size) if size != "?" else -1 for size in word.split("x") if size != "[]"]
        elif word.endswith("flops"):
            read.float_ops = int(word.removesuffix("flops"))
        elif word.startswith("+"):
            read.types.append(word[1:])
        elif word.startswith("@"):
            read.device = word[1:]
        elif word.endswith("B"):
            read.requested = int(word[:-1])
        else:
            raise ValueError(f"{line!r}: what is {word!r}?")
    return read


def _graph(lines: list[Sketched]) -> GraphDef:
    graph = GraphDef()
    for line in lines:
        node = graph.node.add(name=line.name, op=line.op, input=line.inputs)
        if line.shape is not None:
            node.attr["shape"].shape.SetInParent()
            for size in line.shape:
                node.attr["shape"].shape.dim.add(size=size)
    return graph


def _run_meta(lines: list[Sketched], step: int) -> RunMetadata:
    run_meta = RunMetadata()
    run_meta.step_stats.SetInParent()
    devices: dict[str, list[tuple[Sketched, str]]] = {}
    for line in lines:
        for run in line.runs[step] if step < len(line.runs) else []:
            devices.setdefault(line.device, []).append((line, run))
    start = 1000 * step + 1
    for device, runs in devices.items():
        recorded = run_meta.step_stats.dev_stats.add(device=device)
        for line, run in runs:
            count, unit = int(run[:-2]), run[-2:]
            stats = recorded.node_stats.add(node_name=line.name, all_start_micros=start)
            stats.op_end_rel_micros = count if unit == "us" else count // 1000
            stats.op_end_rel_nanos = count * 1000 if unit == "us" else count
            if line.requested:
                stats.memory.add(allocator_name="cpu", total_bytes=line.requested)
            start += 1
    return run_meta


def _op_log(lines: list[Sketched]) -> OpLogProto:
    op_log = OpLogProto()
    strings: dict[str, int] = {}
    for line in lines:
        if not (line.types or line.float_ops or line.stack):
            continue
        entry = op_log.log_entries.add(name=line.name, types=line.types, float_ops=line.float_ops)
        for frame in line.stack:
            file, number, function = frame.split(":")
            file_id, function_id = (strings.setdefault(text, len(strings) + 1) for text in (file, function))
            entry.code_def.traces.add(file_id=file_id, lineno=int(number), function_id=function_id)
    for text, index in strings.items():
        op_log.id_to_string[index] = text
    return op_log
