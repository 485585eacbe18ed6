"""Runs one call of the command `tfprof`."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfprof_widget.cli.arguments import CommandRequest

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments, else those of the process, ask for; returns the exit code.

    >>> main(["demo", "op", "--max_depth=1", "--order_by=micros", "--select=occurrence", "--output=none"])
    0
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["run"]:  # which leaves everything as a program finds it under plain Python
        return _become(words[1:])
    _open_what_is_closed()
    _tolerate_odd_names()
    try:
        # Imported here, for Ctrl-C to be told in a line also while this lasts.
        from tfprof_widget.cli.session import attempt, spoken_warnings
    except KeyboardInterrupt:
        sys.stderr.write("tfprof: interrupted\n")
        return 130  # as `attempt` does, which could not be imported
    with spoken_warnings():
        return attempt(lambda: _run(words))


def _become(words: Sequence[str]) -> int:
    """Run a program, captured."""
    from tfprof_widget.cli.run import run
    from tfprof_widget.lib.errors import ProfileError

    try:
        return run(words)
    except (ValueError, ProfileError, OSError) as error:
        sys.stderr.write(f"tfprof: {error}\n")
        return 2


def _run(words: Sequence[str]) -> int:
    from tfprof_widget.api.profile import Profile
    from tfprof_widget.cli.arguments import CommandRequest, read_words
    from tfprof_widget.cli.commands import json_asked, named
    from tfprof_widget.cli.compare import guard, is_guard
    from tfprof_widget.cli.jobs import COMMANDS as JOB_COMMANDS
    from tfprof_widget.cli.jobs import run_command
    from tfprof_widget.cli.prompt import explore
    from tfprof_widget.cli.session import LazyProfile, Session, subject_of
    from tfprof_widget.lib.version import __version__

    if is_guard(words):
        return guard(words[1:])
    if words and words[0] in JOB_COMMANDS:
        return run_command(words)
    request = _without_command(read_words(words))
    if request.general.get("version"):
        sys.stdout.write(f"tfprof {__version__}\n")
        return 0
    if not words or request.general.get("help"):
        request = CommandRequest("help", (request.command,) if request.command else ())
    request = json_asked(request)
    if request.command:
        command = named(request.command, at_prompt=False)
        subject = subject_of(request) if command.needs_files else LazyProfile(Profile.from_protos)
        command.run(Session(subject), request)
        return 0
    return explore(Session(subject_of(request), request.options, at_prompt=True))


def _without_command(request: CommandRequest) -> CommandRequest:
    """Take a file in the place of a command for an operand: the prompt opens with it."""
    from tfprof_widget.cli.commands import COMMANDS

    first = request.command
    if not first or first in COMMANDS or not ("/" in first or Path(first).exists()):
        return request
    return replace(request, command="", operands=(first, *request.operands))


def _open_what_is_closed() -> None:
    """Open the streams that the shell has closed, as by `>&-`: reading finds an end, and printing a view fails.

    Otherwise the first files that are opened get the numbers of these streams, and with them what is printed.
    """
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_RDWR)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # gets the lowest number that is free, which is this one
    sys.stdin = sys.stdin or os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8", closefd=False)


def _tolerate_odd_names() -> None:
    """Print characters that the terminal's encoding lacks as escapes, instead of ending with an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
