"""Writes the text that tfprof prints, and says why a view is empty."""

from __future__ import annotations

from tfprof_widget.engine.view import ViewData
from tfprof_widget.output.rows import legend, lines
from tfprof_widget.profiles.options import KEEP_ALL_ROWS, OPTIONS, Options


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
    filters = [
        f"{option.name}={list(value) if isinstance(value, tuple) else value!r}"
        for option in OPTIONS
        if option.name not in KEEP_ALL_ROWS and (value := getattr(view.options, option.name)) != option.default
    ]
    if not filters:
        return "Nothing to show: none of the nodes is part of this view. Try another, as 'scope' or 'op'."
    return f"Nothing to show: no node passes {', '.join(filters)}. Loosen one of these."


_VIEW_HELP = {
    "scope": "scope: The nodes in the model graph are organized by their names, which is hierarchical like filesystem.",
    "code": "code: When python trace is available, the nodes are python lines and their are organized by the python "
    "call stack.",
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
    helps = "\n".join(_COLUMN_HELP[column] for column in sorted(set(view.options.select)))
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


def summary(view: ViewData) -> str:
    """The first rows of a view as text, and how many more there are."""
    rows = lines(view, SUMMARY_ROWS)
    more = len(view) - len(rows)
    rest = f"... {counted_rows(more)} more: see .text(), .to_dataframe()\n" if more > 0 else ""
    reason = why_empty(view) or ""
    return f"{view.view} view, {counted_rows(len(view))}\n{legend(view)}{''.join(rows)}{rest}{reason}".rstrip("\n")


def counted_rows(count: int) -> str:
    """A number of rows, with the noun.

    >>> counted_rows(1), counted_rows(1234)
    ('1 row', '1,234 rows')
    """
    return "1 row" if count == 1 else f"{count:,} rows"
