"""What one row says of its graph nodes beyond numbers: devices, types and the shapes taken in."""

from __future__ import annotations

from collections.abc import Iterable

from tfprof_widget.engine.measures import measures
from tfprof_widget.engine.view import View
from tfprof_widget.output import numbers
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


def shapes_by_count(view: View, row: int) -> str:
    """The combinations of input shapes among the nodes of a row, those that ran most often first."""
    costs = measures(view.profile, view.options)
    runs, micros = costs.columns["runs"], costs.columns["micros"]
    found: dict[str, list[int]] = {}
    for node in view.members_of(row).tolist():
        shapes = enumerate(input_shapes(view.profile, node, view.options.timing))
        key = "input_type: " + ",\t".join(f"{index}:{joined(shape)}" for index, shape in shapes)
        entry = found.setdefault(key, [0, 0, 0])
        entry[0] += 1
        entry[1] += int(runs[node])
        entry[2] += int(micros[node])
    ordered = sorted(sorted(found.items()), key=lambda item: -item[1][1])
    return "\n".join(
        f"{key}\t(run*{numbers.count_exactly(ran, costs.scale)}|defined*{defined})"
        f"\texec_time: {numbers.time(spent, costs.time_scale)}"
        for key, (defined, ran, spent) in ordered
    )
