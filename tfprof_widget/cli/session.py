"""Holds the profile and the options of a session of the command, prints for a terminal, and gives exit codes."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from tfprof_widget.api.profile import Profile, load, merge
from tfprof_widget.api.typed_options import help_text, placeholder
from tfprof_widget.api.view import View
from tfprof_widget.cli.arguments import SHOWN, CommandRequest
from tfprof_widget.ingest.files.loading import load_message, load_run_metas
from tfprof_widget.lib.errors import ProfileError, ProfileWarning, shortened, value_error
from tfprof_widget.lib.text import visible
from tfprof_widget.output.rows import legend, lines
from tfprof_widget.output.text import option_text, preamble
from tfprof_widget.profiles.options import OPTIONS, Option, Options


@dataclass(frozen=True, eq=False)
class LazyProfile:
    """A profile that is loaded when it is first asked for.

    >>> from tfprof_widget.demo import demo_profile
    >>> LazyProfile(demo_profile).profile.steps
    (0,)
    """

    load: Callable[[], Profile]

    @cached_property
    def profile(self) -> Profile:
        """The profile; the first use reads its files."""
        return self.load()


@dataclass(frozen=True, eq=False)
class Session:
    """The profile that commands are about, and the options kept for all of them."""

    subject: LazyProfile
    kept: Mapping[str, Any] = field(default_factory=dict)
    at_prompt: bool = False

    @property
    def profile(self) -> Profile:
        """The subject's profile."""
        return self.subject.profile

    def options(self, given: Mapping[str, Any]) -> Options:
        """The options of a command: given with it, else kept, else a default that fits what the profile holds.

        >>> from tfprof_widget.demo import demo_profile
        >>> session = Session(LazyProfile(demo_profile), {"max_depth": 4})
        >>> session.options({"step": 0}).max_depth, session.options({"max_depth": 5}).max_depth
        (4, 5)
        """
        kept = {**self.kept, **given}
        if "select" not in kept:
            kept["select"] = ("micros",) if self.profile.steps else ("params",)
        return Options.of(**{**_DEFAULTS, **kept})


@dataclass(frozen=True)
class Command:
    """A command of the shell, of the prompt, or of both.

    `usage` is what may stand behind the name; `example` is a whole line.
    """

    name: str
    summary: str
    run: Callable[[Session, CommandRequest], Session]
    usage: str = ""
    example: str = ""
    in_shell: bool = True
    at_prompt: bool = True
    needs_files: bool = True


_NAMES = {option.name for option in OPTIONS}
_DEFAULTS = {option.name: option.default for option in SHOWN if option.name in _NAMES}
DONE, BAD_INPUT, BAD_USAGE = 0, 1, 2
# What a shell reports of a process that SIGINT or SIGPIPE ended.
INTERRUPTED, READER_GONE = 130, 141


def attempt(action: Callable[[], int | None]) -> int:
    """Run an action and return an exit code: the action's own, else one for the error that it raised."""
    try:
        code = action()
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_stdout()
        return READER_GONE
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    except (ProfileError, OSError) as error:
        if isinstance(error, OSError) and error.filename is None:
            _forget_stdout()  # it is full or closed
        say(_reason(error))
        return BAD_INPUT
    except ValueError as error:
        say(_reason(error))
        return BAD_USAGE
    return code or DONE


def say(text: str) -> None:
    """Write a line to the user on standard error; the exit code tells enough where nobody takes it."""
    sys.stdout.flush()
    with suppress(OSError):
        sys.stderr.write(f"tfprof: {shortened(visible(' '.join(text.split())))}\n")
        sys.stderr.flush()


@contextmanager
def spoken_warnings() -> Iterator[None]:
    """Write warnings about the input as lines to the user; leave all other warnings alone."""
    with warnings.catch_warnings():
        otherwise = warnings.showwarning

        def spoken(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, ProfileWarning):
                say(str(message))
            else:
                otherwise(message, category, *where, **more)

        warnings.simplefilter("always", ProfileWarning)
        warnings.showwarning = spoken
        yield


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{str(error.filename)!r}: {error.strerror}"
    if isinstance(error, OSError):
        return f"cannot write the output: {error.strerror}; let it go to a file or a program that takes it"
    return str(error)


def _forget_stdout() -> None:
    """Send the rest of the output nowhere when nobody takes it, as in `tfprof op | head`.

    Else the interpreter would complain when it flushes at its end.
    """
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


PARTS = ("graph_path", "run_meta_path", "op_log_path")


def subject_of(request: CommandRequest) -> LazyProfile:
    """The profile in the files that a request names; the request is checked now, the files are read later.

    >>> subject_of(CommandRequest("scope"))
    Traceback (most recent call last):
        ...
    ValueError: scope: name the files, as in --profile_path=FILE or --graph_path=FILE --run_meta_path=FILE,FILE
    """
    files = request.files
    parts = [f"--{part}" for part in PARTS if files.get(part)]
    if parts and files.get("profile_path"):
        raise value_error(f"--profile_path holds all there is: leave out {' and '.join(parts)}")
    if request.operands and (parts or files.get("profile_path")):
        raise value_error(f"what kind of file is {request.operands[0]!r}? Name all files by options, or all without")
    if not (parts or request.operands or files.get("profile_path")):
        about = f"{request.command}: " if request.command else ""
        raise value_error(
            f"{about}name the files, as in --profile_path=FILE or --graph_path=FILE --run_meta_path=FILE,FILE"
        )
    return LazyProfile(lambda: _loaded(request))


def _loaded(request: CommandRequest) -> Profile:
    files = request.files
    checkpoint, whole = files.get("checkpoint_path") or None, files.get("profile_path")
    errors: Any = files.get("errors", "raise")
    if workers := _of_workers(request.operands):
        return merge({name: load(paths, checkpoint=checkpoint, errors=errors) for name, paths in workers.items()})
    if whole or request.operands:
        return load(whole or list(request.operands), checkpoint=checkpoint, errors=errors)
    graph, op_log = files.get("graph_path"), files.get("op_log_path")
    return Profile.from_protos(
        load_message(graph, "GraphDef") if graph else None,
        load_run_metas(_paths(files.get("run_meta_path", "")), errors),
        load_message(op_log, "OpLogProto") if op_log else None,
        checkpoint=checkpoint,
    )


def _of_workers(operands: Sequence[str]) -> dict[str, list[str]]:
    """The files by worker, where each is given as NAME=FILE; else none."""
    parted = [operand.partition("=") for operand in operands]
    if not all(path and name and "/" not in name for name, _, path in parted) or any(map(_exists, operands)):
        return {}
    files: dict[str, list[str]] = {}
    for name, _, path in parted:
        files.setdefault(name, []).append(path)
    return files


def _exists(operand: str) -> bool:
    return Path(operand).exists()


def _paths(written: str) -> list[str]:
    """The files of a list; a file whose name holds a comma, and which exists, is one file."""
    return [written] if Path(written).is_file() else [path for path in written.split(",") if path]


NAME_COLUMNS, USAGE_COLUMNS, HELP_COLUMNS = 28, 36, 112


def print_options(session: Session) -> None:
    """Print what each option is now."""
    options = session.options({})
    sys.stdout.write(
        "".join(f"{f'-{option.name}':<{NAME_COLUMNS}}{option_text(option.name, options)}\n" for option in OPTIONS)
    )


def option_lines(options: Iterable[Option], dashes: str) -> Iterator[str]:
    """The lines of help on some options.

    >>> from tfprof_widget.cli.arguments import GENERAL
    >>> list(option_lines(GENERAL, "--"))[1]
    '  --help                            Show help, of a command if one is named.'
    """
    for option in options:
        written = f"  {dashes}{option.name} {placeholder(option)}".rstrip()
        if len(written) >= USAGE_COLUMNS:
            yield written
            written = ""
        for line in textwrap.wrap(help_text(option), HELP_COLUMNS - USAGE_COLUMNS):
            yield f"{written:<{USAGE_COLUMNS}}{line}"
            written = ""


DIM, BOLD, ACCENT = "2", "1", "36"
LEAST_NAME = 12


@dataclass(frozen=True)
class Terminal:
    """What the output is read on: its width, None where no line is to be cut, and whether it shows colours."""

    columns: int | None = None
    coloured: bool = False

    @classmethod
    def of(cls, stream: TextIO) -> Terminal:
        """What a stream is read on; no colours where the user wants none, see https://no-color.org.

        >>> import io
        >>> Terminal.of(io.StringIO())
        Terminal(columns=None, coloured=False)
        """
        if not stream.isatty():
            return cls()
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        return cls(shutil.get_terminal_size().columns, not plain)

    def painted(self, text: str, style: str) -> str:
        """The text in a style, where there are any.

        >>> Terminal(80, True).painted("a", BOLD)
        '\\x1b[1ma\\x1b[0m'
        """
        return f"\x1b[{style}m{text}\x1b[0m" if self.coloured and text else text


def print_view(view: View) -> None:
    """Print a view as native tfprof's command line does; on a terminal, a row takes a line."""
    sys.stdout.write(fitted(view, Terminal.of(sys.stdout)))


def fitted(view: View, terminal: Terminal) -> str:
    """The text of a view as it fits a terminal.

    >>> from tfprof_widget.demo import demo_profile
    >>> view = demo_profile().view("scope", max_depth=3, show_name_regexes=["layer1/Relu"], timing="tfprof")
    >>> print(fitted(view, Terminal(46)).splitlines()[-1])
      layer1/Relu (91us/91us, 0us/0us, 91us/91us)
    """
    if terminal.columns is None:
        return preamble(view) + legend(view) + "".join(lines(view))
    depth = [0] * len(view) if view.view == "op" else view.depth.tolist()
    named = chain(zip(view.names, depth, strict=True), [("", 0)])  # the root, where there are no nodes
    rows = [(line, name, level) for line, (name, level) in zip(lines(view), named, strict=False)]
    styled = [(line, DIM) for line in preamble(view).splitlines()]
    styled += [(line, BOLD) for line in legend(view).splitlines()]
    head = [terminal.painted(beginning(line, terminal.columns), style) for line, style in styled]
    body = [line for row in rows for line in _row(*row, terminal)]
    return "".join(f"{line}\n" for line in (*head, *body))


def beginning(text: str, columns: int) -> str:
    """The beginning of a line, as much of it as is `columns` wide.

    >>> beginning("scope", 5), beginning("scopes", 5), beginning("日本語", 5)
    ('scope', 'scop…', '日本…')
    """
    if width(text) <= columns:
        return text
    kept, used = [], 1
    for character in text:
        used += _width_of(character)
        if used > columns:
            break
        kept.append(character)
    return "".join(kept) + "…"


def ending(text: str, columns: int) -> str:
    """The end of a name, where siblings differ.

    >>> ending("layer1/MatMul", 7), ending("MatMul", 7)
    ('…MatMul', 'MatMul')
    """
    return beginning(text[::-1], columns)[::-1]


def width(text: str) -> int:
    """How many columns of a terminal a text takes.

    >>> width("a日")
    3
    """
    return len(text) if text.isascii() else sum(map(_width_of, text))


def _row(row: str, name: str, depth: int, terminal: Terminal) -> list[str]:
    """The lines of a row. In the first the name is shortened, so that no figure is lost."""
    first, *others = row.rstrip("\n").split("\n")
    columns = terminal.columns or 0
    indentation = _indentation(depth, columns)
    name = visible(name)
    figures = first[2 * depth + len(name) :]
    room = max(columns - width(indentation) - width(figures), LEAST_NAME)
    name = ending(name, room)
    figures = beginning(figures, columns - width(indentation) - width(name))
    line = indentation + terminal.painted(name, ACCENT) + figures
    return [line, *(beginning(each, columns) for each in others)]


def _indentation(depth: int, columns: int) -> str:
    """Two columns a level; the level as a number where that would take more than a third of the width."""
    if 2 * depth <= columns // 3:
        return "  " * depth
    return f"{f'{depth}: ':>{columns // 3}}"


def _width_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
