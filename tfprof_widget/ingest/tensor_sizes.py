"""Tells how many bytes the first output of a node has, where the graph knows its shape and its type."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from tfprof_widget.ingest.graph_def import GraphColumns
from tfprof_widget.messages import AttrValue, SealedAttribute, SealedGraph

# The widths of TensorFlow's types by their numbers; of a string or a resource there is none.
_WIDTHS: Mapping[int, int] = {
    **dict.fromkeys((4, 6, 10, 11, 12), 1),  # uint8, int8, bool, qint8, quint8
    **dict.fromkeys((5, 14, 17, 19), 2),  # int16, bfloat16, uint16, half
    **dict.fromkeys((1, 3, 13, 22), 4),  # float, int32, qint32, uint32
    **dict.fromkeys((2, 8, 9, 23), 8),  # double, complex64, int64, uint64
    18: 16,  # complex128
}
_TYPE = ("T", "dtype", "Tout", "DstT", "out_type")


def tensor_sizes(
    names: Iterable[str], columns: GraphColumns, shapes: Sequence[tuple[int, ...]], graph: SealedGraph
) -> dict[str, int]:
    """The bytes of the nodes of these names, as far as they are known.

    >>> tensor_sizes(["lost"], GraphColumns(), [], SealedGraph())
    {}
    """
    wanted = frozenset(names)
    widths = {node.name: _width(node.attr) for node in graph.node if node.name in wanted}
    found = {}
    for name, outputs in zip(columns.names, columns.output_shapes, strict=True):
        shape = shapes[outputs[0]] if name in wanted and outputs and outputs[0] >= 0 else ()
        if shape and min(shape) >= 0 and widths.get(name):
            found[name] = math.prod(shape) * widths[name]
    return found


def _width(attributes: Iterable[bytes]) -> int:
    """The bytes of one element, 0 where that is not known."""
    types = {}
    for sealed in attributes:
        entry = SealedAttribute.FromString(sealed)
        if entry.key in _TYPE:
            types[entry.key] = AttrValue.FromString(entry.value).type
    return next((_WIDTHS.get(types[key], 0) for key in _TYPE if key in types), 0)
