"""Fills tfprof's result messages with the rows of a view, without recursion: trees may be very deep."""

from __future__ import annotations

from typing import Any

from tfprof_widget.engine.measures import Measures, measures
from tfprof_widget.engine.tree import ROOT_NAME
from tfprof_widget.engine.view import ViewData
from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.lib.messages import GraphNodeProto, MultiGraphNodeProto
from tfprof_widget.lib.text import whole
from tfprof_widget.output.cells import input_shapes, value_protos
from tfprof_widget.profiles.data import ProfileData

MULTI_FIELDS = {
    "micros": "exec_micros",
    "accelerator_micros": "accelerator_exec_micros",
    "cpu_micros": "cpu_exec_micros",
    "bytes": "requested_bytes",
    "peak_bytes": "peak_bytes",
    "residual_bytes": "residual_bytes",
    "output_bytes": "output_bytes",
    "params": "parameters",
    "float_ops": "float_ops",
}
GRAPH_FIELDS = MULTI_FIELDS | {"runs": "run_count"}


def view_proto(view: ViewData) -> GraphNodeProto | MultiGraphNodeProto:
    """The message that native tfprof returns for the view.

    >>> from tfprof_widget.demo import demo_profile
    >>> demo_profile().view("op", order_by="micros").proto().children[0].name
    'MatMul'
    """
    if view.view in ("scope", "graph"):
        return _graph_proto(view)
    return _op_proto(view) if view.view == "op" else _code_proto(view)


def _graph_proto(view: ViewData) -> GraphNodeProto:
    root = GraphNodeProto()
    rows = _rows_of_tree(view, root)
    for row, node in enumerate(view.node.tolist()):
        if node != ABSENT:
            _describe(rows[row], view.profile, node, view.options.timing)
        rows[row].total_definition_count = int(view.total["definitions"][row])
    _fill(rows, view, GRAPH_FIELDS)
    for row, value in value_protos(view):
        rows[row].tensor_value.CopyFrom(value)
    return root


def _code_proto(view: ViewData) -> MultiGraphNodeProto:
    root = MultiGraphNodeProto()
    rows = _rows_of_tree(view, root)
    _fill(rows, view, MULTI_FIELDS)
    _add_members(rows, view)
    return root


def _op_proto(view: ViewData) -> MultiGraphNodeProto:
    """The message of an op view: a chain, in which each row is the only child of the row before it."""
    root = MultiGraphNodeProto(name=ROOT_NAME)
    rows: list[Any] = []
    message = root
    for name in view.names:
        message = message.children.add(name=name)
        rows.append(message)
    for measure, field in MULTI_FIELDS.items():
        setattr(root, f"total_{field}", whole(int(view.grand_total[measure][0]), view.unit(measure)))
    _fill(rows, view, MULTI_FIELDS)
    _add_members(rows, view)
    return root


def _rows_of_tree(view: ViewData, root: Any) -> list[Any]:
    rows = [root]
    root.name = view.names[0]
    for name, parent in zip(view.names[1:], view.parent[1:].tolist(), strict=True):
        rows.append(rows[parent].children.add(name=name))
    return rows


def _fill(rows: list[Any], view: ViewData, fields: dict[str, str]) -> None:
    for measure, field in fields.items():
        unit = view.unit(measure)
        for prefix, columns in (("", view.own), ("total_", view.total)):
            for message, value in zip(rows, columns[measure].tolist(), strict=True):
                if value:
                    setattr(message, prefix + field, whole(value, unit) if unit > 1 else value)


def _add_members(rows: list[Any], view: ViewData) -> None:
    costs = measures(view.profile, view.options)
    for row, message in enumerate(rows):
        for node in view.members_of(row).tolist():
            _fill_member(message.graph_nodes.add(), view, node, costs)


def _fill_member(message: Any, view: ViewData, node: int, costs: Measures) -> None:
    message.name = view.profile.nodes.names[node]
    message.total_definition_count = 1
    _describe(message, view.profile, node, view.options.timing)
    for measure, field in GRAPH_FIELDS.items():
        value = int(costs.columns[measure][node])
        if value:
            rounded = whole(value, costs.unit(measure))
            setattr(message, field, rounded)
            setattr(message, f"total_{field}", rounded)


def _describe(message: Any, profile: ProfileData, node: int, timing: str) -> None:
    """Fill in the device of a graph node and the shapes of its inputs."""
    device = int(profile.nodes.device[node])
    if device != ABSENT:
        message.devices.append(profile.nodes.devices[device])
    for index, shape in enumerate(input_shapes(profile, node, timing)):
        entry = message.input_shapes[index]
        if shape:
            for size in shape:
                entry.dim.add(size=size)
        else:
            entry.unknown_rank = True
