"""Recordings of any size: a small real one over and over, each time in a scope of its own, with other times a step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.bench.recordings import recording
from tfprof_widget.lib.messages import GraphDef, RunMetadata

BASE_NODES = 1_000
STEP_MICROS = 60_000_000
# Each copy has a name of the same length in place of this one, so that serialized messages stay right.
_PLACEHOLDER = "copy_000000/"
_NODE_STATS = 2
_DEVICE_STATS = 1
_STEP_STATS = 1


def write(directory: Path, nodes: int, steps: int) -> None:
    """Write `graph` and `run_meta_0`, `run_meta_1`, ... of about so many nodes."""
    base = recording(BASE_NODES)
    graph, run = GraphDef.FromString(base.graph), RunMetadata.FromString(base.run_meta)
    copies = max(round(nodes / len(graph.node)), 1)
    _rename_graph(graph)
    _rename_run(run)
    (directory / "graph").write_bytes(_repeated(graph.SerializeToString(), copies))
    for step in range(steps):
        (directory / f"run_meta_{step}").write_bytes(_repeated_run(_at_step(run, step), copies))


def _rename_graph(graph: Any) -> None:
    del graph.library.function[:]
    for node in graph.node:
        node.name = _PLACEHOLDER + node.name
        node.input[:] = [_renamed(each) for each in node.input]


def _rename_run(run: Any) -> None:
    for device in run.step_stats.dev_stats:
        for stat in device.node_stats:
            name, is_told, label = stat.timeline_label.partition(" = ")
            stat.node_name = _PLACEHOLDER + stat.node_name
            if is_told:
                op, _, inputs = label.removesuffix(")").partition("(")
                renamed = ", ".join(map(_renamed, filter(None, inputs.split(", "))))
                stat.timeline_label = f"{_PLACEHOLDER}{name} = {op}({renamed})"


def _renamed(source: str) -> str:
    return f"^{_PLACEHOLDER}{source[1:]}" if source.startswith("^") else _PLACEHOLDER + source


def _at_step(run: Any, step: int) -> Any:
    """The run some time later, with times that differ a little from step to step."""
    later = RunMetadata()
    later.CopyFrom(run)
    for device in later.step_stats.dev_stats:
        for number, stat in enumerate(device.node_stats):
            slower = (step * 7 + number) % 13
            stat.all_start_micros += step * STEP_MICROS
            stat.op_end_rel_micros += slower
            if stat.all_start_nanos:
                stat.all_start_nanos += step * STEP_MICROS * 1000
                stat.op_end_rel_nanos += slower * 1000
    return later


def _repeated_run(run: Any, copies: int) -> bytes:
    devices = b""
    for device in run.step_stats.dev_stats:
        stats = b"".join(_field(_NODE_STATS, stat.SerializeToString()) for stat in device.node_stats)
        del device.node_stats[:]
        devices += _field(_DEVICE_STATS, device.SerializeToString() + _repeated(stats, copies))
    return _field(_STEP_STATS, devices)


def _repeated(serialized: bytes, copies: int) -> bytes:
    """The fields of a message, so many times; repeated ones then have all copies, one after another."""
    placeholder = _PLACEHOLDER.encode()
    return b"".join(serialized.replace(placeholder, f"copy_{copy:06}/".encode()) for copy in range(copies))


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
