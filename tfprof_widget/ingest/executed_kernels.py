"""Reads what runs tell of kernels: labels `name = Kernel(inputs)` in a RunMetadata, shapes of inputs in an XSpace."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, field

from tfprof_widget.messages import SealedRun
from tfprof_widget.tables import Kernel

_LABEL = re.compile(r" = (\w+)\(")
_SHAPE = re.compile(r"\w+\[(\d{0,18}(?:,\d{0,18})*)\]")
_RUNTIMES_OWN = " = _"


@dataclass(frozen=True)
class KernelLabels:
    """The labels that tell the kernels of nodes, whatever the graph is: the first of each node that tells one.

    In `replacing` they are of the runtime's own kernels, for these only replace what the graph says of its nodes.

    >>> run = SealedRun()
    >>> stats = run.step_stats.dev_stats.add().node_stats
    >>> _ = stats.add(node_name="relu", timeline_label="relu = _FusedMatMul(x, w:1, ^y)")
    >>> _ = stats.add(node_name="w", timeline_label="w = VariableV2()")
    >>> labels = KernelLabels()
    >>> labels.read(run)
    >>> labels.kernels({"relu", "w"}) == {"relu": Kernel("_FusedMatMul", inputs=("x", "w:1"))}
    True
    """

    any: dict[str, str] = field(default_factory=dict)
    replacing: dict[str, str] = field(default_factory=dict)

    def read(self, run: SealedRun, graph: Container[str] = ()) -> None:
        """Take the labels of a run; what is not needed for the nodes of `graph` is left out."""
        for device in run.step_stats.dev_stats:
            for stat in device.node_stats:
                label = stat.timeline_label
                name = stat.node_name.partition(":")[0]
                is_new = name not in self.any and name not in graph
                is_replacing = _RUNTIMES_OWN in label and name not in self.replacing
                if (is_new or is_replacing) and _kernel(label) is not None:
                    if is_new:
                        self.any[name] = label
                    if is_replacing:
                        self.replacing[name] = label

    def add(self, later: KernelLabels) -> None:
        """Take the labels that are new in those of later runs."""
        for ours, theirs in ((self.any, later.any), (self.replacing, later.replacing)):
            for name, label in theirs.items():
                ours.setdefault(name, label)

    def kernels(self, graph: Container[str]) -> dict[str, Kernel]:
        """The kernels of nodes that the graph lacks, and those of its nodes that are the runtime's own types."""
        chosen = {name: label for name, label in self.any.items() if name not in graph}
        chosen |= {name: label for name, label in self.replacing.items() if name in graph}
        return {name: kernel for name, label in chosen.items() if (kernel := _kernel(label)) is not None}


def _kernel(label: str) -> Kernel | None:
    match = _LABEL.search(label)
    if match is None or ")" not in label[match.end() :]:
        return None
    written = label[match.end() : label.rindex(")")]
    return Kernel(match[1], tuple([each for each in written.split(", ") if each and not each.startswith("^")]))


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
