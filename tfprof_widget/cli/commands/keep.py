"""The command `set`: options that hold for the commands after it."""

from __future__ import annotations

from dataclasses import replace

from tfprof_widget.cli.arguments import Request
from tfprof_widget.cli.command import Command, refuse_files
from tfprof_widget.cli.option_list import print_options
from tfprof_widget.cli.subject import Session
from tfprof_widget.engine.evaluate import check_options
from tfprof_widget.output.destination import parse_output


def keep(session: Session, request: Request) -> Session:
    """The session with the options that were named; without any, what they are now is printed."""
    refuse_files(session, request)
    if not request.options:
        print_options(session)
        return session
    parse_output(str(request.options.get("output", "")))
    check_options(session.profile, session.options(request.options))
    return replace(session, kept={**session.kept, **request.options})


SET = Command(
    "set",
    "Keeps options for the commands that follow.",
    keep,
    "OPTIONS",
    "set -account_type_regexes _trainable_variables",
    in_shell=False,
)
