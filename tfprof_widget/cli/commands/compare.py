"""The command `compare`: what each row of a view costs with each worker, or before and after a change."""

from __future__ import annotations

import sys

from tfprof_widget.cli.arguments import Request
from tfprof_widget.cli.command import Command, refuse_files
from tfprof_widget.cli.subject import Session
from tfprof_widget.engine.measures import MEASURES
from tfprof_widget.output.comparison import compare, comparison_text
from tfprof_widget.output.destination import parse_output

VIEW = "op"


def show(session: Session, request: Request) -> Session:
    """Print the workers side by side, by the measure that the rows are ordered by, else by time."""
    refuse_files(session, request)
    if parse_output(str(request.options.get("output", ""))).kind not in ("stdout", "none"):
        raise ValueError("compare: it prints only; write the table with `tfprof compare … > FILE`")
    options = session.options(request.options)
    profile = session.profile
    measure = options.order_by if options.order_by in MEASURES else "micros"
    table = compare(profile, VIEW, measure, options)
    sys.stdout.write(f"{measure} by op type, the largest difference first\n{comparison_text(table, measure)}\n")
    return session


COMPARE = Command(
    "compare",
    "Sets workers, or profiles before and after a change, side by side.",
    show,
    "NAME=FILE NAME=FILE [OPTIONS]",
    "compare before=profile_1 after=profile_2 --order_by=peak_bytes",
)
