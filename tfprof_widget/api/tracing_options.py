"""Defines the options that say what is traced, as they are typed behind `%%tfprof` and `tfprof run`."""

from __future__ import annotations

import re
from collections.abc import Collection

from tfprof_widget.api.typed_options import text_option
from tfprof_widget.lib.errors import value_error
from tfprof_widget.profiles.options import Option

TRACING = (
    text_option(
        "overhead",
        "SHARE",
        "Trace as many runs as cost at most this share of the cell's untraced time.",
        "1/30, or 0.1 s if that is more",
    ),
    Option("every", "integer", "", "Trace every so many runs.", minimum=1),
    text_option("steps", "FIRST:END", "Trace the runs FIRST:END, END not included; either may be left out."),
    Option("all", "flag", False, "Trace every run."),
)
RISKY = (
    Option(
        "collectives",
        "flag",
        False,
        "Record ops also where workers reduce together, in which TensorFlow's profiler may crash the process.",
    ),
)


def read_share(text: str) -> float:
    """The share that was typed for `overhead`.

    >>> read_share("0.05")
    0.05
    """
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share < float("inf"):
        raise value_error(f"overhead is {text!r}, but must be a share above 0, as in 0.05")
    return share


def read_range(text: str) -> tuple[int, int | None]:
    """The runs that were typed for `steps`.

    >>> read_range("10:20"), read_range("5:")
    ((10, 20), (5, None))
    """
    match = re.fullmatch(r"(\d*):(\d*)", text, re.ASCII)
    if not match or not (match[1] or match[2]):
        raise value_error(f"steps is {text!r}, but must be FIRST:END, as in 10:20")
    first, end = int(match[1] or 0), int(match[2]) if match[2] else None
    if end is not None and end <= first:
        raise value_error(f"steps is {text!r}, which holds no step: END must be above FIRST")
    return first, end


def check_rivals(given: Collection[str]) -> None:
    """Refuse several options that each say what to trace.

    >>> check_rivals(["every", "all"])
    Traceback (most recent call last):
        ...
    ValueError: --every and --all exclude one another: each says what to trace
    """
    rivals = [f"--{option.name}" for option in TRACING if option.name in given]
    if len(rivals) > 1:
        raise value_error(f"{' and '.join(rivals)} exclude one another: each says what to trace")
