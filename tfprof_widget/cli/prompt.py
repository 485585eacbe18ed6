"""The prompt `tfprof> `: runs line after line, from a person at a terminal or from a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from tfprof_widget.cli.arguments import Request, read_line
from tfprof_widget.cli.commands import named
from tfprof_widget.cli.line_editor import line_editor
from tfprof_widget.cli.option_list import print_options
from tfprof_widget.cli.outcome import DONE, attempt
from tfprof_widget.cli.subject import Session

GREETING = "Tab completes, Enter shows the options, help explains, Ctrl-D leaves."


def explore(session: Session) -> int:
    """Run the lines that come until they end; returns the exit code: of a pipe, the last that was not 0."""
    if not sys.stdin.isatty():
        return _run_all(session, sys.stdin)
    ask = line_editor(session.subject)
    sys.stdout.write(f"{session.profile!r}: {GREETING}\n")
    _run_all(session, _typed(ask))
    return DONE


def _run_all(session: Session, lines: Iterator[str]) -> int:
    code = DONE
    for line in lines:
        try:
            session, outcome = _after(session, line)
        except EOFError:
            break
        code = outcome or code
    return code


def _after(session: Session, line: str) -> tuple[Session, int]:
    """The session after a line, which a slip leaves as it was, and the line's exit code."""
    sessions = [session]
    code = attempt(lambda: sessions.append(_run(session, line)))
    return sessions[-1], code


def _run(session: Session, line: str) -> Session:
    if not line.strip():
        print_options(session)
        return session
    request = read_line(line)
    if request.general.get("help"):
        request = Request("help", (request.command,) if request.command else ())
    return named(request.command, at_prompt=True).run(session, request)


def _typed(ask: Callable[[], str]) -> Iterator[str]:
    """The lines of a person, until Ctrl-D; Ctrl-C drops the line."""
    while True:
        try:
            line = ask()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        yield line
