"""Reads what runs tell of kernels: labels `name = Kernel(inputs)` in a RunMetadata, shapes of inputs in an XSpace."""

from __future__ import annotations

import re
from collections.abc import Container

from tfprof_widget.messages import SealedRun
from tfprof_widget.tables import Kernel

_LABEL = re.compile(r" = (\w+)\(")
_SHAPE = re.compile(r"\w+\[(\d{0,18}(?:,\d{0,18})*)\]")
_RUNTIMES_OWN = " = _"


def read_kernels(run: SealedRun, graph: Container[str]) -> dict[str, Kernel]:
    """The kernels of nodes that the graph lacks, and those of other nodes that are the runtime's own types.

    >>> run = SealedRun()
    >>> stats = run.step_stats.dev_stats.add().node_stats
    >>> _ = stats.add(node_name="relu", timeline_label="relu = _FusedMatMul(x, w:1, ^y)")
    >>> _ = stats.add(node_name="w", timeline_label="w = VariableV2()")
    >>> read_kernels(run, {"relu", "w"}) == {"relu": Kernel("_FusedMatMul", inputs=("x", "w:1"))}
    True
    """
    found: dict[str, Kernel] = {}
    for device in run.step_stats.dev_stats:
        for stat in device.node_stats:
            label = stat.timeline_label
            name = stat.node_name.partition(":")[0]
            if name in found or (_RUNTIMES_OWN not in label and name in graph):
                continue
            match = _LABEL.search(label)
            if match is not None and ")" in label[match.end() :]:
                written = label[match.end() : label.rindex(")")]
                inputs = tuple([each for each in written.split(", ") if each and not each.startswith("^")])
                found[name] = Kernel(match[1], inputs)
    return found


def read_input_shapes(told: str) -> tuple[tuple[int, ...] | None, ...]:
    """The shapes in `(float[2,3];int32[])`, a scalar's being `(1,)`; None for what is no plain tensor.

    >>> read_input_shapes("(float[2,3];int32[];)"), read_input_shapes("()")
    (((2, 3), (1,), None), ())
    """
    inside = told.removeprefix("(").removesuffix(")")
    return tuple(map(_input_shape, inside.split(";"))) if inside else ()


def _input_shape(written: str) -> tuple[int, ...] | None:
    match = _SHAPE.fullmatch(written)
    return None if match is None else tuple(map(int, filter(None, match[1].split(",")))) or (1,)
