"""The commands `quit` and `exit`: the end of the prompt, as Ctrl-D."""

from __future__ import annotations

from tfprof_widget.cli.arguments import Request
from tfprof_widget.cli.command import Command
from tfprof_widget.cli.subject import Session


def leave(session: Session, request: Request) -> Session:
    """End the prompt."""
    raise EOFError


QUIT = Command("quit", "Leaves, as Ctrl-D does.", leave, in_shell=False)
EXIT = Command("exit", "Leaves, as Ctrl-D does.", leave, in_shell=False)
