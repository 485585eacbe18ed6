"""The lines of the op view: the op type, then each value with its cumulative and its own share."""

from __future__ import annotations

from collections.abc import Sequence

from tfprof_widget.engine.measures import MEASURES, TIMES, measures
from tfprof_widget.engine.tree import ROOT_NAME
from tfprof_widget.engine.view import View
from tfprof_widget.output import cells, numbers
from tfprof_widget.visible import visible

NAME_WIDTH, VALUE_WIDTH, COUNT_WIDTH = 25, 30, 10


def op_lines(view: View, columns: Sequence[str], count: int) -> list[str]:
    """The first `count` rows of an op view; of a profile without nodes native prints the root's row."""
    if not len(view.profile.nodes):
        return [_line(ROOT_NAME, [piece for column in columns for piece in _empty(column)])]
    return [_row(view, columns, row) for row in range(count)]


def _row(view: View, columns: Sequence[str], row: int) -> str:
    line = _line(visible(view.names[row]), [piece for column in columns for piece in _pieces(view, column, row)])
    if "input_shapes" in columns:
        shapes = [_shape_line(view, count) for count in cells.shapes_by_count(view, row)]
        if shapes:
            return "\n".join([line, *shapes, "", ""])
    return line


def _shape_line(view: View, count: cells.ShapeCount) -> str:
    runs = numbers.count_exactly(count.runs, view.scale)
    micros = numbers.time(count.micros, view.time_scale)
    return f"input_type: {cells.native_shapes(count.shapes)}\t(run*{runs}|defined*{count.defined})\texec_time: {micros}"


def _line(name: str, pieces: list[str]) -> str:
    padding = " " * (NAME_WIDTH - len(name.encode()))  # native pads by bytes
    return f"{name}{padding}{', '.join(pieces)}\n"


def _pieces(view: View, column: str, row: int) -> list[str]:
    if column in MEASURES:
        chosen = TIMES if column == "micros" else (column,)
        return [_value(view, measure, row) for measure in chosen]
    members = view.members_of(row).tolist()
    match column:
        case "device":
            return [visible("|".join(cells.devices(view.profile, members)))]
        case "op_types":
            return [visible("|".join(cells.type_names(view.profile, members)))]
        case "occurrence":
            costs = measures(view.profile, view.options)
            runs = sum(costs.columns["runs"][members].tolist())
            return [f"{numbers.count_exactly(runs, costs.scale)}|{len(members)}".rjust(COUNT_WIDTH)]
    return []


def _value(view: View, measure: str, row: int) -> str:
    own, total = int(view.own[measure][row]), int(view.total[measure][row])
    grand = int(view.grand_total[measure][0])
    if measure in TIMES:
        return _with_shares(numbers.time(own, view.time_scale), total > 0, own, total, grand)
    if measure in ("params", "float_ops"):
        return _with_shares(f"{numbers.count(own, view.scale)} {measure}", total > 0, own, total, grand)
    return _with_shares(numbers.memory(own, view.scale), own > 0, own, total, grand)


def _with_shares(written: str, has_share: bool, own: int, total: int, grand: int) -> str:
    cumulative = 100.0 * total / grand if has_share and grand else 0.0
    share = 100.0 * own / grand if has_share and grand else 0.0
    return f"{written} ({cumulative:.2f}%, {share:.2f}%)".rjust(VALUE_WIDTH)


def _empty(column: str) -> list[str]:
    """What the root's row says of a column where there are no nodes."""
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
