"""Tells at the end of a program what its profile says, and where it is; writes what else was asked for."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING, Any

from tfprof_widget.lib.errors import error_text

if TYPE_CHECKING:
    from tfprof_widget.jobs.reporter import Reporter

COLUMNS = 100

_OF_A_CELL = (
    (" in this cell, or one step in a cell before it,", ""),
    (
        "the work ran in another process or had been started before, put the call that runs it into the cell or block",
        "another process does that, add --follow",
    ),
    ("the cell", "the program"),
)
"""What sentences say of a cell, and what they say of a program."""


def sum_up(reporter: Reporter, capture: Any) -> None:
    """Write the report and the JSON that were asked for, and a paragraph for the user."""
    settings = reporter.settings
    said = []
    if settings.report and capture is not None:
        try:
            capture.save_report(settings.report, source=settings.with_source)
            said.append(f"The page is {settings.report}.")
        except Exception as error:
            said.append(f"There is no page ({error_text(error)}).")
    if settings.json and capture is not None:
        try:
            sys.stdout.write(capture.to_json(source=settings.with_source))
            sys.stdout.flush()
        except Exception as error:
            said.append(f"There is no JSON ({error_text(error)}).")
    if not settings.quiet:
        told = " ".join([_sentence(capture), _place(reporter, capture), *said])
        reporter.say("\n".join(textwrap.wrap(told, COLUMNS, break_long_words=False, break_on_hyphens=False)))


def _sentence(capture: Any) -> str:
    """The sentence of the overview; where nothing was recorded, the reason."""
    if capture is None:
        return (
            "Nothing was captured: TensorFlow was not imported in this process. If another process runs it, "
            "add --follow."
        )
    try:
        if capture.is_empty:
            return of_program(f"{str(capture).splitlines()[0].rstrip('.')}.")
        return of_program(capture.overview_sentence())
    except Exception as error:
        return f"The overview is missing ({error_text(error)})."


def of_program(sentence: str) -> str:
    """A sentence about a cell, as it is said of a program.

    >>> of_program("No step runs for 1.50 s of the cell's 2.00 s.")
    "No step runs for 1.50 s of the program's 2.00 s."
    """
    for of_cell, instead in _OF_A_CELL:
        sentence = sentence.replace(of_cell, instead)
    return sentence


def _place(reporter: Reporter, capture: Any) -> str:
    """Where the profile is, and how to look at it; or why there is none."""
    if reporter.trouble:
        return f"The profile could not be written: {reporter.trouble}."
    if capture is None or capture.is_empty:
        others = f" What other processes did is in {reporter.job}." if reporter.settings.follows else ""
        return f"There is no profile.{others}"
    path = reporter.settings.out if reporter.settings.is_file else reporter.profile_path
    return f"The profile is {path}: look at it by `tfprof {path}`, or in a notebook by tfprof_widget.load."
