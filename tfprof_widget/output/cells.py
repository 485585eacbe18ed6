"""Finds what a row shows beside numbers: the devices, types, shapes and values of its nodes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from tfprof_widget.engine.measures import measures
from tfprof_widget.engine.tree import ROOT_NAME
from tfprof_widget.engine.view import ViewData
from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.lib.errors import ProfileWarning
from tfprof_widget.profiles.data import ProfileData

if TYPE_CHECKING:
    from tfprof_widget.lib.messages import DataType, TFProfTensorProto
    from tfprof_widget.profiles.tables import Checkpoint


def input_shapes(profile: ProfileData, node: int, timing: str) -> list[tuple[int, ...]]:
    """The shape of each input of a node, in the order of the inputs; an empty tuple where it is not known.

    Native tfprof assumes that every input is the first output of its source. With `timing="tfprof"` we assume so too.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> input_shapes(profile, profile.nodes.names.index("layer1/MatMul"), "exact")
    [(64, 784), (784, 128)]
    """
    nodes = profile.nodes
    start = int(nodes.inputs.start[node])
    found: list[tuple[int, ...]] = []
    for position, source in enumerate(nodes.inputs[node].tolist(), start):
        outputs = nodes.output_shapes[source] if source != ABSENT else ()
        # Native tfprof takes control inputs for first outputs, and so do we.
        port = 0 if timing == "tfprof" else max(int(nodes.input_ports[position]), 0)
        found.append(nodes.shapes[outputs[port]] if port < len(outputs) else ())
    return found


def joined(shape: tuple[int, ...], unknown: str = "unknown") -> str:
    """A shape as tfprof prints it.

    >>> joined((3, 3, 16)), joined(())
    ('3x3x16', 'unknown')
    """
    return "x".join(map(str, shape)) or unknown


def device_name(profile: ProfileData, node: int) -> str:
    """The node's own device, empty if it has none."""
    device = int(profile.nodes.device[node])
    return profile.nodes.devices[device] if device != ABSENT else ""


def devices(profile: ProfileData, members: Iterable[int]) -> list[str]:
    """The distinct devices of some nodes, sorted; a node without a device adds an empty name, as in native tfprof."""
    return sorted({device_name(profile, node) for node in members})


def type_names(profile: ProfileData, members: Iterable[int]) -> list[str]:
    """The distinct types of some nodes, sorted."""
    types = profile.nodes.types
    codes = {code for node in members for code in types[node].tolist()}
    return [profile.nodes.type_names[code] for code in sorted(codes)]


@dataclass(frozen=True)
class ShapeCount:
    """The nodes of a row whose inputs have the same shapes: how many nodes, how often they ran, and for how long."""

    shapes: tuple[tuple[int, ...], ...]
    defined: int
    runs: int
    micros: int


def shapes_by_count(view: ViewData, row: int) -> list[ShapeCount]:
    """The combinations of input shapes among the nodes of a row, the one that ran most often first."""
    costs = measures(view.profile, view.options)
    runs, micros = costs.columns["runs"], costs.columns["micros"]
    found: dict[tuple[tuple[int, ...], ...], list[int]] = {}
    for node in view.members_of(row).tolist():
        found.setdefault(tuple(input_shapes(view.profile, node, view.options.timing)), []).append(node)
    counts = [
        ShapeCount(shapes, len(nodes), sum(runs[nodes].tolist()), sum(micros[nodes].tolist()))
        for shapes, nodes in found.items()
    ]
    return sorted(counts, key=lambda count: (-count.runs, native_shapes(count.shapes)))


def native_shapes(shapes: Iterable[tuple[int, ...]]) -> str:
    """The shapes of all inputs, as native's op view prints and sorts them."""
    return ",\t".join(f"{index}:{joined(shape)}" for index, shape in enumerate(shapes))


# At most so many characters of a value are printed, as in native tfprof.
MOST_CHARACTERS = 10_000
# At most so many elements of a value go into a message; native tfprof puts in all of them.
MOST_ELEMENTS = 1_000_000

# The message's field for the values of each type, by the type's number in DataType; other types have no values. Native
# tfprof knows only float, double, int32, int64 and string.
_FIELDS = {
    **dict.fromkeys((1, 2, 14, 19), "value_double"),  # float, double, bfloat16, half
    **dict.fromkeys((3, 5, 6, 9), "value_int64"),  # int32, int16, int8, int64
    **dict.fromkeys((4, 10, 17, 22), "value_int64"),  # uint8, bool, uint16, uint32
    7: "value_str",
}


def value_texts(view: ViewData, count: int) -> Iterator[tuple[int, str]]:
    """The text to print below a row, for each of the first `count` rows that has a value."""
    return ((row, value_text(checkpoint, name)) for row, checkpoint, name in _shown(view) if row < count)


def value_protos(view: ViewData) -> Iterator[tuple[int, TFProfTensorProto]]:
    """The message of a row's value, for each row that has one."""
    return ((row, value_proto(checkpoint, name)) for row, checkpoint, name in _shown(view))


def _shown(view: ViewData) -> Iterator[tuple[int, Checkpoint, str]]:
    """The rows of scope and graph view that name a variable of the checkpoint, if `select` asks for values."""
    checkpoint = view.profile.checkpoint
    if checkpoint is None or view.view not in ("scope", "graph") or "tensor_value" not in view.options.select:
        return
    for row, name in enumerate(view.names):
        if name in checkpoint.shapes and name != ROOT_NAME:
            yield row, checkpoint, name


def value_text(checkpoint: Checkpoint, name: str) -> str:
    """The value of a variable as native tfprof prints it: in nested brackets, cut after MOST_CHARACTERS.

    >>> import numpy as np
    >>> from tfprof_widget.profiles.tables import Checkpoint
    >>> kernel = np.array([[1, 2], [3, 4.5]])
    >>> print(value_text(Checkpoint("model.ckpt", {"w": (2, 2)}, {"w": 1}, {"w": kernel}.__getitem__), "w"), end="")
    [[1.00 2.00 ],
    [3.00 4.50 ],
    ],
    """
    field = _FIELDS.get(checkpoint.types[name])
    if field is None:
        return ""
    value = checkpoint.value(name)
    elements = _elements(value.flat, field)
    pieces: list[str] = []
    length = 0
    for piece in _pieces(value.shape, elements, _WRITTEN[field]):
        pieces.append(piece)
        length += len(piece)
        if length > MOST_CHARACTERS:
            break
    text = f"{''.join(pieces)[:MOST_CHARACTERS]}],\n"
    return f"{text}...omitted from display\n\n" if len(text) >= MOST_CHARACTERS else text


def value_proto(checkpoint: Checkpoint, name: str) -> TFProfTensorProto:
    """The value of a variable as a message: its type and elements; floats keep six digits, as in native tfprof."""
    from tfprof_widget.lib.messages import TFProfTensorProto

    message = TFProfTensorProto(dtype=cast("DataType", checkpoint.types[name]))
    field = _FIELDS.get(checkpoint.types[name])
    if field is None:
        return message
    elements = math.prod(checkpoint.shapes[name])
    if elements > MOST_ELEMENTS:
        warnings.warn(
            f"tensor_value: {name!r} has {elements:,} elements, of which the message holds the first "
            f"{MOST_ELEMENTS:,}; for all of them, use profile.checkpoint.value({name!r})",
            ProfileWarning,
            stacklevel=2,
        )
    getattr(message, field).extend(_elements(islice(checkpoint.value(name).flat, MOST_ELEMENTS), field))
    return message


def _elements(values: Iterable[Any], field: str) -> Iterator[Any]:
    match field:
        case "value_double":
            return (float(f"{float(value):g}") for value in values)
        case "value_int64":
            return map(int, values)
    return (value.decode(errors="replace") if isinstance(value, bytes) else str(value) for value in values)


_WRITTEN = {"value_double": "{:.2f} ", "value_int64": "{} ", "value_str": "'{}' "}


def _pieces(shape: tuple[int, ...], elements: Iterator[Any], written: str) -> Iterator[str]:
    """The text in pieces, without the end of the outermost bracket."""
    yield "["
    if len(shape) > 1:
        for _ in range(shape[0]):
            yield from _pieces(shape[1:], elements, written)
            yield "],\n"
    else:
        for element in islice(elements, math.prod(shape)):
            yield written.format(element)
