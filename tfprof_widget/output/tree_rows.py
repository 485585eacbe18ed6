"""The lines of scope, graph and code view: the name, indented, then own and total values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfprof_widget.engine.measures import MEASURES, TIMES
from tfprof_widget.engine.scope import SCOPE_TYPE
from tfprof_widget.engine.view import View
from tfprof_widget.errors import ProfileError
from tfprof_widget.output import cells, numbers
from tfprof_widget.output.shapes import input_shapes, joined
from tfprof_widget.output.tensor_values import value_texts
from tfprof_widget.tables import ABSENT
from tfprof_widget.visible import visible

GRAPH_ROOT_TYPE = "_TFGraphParent"
LARGEST_INDENTATION = 2**30

Cell = Callable[[int], list[str]]


def tree_lines(view: View, columns: Sequence[str], count: int) -> list[str]:
    """The first `count` rows of a tree view."""
    indentation = 2 * int(view.depth[:count].sum())
    if indentation > LARGEST_INDENTATION:
        raise ProfileError(
            f"{view.view} view: its rows are nested {view.depth.max():,} deep, and would take {indentation:,} spaces "
            "to indent; lower max_depth, or use .to_dataframe() or .proto()"
        )
    rows = [_cell(view, column) for column in columns]
    found = [
        f"{'  ' * depth}{visible(view.names[row])} ({', '.join(piece for cell in rows for piece in cell(row))})\n"
        for row, depth in enumerate(view.depth[:count].tolist())
    ]
    for row, value in value_texts(view, count):
        found[row] += value
    return found


def _cell(view: View, column: str) -> Cell:
    """From a row to the pieces that a column prints of it; some print none, "micros" three."""
    if column == "micros":
        times = [_values(view, measure) for measure in TIMES]
        return lambda row: [piece for cell in times for piece in cell(row)]
    if column in MEASURES:
        return _parameters(view) if column == "params" else _values(view, column)
    in_code = view.view == "code"
    if column in ("occurrence", "input_shapes"):
        if in_code:
            return lambda row: [f"{column} N/A in code view"]
        return _occurrence(view) if column == "occurrence" else _input_shapes(view)
    if column == "device":
        return _code_devices(view) if in_code else _device(view)
    if column == "op_types":
        return _code_types(view) if in_code else _types(view)
    hidden = view.total["hidden"]
    return lambda row: [f"{hidden[row]} hidden ops"] if hidden[row] else []


def _values(view: View, measure: str) -> Cell:
    unit = view.unit(measure)
    suffix = {"float_ops": " flops", "params": " params"}.get(measure, "")
    written: Callable[[int, int], str] = numbers.time if measure in TIMES else numbers.memory
    if suffix:
        written = numbers.count
    own, total = view.own[measure].tolist(), view.total[measure].tolist()
    counted = view.accounted.tolist()
    return lambda row: [f"{written(own[row], unit) if counted[row] else '--'}/{written(total[row], unit)}{suffix}"]


def _parameters(view: View) -> Cell:
    values, nodes = _values(view, "params"), view.profile.nodes
    if view.view == "code":
        return values

    def cell(row: int) -> list[str]:
        node = int(view.node[row])
        shape = int(nodes.shape[node]) if node != ABSENT else ABSENT
        known = joined(nodes.shapes[shape], "") if shape != ABSENT else ""
        return [known, *values(row)] if known else values(row)

    return cell


def _occurrence(view: View) -> Cell:
    own, total = view.own["runs"].tolist(), view.total["runs"].tolist()

    def cell(row: int) -> list[str]:
        counted = bool(view.accounted[row])
        ran = numbers.count(own[row], view.scale) if counted else "--"
        defined = "1" if counted else "--"
        all_ran, all_defined = (
            numbers.count(total[row], view.scale),
            numbers.count(int(view.total["definitions"][row])),
        )
        return [f"{ran}/{all_ran}|{defined}/{all_defined}"]

    return cell


def _device(view: View) -> Cell:
    def cell(row: int) -> list[str]:
        node = int(view.node[row])
        name = cells.device_name(view.profile, node) if node != ABSENT else ""
        return [visible(name)] if name else []

    return cell


def _types(view: View) -> Cell:
    made_up = SCOPE_TYPE if view.view == "scope" else GRAPH_ROOT_TYPE

    def cell(row: int) -> list[str]:
        node = int(view.node[row])
        return [visible("|".join(cells.type_names(view.profile, [node]))) if node != ABSENT else made_up]

    return cell


def _input_shapes(view: View) -> Cell:
    def cell(row: int) -> list[str]:
        node = int(view.node[row])
        shapes = input_shapes(view.profile, node, view.options.timing) if node != ABSENT else []
        return ["|".join(f"{index}:{joined(shape)}" for index, shape in enumerate(shapes))]

    return cell


def _code_devices(view: View) -> Cell:
    def cell(row: int) -> list[str]:
        found = cells.devices(view.profile, view.members_of(row).tolist())
        return [visible("|".join(found))] if found else []

    return cell


def _code_types(view: View) -> Cell:
    return lambda row: [visible("|".join(cells.type_names(view.profile, view.members_of(row).tolist())))]
