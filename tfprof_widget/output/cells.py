"""What one row says of its graph nodes beyond numbers: devices, types and the shapes taken in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tfprof_widget.engine.measures import measures
from tfprof_widget.engine.view import View
from tfprof_widget.output.shapes import input_shapes, joined
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import ABSENT


def device_name(profile: Profile, node: int) -> str:
    """The node's own device, empty if it has none."""
    device = int(profile.nodes.device[node])
    return profile.nodes.devices[device] if device != ABSENT else ""


def devices(profile: Profile, members: Iterable[int]) -> list[str]:
    """The distinct devices of some nodes in byte order; a node without one adds an empty name, as natively."""
    return sorted({device_name(profile, node) for node in members})


def type_names(profile: Profile, members: Iterable[int]) -> list[str]:
    """The distinct types of some nodes in byte order."""
    types = profile.nodes.types
    codes = {code for node in members for code in types[node].tolist()}
    return [profile.nodes.type_names[code] for code in sorted(codes)]


@dataclass(frozen=True)
class ShapeCount:
    """The nodes of a row that take in the same shapes: how many there are, how often they ran and how long."""

    shapes: tuple[tuple[int, ...], ...]
    defined: int
    runs: int
    micros: int


def shapes_by_count(view: View, row: int) -> list[ShapeCount]:
    """The combinations of input shapes among the nodes of a row, those that ran most often first."""
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
    """The shapes of all inputs as the op view prints them, and sorts them by."""
    return ",\t".join(f"{index}:{joined(shape)}" for index, shape in enumerate(shapes))
