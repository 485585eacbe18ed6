"""Writes the lines of a printed view."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfprof_widget.engine.measures import BYTES, MEASURES, TIMES, measures
from tfprof_widget.engine.scope import SCOPE_TYPE
from tfprof_widget.engine.tree import ROOT_NAME
from tfprof_widget.engine.view import ViewData
from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.text import visible, written_bytes, written_count, written_exactly, written_time
from tfprof_widget.output.cells import (
    ShapeCount,
    device_name,
    devices,
    input_shapes,
    joined,
    native_shapes,
    shapes_by_count,
    type_names,
    value_texts,
)

NAME_WIDTH, VALUE_WIDTH, COUNT_WIDTH = 25, 30, 10


def op_lines(view: ViewData, columns: Sequence[str], count: int) -> list[str]:
    """The first `count` rows of an op view; for a profile without nodes the root's row, as in native tfprof."""
    if not len(view.profile.nodes):
        return [_line(ROOT_NAME, [piece for column in columns for piece in _empty(column)])]
    return [_row(view, columns, row) for row in range(count)]


def _row(view: ViewData, columns: Sequence[str], row: int) -> str:
    line = _line(visible(view.names[row]), [piece for column in columns for piece in _pieces(view, column, row)])
    if "input_shapes" in columns:
        shapes = [_shape_line(view, count) for count in shapes_by_count(view, row)]
        if shapes:
            return "\n".join([line, *shapes, "", ""])
    return line


def _shape_line(view: ViewData, count: ShapeCount) -> str:
    runs = written_exactly(count.runs, view.scale)
    micros = written_time(count.micros, view.time_scale)
    return f"input_type: {native_shapes(count.shapes)}\t(run*{runs}|defined*{count.defined})\texec_time: {micros}"


def _line(name: str, pieces: list[str]) -> str:
    padding = " " * (NAME_WIDTH - len(name.encode()))  # native pads by bytes
    return f"{name}{padding}{', '.join(pieces)}\n"


def _pieces(view: ViewData, column: str, row: int) -> list[str]:
    if column in MEASURES:
        chosen = TIMES if column == "micros" else (column,)
        return [_value(view, measure, row) for measure in chosen]
    members = view.members_of(row).tolist()
    match column:
        case "device":
            return [visible("|".join(devices(view.profile, members)))]
        case "op_types":
            return [visible("|".join(type_names(view.profile, members)))]
        case "occurrence":
            costs = measures(view.profile, view.options)
            runs = sum(costs.columns["runs"][members].tolist())
            return [f"{written_exactly(runs, costs.scale)}|{len(members)}".rjust(COUNT_WIDTH)]
    return []


def _value(view: ViewData, measure: str, row: int) -> str:
    own, total = int(view.own[measure][row]), int(view.total[measure][row])
    grand = int(view.grand_total[measure][0])
    if measure in TIMES:
        return _with_shares(written_time(own, view.time_scale), total > 0, own, total, grand)
    if measure in ("params", "float_ops"):
        return _with_shares(f"{written_count(own, view.scale)} {measure}", total > 0, own, total, grand)
    return _with_shares(written_bytes(own, view.scale), own > 0, own, total, grand)


def _with_shares(written: str, has_share: bool, own: int, total: int, grand: int) -> str:
    cumulative = 100.0 * total / grand if has_share and grand else 0.0
    share = 100.0 * own / grand if has_share and grand else 0.0
    return f"{written} ({cumulative:.2f}%, {share:.2f}%)".rjust(VALUE_WIDTH)


def _empty(column: str) -> list[str]:
    """What a column prints in the root's row of a profile without nodes."""
    match column:
        case "micros":
            return [_with_shares("0us", False, 0, 0, 0)] * len(TIMES)
        case "accelerator_micros" | "cpu_micros":
            return [_with_shares("0us", False, 0, 0, 0)]
        case "params" | "float_ops":
            return [_with_shares(f"0 {column}", False, 0, 0, 0)]
        case "device" | "op_types":
            return [""]
        case "occurrence":
            return ["0|0".rjust(COUNT_WIDTH)]
        case "input_shapes" | "num_hidden_ops":
            return []
    return [_with_shares("0B", False, 0, 0, 0)]


GRAPH_ROOT_TYPE = "_TFGraphParent"
LARGEST_INDENTATION = 2**30

Cell = Callable[[int], list[str]]


def tree_lines(view: ViewData, columns: Sequence[str], count: int) -> list[str]:
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


def _cell(view: ViewData, column: str) -> Cell:
    """A function from a row to the pieces that a column prints: one, for some rows none, for "micros" three."""
    if column == "micros":
        times = [_values(view, measure) for measure in TIMES]
        return lambda row: [piece for cell in times for piece in cell(row)]
    if column in MEASURES:
        return _parameters(view) if column == "params" else _values(view, column)
    in_code = view.view in ("code", "layers")
    if column in ("occurrence", "input_shapes"):
        if in_code:
            return lambda row: [f"{column} N/A in {view.view} view"]
        return _occurrence(view) if column == "occurrence" else _input_shapes(view)
    if column == "device":
        return _code_devices(view) if in_code else _device(view)
    if column == "op_types":
        return _code_types(view) if in_code else _types(view)
    hidden = view.total["hidden"]
    return lambda row: [f"{hidden[row]} hidden ops"] if hidden[row] else []


def _values(view: ViewData, measure: str) -> Cell:
    unit = view.unit(measure)
    suffix = {"float_ops": " flops", "params": " params"}.get(measure, "")
    written: Callable[[int, int], str] = written_time if measure in TIMES else written_bytes
    if suffix:
        written = written_count
    own, total = view.own[measure].tolist(), view.total[measure].tolist()
    counted = view.accounted.tolist()
    return lambda row: [f"{written(own[row], unit) if counted[row] else '--'}/{written(total[row], unit)}{suffix}"]


def _parameters(view: ViewData) -> Cell:
    values, nodes = _values(view, "params"), view.profile.nodes
    if view.view in ("code", "layers"):
        return values

    def cell(row: int) -> list[str]:
        node = int(view.node[row])
        shape = int(nodes.shape[node]) if node != ABSENT else ABSENT
        known = joined(nodes.shapes[shape], "") if shape != ABSENT else ""
        return [known, *values(row)] if known else values(row)

    return cell


def _occurrence(view: ViewData) -> Cell:
    own, total = view.own["runs"].tolist(), view.total["runs"].tolist()

    def cell(row: int) -> list[str]:
        counted = bool(view.accounted[row])
        ran = written_count(own[row], view.scale) if counted else "--"
        defined = "1" if counted else "--"
        all_ran, all_defined = (
            written_count(total[row], view.scale),
            written_count(int(view.total["definitions"][row])),
        )
        return [f"{ran}/{all_ran}|{defined}/{all_defined}"]

    return cell


def _device(view: ViewData) -> Cell:
    def cell(row: int) -> list[str]:
        node = int(view.node[row])
        name = device_name(view.profile, node) if node != ABSENT else ""
        return [visible(name)] if name else []

    return cell


def _types(view: ViewData) -> Cell:
    made_up = SCOPE_TYPE if view.view == "scope" else GRAPH_ROOT_TYPE

    def cell(row: int) -> list[str]:
        node = int(view.node[row])
        return [visible("|".join(type_names(view.profile, [node]))) if node != ABSENT else made_up]

    return cell


def _input_shapes(view: ViewData) -> Cell:
    def cell(row: int) -> list[str]:
        node = int(view.node[row])
        shapes = input_shapes(view.profile, node, view.options.timing) if node != ABSENT else []
        return ["|".join(f"{index}:{joined(shape)}" for index, shape in enumerate(shapes))]

    return cell


def _code_devices(view: ViewData) -> Cell:
    def cell(row: int) -> list[str]:
        found = devices(view.profile, view.members_of(row).tolist())
        return [visible("|".join(found))] if found else []

    return cell


def _code_types(view: ViewData) -> Cell:
    return lambda row: [visible("|".join(type_names(view.profile, view.members_of(row).tolist())))]


_TITLES = {
    "bytes": "requested bytes",
    "peak_bytes": "peak bytes",
    "residual_bytes": "residual bytes",
    "output_bytes": "output bytes",
    "params": "# parameters",
    "float_ops": "# float_ops",
    "micros": "total execution time | accelerator execution time | cpu execution time",
    "accelerator_micros": "accelerator execution time",
    "cpu_micros": "cpu execution time",
    "device": "assigned devices",
    "op_types": "op types",
    "input_shapes": "input shapes",
    "num_hidden_ops": "hidden ops",
}
_ABOUT = ("device", "op_types", "occurrence", "input_shapes", "num_hidden_ops")
_GRAPH_ORDER = ("params", "float_ops", *BYTES, *TIMES, *_ABOUT)
_MULTI_ORDER = (*BYTES, *TIMES, "params", "float_ops", *_ABOUT)


def columns(view: ViewData) -> list[str]:
    """The selected columns in the order in which tfprof prints them in this view.

    >>> from tfprof_widget.demo import demo_profile
    >>> columns(demo_profile().view("op", select=["params", "micros", "cpu_micros"]))
    ['micros', 'params']
    """
    order = _GRAPH_ORDER if view.view in ("scope", "graph") else _MULTI_ORDER
    selected = set(view.options.select)
    if "micros" in selected:
        selected -= {"accelerator_micros", "cpu_micros"}
    return [column for column in order if column in selected]


def legend(view: ViewData) -> str:
    """The line that names the columns."""
    if view.view == "op" and not len(view.profile.nodes):
        return ""
    counted = "op count" if view.view in ("scope", "graph") else "op occurrence"
    titles = _TITLES | {"occurrence": f"{counted} (run|defined)"}
    return f"node name | {' | '.join(titles[column] for column in columns(view))}\n"


def lines(view: ViewData, most: int | None = None) -> list[str]:
    """The rows as lines; at most `most` rows."""
    count = len(view) if most is None else min(most, len(view))
    of_view = op_lines if view.view == "op" else tree_lines
    return of_view(view, columns(view), count)
