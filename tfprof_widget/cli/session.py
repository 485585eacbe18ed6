"""Holds the profile and the options that a session of the command keeps, and turns errors into exit codes."""

from __future__ import annotations

import os
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tfprof_widget.api.profile import Profile, load, merge
from tfprof_widget.api.typed_options import help_text, placeholder
from tfprof_widget.cli.arguments import SHOWN, CommandRequest
from tfprof_widget.ingest.files.loading import load_message, load_run_metas
from tfprof_widget.lib.errors import ProfileError, ProfileWarning, shortened, value_error
from tfprof_widget.lib.text import visible
from tfprof_widget.output.text import option_text
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
