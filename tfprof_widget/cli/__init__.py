"""Runs one call of the command `tfprof`."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tfprof_widget.api.profile import Profile
from tfprof_widget.cli.arguments import CommandRequest, read_words
from tfprof_widget.cli.commands import COMMANDS, named
from tfprof_widget.cli.prompt import explore
from tfprof_widget.cli.session import LazyProfile, Session, attempt, spoken_warnings, subject_of
from tfprof_widget.lib.version import __version__

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments, else those of the process, ask for; returns the exit code.

    >>> main(["demo", "op", "--max_depth=1", "--order_by=micros", "--select=occurrence", "--output=none"])
    0
    """
    _tolerate_odd_names()
    with spoken_warnings():
        return attempt(lambda: _run(sys.argv[1:] if arguments is None else arguments))


def _run(words: Sequence[str]) -> int:
    request = _without_command(read_words(words))
    if request.general.get("version"):
        sys.stdout.write(f"tfprof {__version__}\n")
        return 0
    if not words or request.general.get("help"):
        request = CommandRequest("help", (request.command,) if request.command else ())
    if request.command:
        command = named(request.command, at_prompt=False)
        subject = subject_of(request) if command.needs_files else LazyProfile(Profile.from_protos)
        command.run(Session(subject), request)
        return 0
    return explore(Session(subject_of(request), request.options, at_prompt=True))


def _without_command(request: CommandRequest) -> CommandRequest:
    """Take a file in the place of a command for an operand: the prompt opens with it."""
    first = request.command
    if not first or first in COMMANDS or not ("/" in first or Path(first).exists()):
        return request
    return replace(request, command="", operands=(first, *request.operands))


def _tolerate_odd_names() -> None:
    """Print characters that the terminal's encoding lacks as escapes, instead of ending with an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
