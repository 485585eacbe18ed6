"""A view as a pandas DataFrame: a row a shown row, in order, with depth and parent kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfprof_widget.engine.measures import MEASURES
from tfprof_widget.engine.view import View
from tfprof_widget.output.cells import device_name
from tfprof_widget.tables import ABSENT

if TYPE_CHECKING:
    import pandas


def view_frame(view: View) -> pandas.DataFrame:
    """The rows of the view; `parent` is the position of the row above, times are in microseconds.

    >>> from tfprof_widget.demo import demo_profile
    >>> frame = view_frame(demo_profile().view("scope", max_depth=2, order_by="micros"))
    >>> frame[["name", "total_micros"]].head(2).values.tolist()
    [['_TFProfRoot', 320.802], ['gradients', 145.228]]
    """
    import pandas

    columns: dict[str, Any] = {"name": list(view.names), "depth": view.depth, "parent": view.parent}
    columns |= _of_nodes(view)
    columns["accounted"] = view.accounted
    for measure in MEASURES:
        unit = view.unit(measure)
        columns[measure] = _in_units(view.own[measure], unit)
        columns[f"total_{measure}"] = _in_units(view.total[measure], unit)
    columns["definitions"] = view.total["definitions"]
    columns["hidden_ops"] = view.total["hidden"]
    return pandas.DataFrame(columns)


def _of_nodes(view: View) -> dict[str, list[str]]:
    nodes, rows = view.profile.nodes, view.node.tolist()
    ops = [nodes.ops[nodes.op[node]] if node != ABSENT else "" for node in rows]
    devices = [device_name(view.profile, node) if node != ABSENT else "" for node in rows]
    if view.view == "op":
        ops = list(view.names)
    return {"op": ops, "device": devices}


def _in_units(values: Any, unit: int) -> Any:
    return values if unit == 1 else values / np.float64(unit)
