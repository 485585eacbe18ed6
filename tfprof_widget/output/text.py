"""Writes the text that tfprof prints, and says why a view is empty."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

import numpy as np

from tfprof_widget.engine.account import row_weights
from tfprof_widget.engine.display import OWN_THRESHOLDS
from tfprof_widget.engine.evaluate import evaluate
from tfprof_widget.engine.matching import Names
from tfprof_widget.engine.measures import MEASURES, measures
from tfprof_widget.engine.view import ViewData
from tfprof_widget.ingest.parts.names import EAGER_SCOPE
from tfprof_widget.lib.errors import LONGEST_QUOTE, shortened
from tfprof_widget.lib.text import short
from tfprof_widget.output.rows import legend, lines
from tfprof_widget.profiles.options import KEEP_ALL_ROWS, OPTIONS, STEP_OPTIONS, Options


def why_empty(view: ViewData) -> str | None:
    """Why a view has no rows beside the root's, and what to do about it; None if it has some.

    >>> from tfprof_widget.demo import demo_profile
    >>> why_empty(demo_profile().view("op", show_name_regexes=["Conv"]))
    "Nothing to show: no node passes show_name_regexes=['Conv']. Loosen one of these."
    """
    if len(view) > (0 if view.view == "op" else 1):
        return None
    if not len(view.profile.nodes):
        return "Nothing to show: the profile has no nodes. Give a graph, as in Profile.from_protos(graph, run_metas)."
    if lacking := said_lacking(view):
        return f"Nothing to show: {lacking}"
    options, hints = blamed(view)
    if not options:
        return "Nothing to show: none of the nodes is part of this view. Try another, as 'scope' or 'op'."
    values = [(name, getattr(view.options, name)) for name in options]
    texts = [(name, str(list(value)) if isinstance(value, tuple) else repr(value)) for name, value in values]
    filters = [f"{name}={shortened(text, LONGEST_QUOTE)}" for name, text in texts]
    whole = "".join(f" {name} has to match whole names, as {regex!r} does." for name, regex in hints.items())
    return f"Nothing to show: no node passes {', '.join(filters)}. Loosen one of these.{whole}"


GIVEN_BY = {
    "_trainable_variables": "an op log (--op_log_path), or a tf.Graph, in which variables are trained",
    "_checkpoint_variables": "the path of a checkpoint (--checkpoint_path)",
}
"""By node type, the input without which no node has it."""


def said_lacking(view: ViewData) -> str:
    """The input that is missing to show what the options ask for; empty if nothing is missing.

    >>> from tfprof_widget.demo import demo_profile
    >>> said_lacking(demo_profile().view("op", account_type_regexes=["_checkpoint_variables"]))
    'no node has the type _checkpoint_variables; give the path of a checkpoint (--checkpoint_path).'
    """
    regexes, known = view.options.account_type_regexes, view.profile.nodes.type_names
    for name, file in GIVEN_BY.items():
        if regexes == (name,) and name not in known:
            return f"no node has the type {name}; give {file}."
    if "tensor_value" in view.options.select and view.view in ("scope", "graph") and view.profile.checkpoint is None:
        return f"tensor_value is empty without a checkpoint; give {GIVEN_BY['_checkpoint_variables']}."
    return ""


def blamed(view: ViewData) -> tuple[list[str], dict[str, str]]:
    """The options that make a view empty, and for regexes that match only parts of names, regexes that match them.

    The options are the thresholds that no row reaches, or else all filters. The browser has the same rule.

    >>> from tfprof_widget.demo import demo_profile
    >>> blamed(demo_profile().view("op", show_name_regexes=["Conv|Mat"], min_micros=1, across_workers="sum"))
    (['min_micros', 'show_name_regexes'], {'show_name_regexes': '.*(?:Conv|Mat).*'})
    """
    chosen = {option.name: getattr(view.options, option.name) for option in OPTIONS}
    filters = [option for option in OPTIONS if option.name not in KEEP_ALL_ROWS]
    changed = [option.name for option in filters if chosen[option.name] != option.default]
    kept = {name: chosen[name] for name in (*STEP_OPTIONS, "account_type_regexes")}
    every = evaluate(view.profile, view.view, Options.of(**kept, max_depth=2**62))
    unreached = [f"min_{measure}" for measure in _unreached(every, view.options)]
    names = every.names if view.view == "op" else every.names[1:]
    nodes = view.profile.nodes
    known = {
        "account_type_regexes": nodes.type_names,
        "start_name_regexes": names,
        "show_name_regexes": names,
        "device_regexes": nodes.devices,
    }
    parts = {name: _whole(name, chosen[name], known[name]) for name in changed if name in known}
    return unreached or changed, {name: regex for name, regex in parts.items() if regex}


def left_out(view: ViewData, measure: str) -> tuple[int, int]:
    """How much of a measure a view leaves out: in its hidden rows, and in nodes for which it has no row.

    >>> from tfprof_widget.demo import demo_profile
    >>> left_out(demo_profile().view("scope", max_depth=2), "runs")
    (24, 0)
    """
    options = view.options
    columns = measures(view.profile, options).columns[measure]
    weight = row_weights(view.profile, options)
    in_tree = int((columns[view.forest.tree.rows] * view.forest.weight).sum())
    every = in_tree
    if view.view in ("code", "graph"):
        every = int((columns * (np.minimum(weight, 1) if view.view == "graph" else weight)).sum())
    return in_tree - int(view.own[measure].sum()), every - in_tree


def hiding(view: ViewData) -> list[str]:
    """The options that hide rows: filters that are not at their defaults, and `max_depth` if it cuts any row."""
    tree, most, found = view.forest.tree, view.options.max_depth, []
    is_deep = len(tree) - 1 > most + 1 if view.view == "op" else int(tree.depth.max()) >= most
    for option in OPTIONS:
        is_set = _HIDING.match(option.name) and getattr(view.options, option.name) != option.default
        if is_deep if option.name == "max_depth" else is_set:
            found.append(option.name)
    return found


_HIDING = re.compile("min|start|trim|show|hide|device")
"""The prefixes of the options that hide accounted rows."""


def said_left_out(view: ViewData) -> str:
    """A sentence on what a view leaves out; empty if every accounted node has a row.

    >>> from tfprof_widget.demo import demo_profile
    >>> said_left_out(demo_profile().view("scope", min_micros=100))
    'Left out: 105 rows with 209.9 µs of their own, hidden by min_micros.'
    """
    rows = len(view.forest.tree) - 1 - (len(view) if view.view == "op" else len(view) - 1)
    of_both = left_out(view, "micros")
    hidden, placeless = (short("micros", nanos / view.time_scale) if nanos else "" for nanos in of_both)
    of_rows = (
        f"{counted_rows(rows)}{f' with {hidden} of their own' if hidden else ''}, hidden by {', '.join(hiding(view))}"
    )
    what = (
        f"ops of which no line is known{_why_no_line(view)}" if view.view == "code" else "ops that are not in this tree"
    )
    parts = [of_rows if rows else "", f"{placeless} of {what}" if placeless else ""]
    said = "; ".join(filter(None, parts))
    return f"Left out: {said}." if said else ""


RAN_ONE_BY_ONE = "most ran one by one: put them into a tf.function to see their lines"
IMPORTED = "an imported graph has none: build it in this program, or give an op_log written where it is built"


def _why_no_line(view: ViewData) -> str:
    """Why no line is known of most of the op time, and what to do; empty if the lines of half of it are known."""
    micros = measures(view.profile, view.options).columns["micros"] * row_weights(view.profile, view.options)
    _, placeless = left_out(view, "micros")
    if 2 * placeless <= int(micros.sum()):
        return ""
    names = view.profile.nodes.names
    eager = micros[bisect_left(names, f"{EAGER_SCOPE}/") : bisect_left(names, f"{EAGER_SCOPE}0")]
    return f" ({RAN_ONE_BY_ONE if 2 * int(eager.sum()) > placeless else IMPORTED})"


def _unreached(every: ViewData, options: Options) -> Iterator[str]:
    """The measures whose threshold no row reaches; some thresholds of scope and graph view are on own values."""
    first = 0 if every.view == "op" else 1
    for measure in MEASURES:
        name = "min_occurrence" if measure == "runs" else f"min_{measure}"
        is_own = every.view in ("scope", "graph") and measure in OWN_THRESHOLDS
        values = (every.own if is_own else every.total)[measure][first:]
        if 0 < getattr(options, name) * every.unit(measure) > int(values.max(initial=0)):
            yield name.removeprefix("min_")


def _whole(option: str, regexes: Sequence[str], names: Sequence[str]) -> str:
    """A wider regex, if these match only parts of names; empty if they match a whole name, or no part of any name."""
    known = Names(names)
    if known.matching(option, regexes).any():
        return ""
    wider = (f".*{each}.*" if not re.search(r"[|()]", each) else f".*(?:{each}).*" for each in regexes)
    return next((each for each in wider if known.matching(option, [each]).any()), "")


_VIEW_HELP = {
    "scope": "scope: The nodes in the model graph are organized by their names, which is hierarchical like filesystem.",
    "code": "code: When python trace is available, the nodes are python lines and their are organized by the python "
    "call stack.",
    "layers": "layers: The nodes are the layers of the model, in its order, and last what belongs to no layer.",
    "op": "op: The nodes are operation kernel type, such as MatMul, Conv2D. Graph nodes belonging to the same type are "
    "aggregated together.",
}
_ACCELERATOR_HELP = (
    "accelerator execution time: Time spent executing on the accelerator. This is normally measured by the actual "
    "hardware library."
)
_CPU_HELP = (
    "cpu execution time: The time from the start to the end of the operation. It's the sum of actual cpu run time plus "
    "the time that it spends waiting if part of computation is launched asynchronously."
)
_COLUMN_HELP = {
    "bytes": "requested bytes: The memory requested by the operation, accumulatively.",
    "micros": "total execution time: Sum of accelerator execution time and cpu execution time.\n"
    f"{_CPU_HELP}\n{_ACCELERATOR_HELP}",
    "params": "param: Number of parameters (in the Variable).",
    "float_ops": "flops: Number of float operations. Note: Please read the implementation for the math behind it.",
    "tensor_value": "tensor_value: Not supported now.",
    "device": "device: which device is placed on.",
    "op_types": "op_types: The attributes of the operation, includes the Kernel name device placed on and user-defined "
    "strings.",
    "occurrence": "occurrence: The number of times it occurs",
    "input_shapes": "input shape: The shape of input tensors",
    "accelerator_micros": _ACCELERATOR_HELP,
    "cpu_micros": _CPU_HELP,
    "peak_bytes": "peak bytes: The peak amount of memory that the operation is holding at some point.",
    "residual_bytes": "residual bytes: The memory not de-allocated after the operation finishes.",
    "output_bytes": "output bytes: The memory that is output from the operation (not necessarily allocated by the "
    "operation)",
    "num_hidden_ops": "hidden ops: The accounted graph nodes below a row that are not shown.",
}
# Native says "Not supported now." over values too.
_WITH_CHECKPOINT = {"tensor_value": "tensor_value: The values of variables in the checkpoint."}
_MISSING_STREAM = (
    "\n\nFound accelerator operation but misses accelerator stream stats!\n\n"
    "It's likely a gpu tracing issue rather than tf-profiler issue.\n"
    "If you found your operation missing accelerator time, consider to post to discuss@tensorflow.org!\n\n"
)
# The options that native tfprof prints, in its order.
_PRINTED = (
    "max_depth",
    "min_bytes",
    "min_peak_bytes",
    "min_residual_bytes",
    "min_output_bytes",
    "min_micros",
    "min_accelerator_micros",
    "min_cpu_micros",
    "min_params",
    "min_float_ops",
    "min_occurrence",
    "step",
    "order_by",
    "account_type_regexes",
    "start_name_regexes",
    "trim_name_regexes",
    "show_name_regexes",
    "hide_name_regexes",
    "account_displayed_op_only",
    "select",
)
SUMMARY_ROWS = 20


def report(view: ViewData) -> str:
    """What native tfprof writes to a file: notices, help, then legend and rows."""
    return preamble(view) + legend(view) + "".join(lines(view))


def preamble(view: ViewData) -> str:
    """The notices and the help that come before the rows."""
    notice = _MISSING_STREAM if view.profile.misses_accelerator_stream else ""
    # Native prints the scope view's help for the graph view too.
    view_help = _VIEW_HELP.get(view.view, _VIEW_HELP["scope"])
    columns = _COLUMN_HELP if view.profile.checkpoint is None else _COLUMN_HELP | _WITH_CHECKPOINT
    helps = "\n".join(columns[column] for column in sorted(set(view.options.select)))
    return f"{notice}\nDoc:\n{view_help}\n{helps}\n\nProfile:\n"


def banner(options: Options, body: str) -> str:
    """A report as native tfprof prints it to the terminal: with the options before it and a line after it."""
    values = "".join(f"{f'-{name}':<28}{option_text(name, options)}\n" for name in _PRINTED)
    return (
        f"\n=========================Options=============================\n{values}{'-output':<28}stdout:\n"
        f"\n==================Model Analysis Report======================\n{body}"
        "\n======================End of Report==========================\n"
    )


def option_text(name: str, options: Options) -> str:
    """The value of an option as native tfprof prints it.

    >>> option_text("select", Options.of(select=["micros", "bytes"]))
    'bytes,micros'
    """
    value = getattr(options, name)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(sorted(set(value)) if name == "select" else value)
    return str(value)


def summary(view: ViewData, whole: ViewData | None = None) -> str:
    """The first rows of a view as text, how many more there are, and what it leaves out.

    `whole` is the view with the rows that are left out only to shorten the text.
    """
    rows = lines(view, SUMMARY_ROWS)
    more = len(view) - len(rows)
    rest = f"... {counted_rows(more)} more: see .text(), .to_dataframe()\n" if more > 0 else ""
    reason = why_empty(view) or said_lacking(view) or said_left_out(view if whole is None else whole)
    return f"{view.view} view, {counted_rows(len(view))}\n{legend(view)}{''.join(rows)}{rest}{reason}".rstrip("\n")


def counted_rows(count: int) -> str:
    """A number of rows, with the noun.

    >>> counted_rows(1), counted_rows(1234)
    ('1 row', '1,234 rows')
    """
    return "1 row" if count == 1 else f"{count:,} rows"
