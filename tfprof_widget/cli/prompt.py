"""Reads lines from a person or a pipe, and completes them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tfprof_widget.api.profile import Profile
from tfprof_widget.cli.arguments import DUMP_TO_FILE, GRAMMAR, SHOWN, CommandRequest, read_line
from tfprof_widget.cli.commands import COMMANDS, json_asked, named
from tfprof_widget.cli.session import DONE, LazyProfile, Session, attempt, print_options
from tfprof_widget.engine.evaluate import view_tree
from tfprof_widget.output.destination import KINDS
from tfprof_widget.profiles.options import VIEWS, Option

MOST = 200
_ASSIGNED = re.compile(r"--?([A-Za-z][\w-]*)=(.*)", re.DOTALL)
_NAMED = re.compile(r"--?([A-Za-z][\w-]*)")
_OUTFILE = ":outfile="


def candidates(line: str, profile: Profile) -> tuple[int, list[str]]:
    """How many characters before the cursor are of the word to complete, and what it may become.

    >>> from tfprof_widget.demo import demo_profile
    >>> candidates("op -order_by pa", demo_profile())
    (2, ['params'])
    >>> candidates("sc", demo_profile())
    (2, ['scope '])
    """
    *before, word = line.split() if line[-1:].strip() else [*line.split(), ""]
    if not before:
        return len(word), _starting(word, (f"{name} " for name, each in COMMANDS.items() if each.at_prompt))
    if before[0] == "help":
        return len(word), _starting(word, (*COMMANDS, *(option.name for option in SHOWN)))
    if assigned := _ASSIGNED.fullmatch(word):
        return _of_value(before[0], assigned[1], assigned[2], profile)
    if not word.startswith("-") and (named := _NAMED.fullmatch(before[-1])):
        return _of_value(before[0], named[1], word, profile)
    dashes = "--" if word.startswith("--") else "-"
    return len(word), _starting(word, (f"{dashes}{option.name} " for option in SHOWN))


def _of_value(view: str, name: str, written: str, profile: Profile) -> tuple[int, list[str]]:
    option = GRAMMAR.known(name)
    if option is None:
        return len(written), []
    if option.kind in ("choices", "regexes"):
        *chosen, written = written.split(",")
        known = _values(option, view, written, profile)
        return len(written), _starting(written, (each for each in known if each not in chosen))
    return len(written), _starting(written, _values(option, view, written, profile))


def _values(option: Option, view: str, written: str, profile: Profile) -> Iterable[str]:
    nodes = profile.nodes
    match option.name:
        case "step":
            return ("-1", *map(str, dict.fromkeys(profile.steps)))
        case "output":
            return _outputs(written)
        case "account_type_regexes":
            return nodes.type_names
        case "device_regexes":
            return nodes.devices
        case "run_name_regexes":
            return dict.fromkeys(filter(None, profile.step_names))
        case "worker_regexes":
            return dict.fromkeys(profile.step_workers)
        case DUMP_TO_FILE.name:
            return _paths(written)
    if option.kind == "regexes":
        return _names(view, written, profile)
    return ("true", "false") if option.kind == "flag" else option.choices


def _outputs(written: str) -> Iterator[str]:
    kind, outfile, path = written.partition(_OUTFILE)
    if outfile:
        yield from (f"{kind}{_OUTFILE}{each}" for each in _paths(path))
    else:
        yield from (kind if kind in ("stdout", "none") else f"{kind}{_OUTFILE}" for kind in KINDS)


def _paths(written: str) -> Iterator[str]:
    """Files and directories whose names begin as written."""
    folder = written[: written.rfind("/") + 1]
    try:
        found = sorted(Path(folder or ".").expanduser().iterdir())
    except (OSError, RuntimeError):
        return
    for path in found:
        yield f"{folder}{path.name}{'/' if path.is_dir() else ''}"


def _names(view: str, written: str, profile: Profile) -> Iterable[str]:
    """Names of the view's rows, a part of the path at a time."""
    if view not in VIEWS or (view == "code" and not profile.has_traces):
        view = "scope"
    depth = len(written)
    going_on = (name for name in view_tree(profile, view).names if name.startswith(written))
    return dict.fromkeys(name[: name.find("/", depth) + 1] or name for name in going_on)


def _starting(written: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(written)][:MOST]


PROMPT = "tfprof> "


def line_editor(subject: LazyProfile) -> Callable[[], str]:
    """A function that asks for a line; it raises KeyboardInterrupt on Ctrl-C and EOFError on Ctrl-D."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.shortcuts import CompleteStyle

    class Words(Completer):
        """The words that Tab offers."""

        def get_completions(self, document: Any, event: Any) -> Iterator[Completion]:
            written, words = candidates(document.text_before_cursor, subject.profile)
            return (Completion(word, -written, word.rstrip()) for word in words)

    reader: PromptSession[str] = PromptSession(
        PROMPT,
        history=_history(),
        completer=Words(),
        complete_while_typing=False,
        complete_style=CompleteStyle.READLINE_LIKE,
    )
    return reader.prompt


def _history() -> Any:
    """The lines of all sessions, in the user's state directory; where it cannot be written, those of this one."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    try:
        state = os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()
        path = Path(state) / "tfprof" / "history"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        with path.open("a"):
            return FileHistory(str(path))
    except (OSError, RuntimeError):
        return InMemoryHistory()


GREETING = "Tab completes, Enter shows the options, help explains, Ctrl-D leaves."


def explore(session: Session) -> int:
    """Run the lines that are typed or piped in; returns the exit code: of a pipe, the last that was not 0."""
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
    """The session after a line, unchanged where the line fails, and the line's exit code."""
    sessions = [session]
    code = attempt(lambda: sessions.append(_run(session, line)))
    return sessions[-1], code


def _run(session: Session, line: str) -> Session:
    if not line.strip():
        print_options(session)
        return session
    request = read_line(line)
    if request.general.get("help"):
        request = CommandRequest("help", (request.command,) if request.command else ())
    request = json_asked(request)
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
