"""The lines of a printed view: each row's name and the columns that `select` asks for."""

from __future__ import annotations

from tfprof_widget.engine.measures import BYTES, TIMES
from tfprof_widget.engine.view import View
from tfprof_widget.output.op_rows import op_lines
from tfprof_widget.output.tree_rows import tree_lines

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


def columns(view: View) -> list[str]:
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


def legend(view: View) -> str:
    """The line that names the columns."""
    if view.view == "op" and not len(view.profile.nodes):
        return ""
    counted = "op count" if view.view in ("scope", "graph") else "op occurrence"
    titles = _TITLES | {"occurrence": f"{counted} (run|defined)"}
    return f"node name | {' | '.join(titles[column] for column in columns(view))}\n"


def lines(view: View, most: int | None = None) -> list[str]:
    """The rows as lines, at most so many of them."""
    count = len(view) if most is None else min(most, len(view))
    of_view = op_lines if view.view == "op" else tree_lines
    return of_view(view, columns(view), count)
