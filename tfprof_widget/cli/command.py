"""What a command is: a name, a line of help, and a function from the session and the request to the next session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tfprof_widget.cli.arguments import Request
from tfprof_widget.cli.subject import Session


@dataclass(frozen=True)
class Command:
    """A command of the shell, of the prompt, or of both.

    `usage` is what may stand behind the name; `example` is a whole line.
    """

    name: str
    summary: str
    run: Callable[[Session, Request], Session]
    usage: str = ""
    example: str = ""
    in_shell: bool = True
    at_prompt: bool = True
    needs_files: bool = True


def refuse_files(session: Session, request: Request) -> None:
    """At the prompt the files are chosen: a word that is no option is a slip.

    >>> from tfprof_widget.cli.subject import Subject
    >>> from tfprof_widget.demo import demo_profile
    >>> refuse_files(Session(Subject(demo_profile), at_prompt=True), Request("scope", ("max_depth",)))
    Traceback (most recent call last):
        ...
    ValueError: scope takes no 'max_depth': options begin with a dash, as in -max_depth
    """
    if session.at_prompt and request.files:
        raise ValueError(f"--{next(iter(request.files))} is for the start: leave with Ctrl-D, and start tfprof with it")
    if session.at_prompt and request.operands:
        raise ValueError(
            f"{request.command} takes no {request.operands[0]!r}: options begin with a dash, as in -max_depth"
        )
