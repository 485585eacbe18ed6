"""Defines the table of options, and checks their values."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tfprof_widget.lib.errors import LONGEST_QUOTE, shortened, value_error

Kind = Literal["integer", "flag", "choice", "choices", "regexes", "text"]

VIEWS = ("scope", "graph", "op", "code", "layers")
PASSES = ("forward_micros", "backward_micros", "update_micros")
"""The measures of the layers view beside those of all views: the time of each pass."""
ORDERS = (
    "name",
    "depth",
    "bytes",
    "peak_bytes",
    "residual_bytes",
    "output_bytes",
    "micros",
    "accelerator_micros",
    "cpu_micros",
    "params",
    "float_ops",
    "occurrence",
    *PASSES,
)
COLUMNS = (
    "bytes",
    "micros",
    "params",
    "float_ops",
    "tensor_value",
    "device",
    "op_types",
    "occurrence",
    "input_shapes",
    "accelerator_micros",
    "cpu_micros",
    "peak_bytes",
    "residual_bytes",
    "output_bytes",
    "num_hidden_ops",
)
TIMINGS = ("exact", "tfprof")
ACROSS_WORKERS = ("mean", "sum", "slowest")
# The tabs of the widget: the views and others; and the measures by which its charts compare op types.
TABS = ("overview", "layers", "scope", "graph", "op", "code", "timeline", "memory", "history", "workers", "advise")
# What a notebook keeps of a result beside the live widget: a page with sliders, a picture with a table, or nothing.
SAVES = ("page", "picture", "none")
METRICS = ("time", "memory", "count", "rate")
EVERYTHING = (".*",)
# tfprof's own options are integers of 64 bits.
_LARGEST = 2**63 - 1
# The type that an op log gives to the trainable variables.
TRAINABLE_VARIABLES = "_trainable_variables"


@dataclass(frozen=True)
class Option:
    """One option: its name, what kind of value it takes, its default and what it is for.

    `placeholder` stands for the value in help texts, where its kind does not say enough.
    """

    name: str
    kind: Kind
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    minimum: int = 0
    placeholder: str = ""


def _threshold(name: str, unit: str) -> Option:
    return Option(name, "integer", 0, f"Show only rows with at least this {unit}.")


OPTIONS: tuple[Option, ...] = (
    Option("max_depth", "integer", 100, "Show rows down to this depth; in op view, so many rows after the first."),
    _threshold("min_bytes", "many bytes requested from the allocator"),
    _threshold("min_peak_bytes", "many bytes held at the peak"),
    _threshold("min_residual_bytes", "many bytes still held when the op ended"),
    _threshold("min_output_bytes", "many bytes of output"),
    _threshold("min_micros", "execution time in microseconds, accelerator and CPU together"),
    _threshold("min_accelerator_micros", "execution time on accelerators in microseconds"),
    _threshold("min_cpu_micros", "execution time on CPUs in microseconds"),
    _threshold("min_params", "many parameters"),
    _threshold("min_float_ops", "many float operations"),
    _threshold("min_occurrence", "many runs (scope and graph view) or graph nodes (op view)"),
    Option(
        "step",
        "integer",
        -1,
        "The step to show; -1 is the mean of all steps.",
        minimum=-1,
    ),
    Option("run_name_regexes", "regexes", EVERYTHING, "Let the mean of all steps be of the runs whose name matches."),
    Option("worker_regexes", "regexes", EVERYTHING, "Count the steps of the workers whose name matches one of these."),
    Option(
        "across_workers",
        "choice",
        "mean",
        "Show of several workers the mean, the sum of what each takes a step, or the slowest.",
        ACROSS_WORKERS,
    ),
    Option(
        "order_by",
        "choice",
        "name",
        "Order the rows under one parent by this, largest first; a pass in the layers view.",
        ORDERS,
    ),
    Option("account_type_regexes", "regexes", EVERYTHING, "Count the nodes of which a type matches one of these."),
    Option(
        "start_name_regexes",
        "regexes",
        EVERYTHING,
        "Start to show at the nodes whose name matches one of these.",
    ),
    Option("trim_name_regexes", "regexes", (), "Show nothing below the nodes whose name matches one of these."),
    Option("show_name_regexes", "regexes", EVERYTHING, "Show only nodes whose name matches one of these."),
    Option("hide_name_regexes", "regexes", (), "Hide the nodes whose name matches one of these."),
    Option("device_regexes", "regexes", EVERYTHING, "Show only nodes whose device matches one of these."),
    Option("account_displayed_op_only", "flag", False, "Let the totals count the shown rows only."),
    Option("select", "choices", ("micros",), "The columns to print.", COLUMNS),
    Option("output", "text", "stdout", "Where the result goes: stdout, none, file:, timeline: or pprof:outfile=NAME."),
    Option("timing", "choice", "exact", "exact: nanoseconds as recorded; tfprof: whole microseconds.", TIMINGS),
)

STEP_OPTIONS = ("step", "run_name_regexes", "worker_regexes", "across_workers", "timing")
"""The options that choose steps, and how these are counted."""

KEEP_ALL_ROWS = (*STEP_OPTIONS, "order_by", "account_displayed_op_only", "select", "output")
"""The options that are no filters: none of them alone takes a row away."""

_BY_NAME = {option.name: option for option in OPTIONS}
_DEFAULTS = {option.name: option.default for option in OPTIONS}


@dataclass(frozen=True)
class Options:
    """A checked value for every option.

    >>> Options.of(min_micros=10, order_by="micros").min_micros
    10
    """

    max_depth: int
    min_bytes: int
    min_peak_bytes: int
    min_residual_bytes: int
    min_output_bytes: int
    min_micros: int
    min_accelerator_micros: int
    min_cpu_micros: int
    min_params: int
    min_float_ops: int
    min_occurrence: int
    step: int
    run_name_regexes: tuple[str, ...]
    worker_regexes: tuple[str, ...]
    across_workers: str
    order_by: str
    account_type_regexes: tuple[str, ...]
    start_name_regexes: tuple[str, ...]
    trim_name_regexes: tuple[str, ...]
    show_name_regexes: tuple[str, ...]
    hide_name_regexes: tuple[str, ...]
    device_regexes: tuple[str, ...]
    account_displayed_op_only: bool
    select: tuple[str, ...]
    output: str
    timing: str

    @classmethod
    def of(cls, **values: Any) -> Options:
        """Check the given values; the options that are not named take their defaults.

        >>> Options.of(max_dept=3)
        Traceback (most recent call last):
            ...
        ValueError: unknown option 'max_dept': did you mean 'max_depth'?
        """
        return cls(**{**_DEFAULTS, **{name: _checked(_option(name), value) for name, value in values.items()}})


def check_view(view: str) -> str:
    """Return `view` if it is a view of tfprof; else raise an error with the names of the views.

    >>> check_view("scope")
    'scope'
    """
    return one_of("view", view, VIEWS)


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return `value` if it is one of the choices; else raise an error with the choices. `name` is the option's.

    >>> one_of("order", "up", ("name", "micros"))
    Traceback (most recent call last):
        ...
    ValueError: order has no 'up'; choose from name, micros
    """
    if value not in choices:
        raise value_error(f"{name} has no {value!r}; choose from {', '.join(choices)}")
    return str(value)


def check_step(step: Any) -> int:
    """Return `step` if it can name a step.

    >>> check_step(-3)
    Traceback (most recent call last):
        ...
    ValueError: step is -3, but must be at least 0
    """
    return _integer(Option("step", "integer", 0, ""), step)


def _option(name: str) -> Option:
    option = _BY_NAME.get(name)
    if option is not None:
        return option
    near = near_options(name)
    hint = f"did you mean {near[0]!r}?" if near else f"the options are {', '.join(_BY_NAME)}"
    raise value_error(f"unknown option {shortened(repr(name), LONGEST_QUOTE)}: {hint}")


def near_options(name: str) -> list[str]:
    """The option whose name is like this one, if there is one.

    >>> near_options("max_dept"), near_options("viz")
    (['max_depth'], [])
    """
    return difflib.get_close_matches(name, _BY_NAME, 1)


def _checked(option: Option, value: Any) -> Any:
    match option.kind:
        case "integer":
            return _integer(option, value)
        case "flag":
            return _flag(option, value)
        case "choice":
            return one_of(option.name, value, option.choices)
        case "choices":
            return tuple(one_of(option.name, each, option.choices) for each in _texts(option, value))
        case "regexes":
            return _texts(option, value)
        case "text":
            return _text(option, value)


def _flag(option: Option, value: Any) -> bool:
    if value not in (False, True):
        raise value_error(f"{option.name} is {value!r}, but must be True or False")
    return bool(value)


def _integer(option: Option, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise value_error(f"{option.name} is {value!r}, but must be a whole number") from None
    if abs(number) > _LARGEST:
        raise value_error(f"{option.name} has {number.bit_length()} bits, but must be below 2**63")
    if number < option.minimum:
        raise value_error(f"{option.name} is {number}, but must be at least {option.minimum}")
    return number


def _texts(option: Option, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Iterable) or isinstance(value, Mapping | bytes):
        raise value_error(f"{option.name} is {value!r}, but must be a list of strings")
    return tuple(_text(option, each) for each in value)


def _text(option: Option, value: Any) -> str:
    if not isinstance(value, str):
        raise value_error(f"{option.name} holds {value!r}, but must hold strings")
    return value
