"""Where a result is printed: the `output` option as native tfprof spells it; files are written whole or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from tfprof_widget.engine.view import View
from tfprof_widget.errors import ProfileError
from tfprof_widget.options import Options
from tfprof_widget.output.pprof import pprof_profile, selected_measures
from tfprof_widget.output.text import banner, report
from tfprof_widget.output.timeline.timeline_files import EVENTS, timeline_files

FILES = ("file", "timeline", "pprof")
KINDS = ("stdout", "none", *FILES)
# The views that can be written so, as natively; the first where none is named.
_VIEWS = {"timeline": tuple(EVENTS), "pprof": ("code",)}

_CHOICES = "choose from " + ", ".join(kind if kind not in FILES else f"{kind}:outfile=NAME" for kind in KINDS)
_STARS = "*" * 54


@dataclass(frozen=True)
class Destination:
    """A kind of output and, for a file, its name."""

    kind: str
    outfile: str = ""

    @property
    def is_file(self) -> bool:
        """Whether it is a file that is written, and nothing but a word on it printed."""
        return self.kind in FILES


def parse_output(output: str) -> Destination:
    """Read the option `output`; nothing means the terminal.

    >>> parse_output("file:outfile=/tmp/a=b.txt")
    Destination(kind='file', outfile='/tmp/a=b.txt')
    >>> parse_output("fil:outfile=a")
    Traceback (most recent call last):
        ...
    ValueError: output 'fil:outfile=a': there is no 'fil'; choose from stdout, none, file:outfile=NAME, ...
    """
    kind, _, settings = output.partition(":")
    destination = Destination(kind or "stdout")
    if destination.kind not in KINDS:
        raise ValueError(f"output {output!r}: there is no {kind!r}; {_CHOICES}")
    outfile = ""
    for setting in filter(None, settings.split(",")):
        key, equals, value = setting.partition("=")
        if key != "outfile" or not equals or not destination.is_file:
            raise ValueError(f"output {output!r}: {kind} takes no {setting!r}; {_CHOICES}")
        outfile = value
    if destination.is_file and not outfile:
        raise ValueError(f"output {output!r}: name the file, as in {kind}:outfile=NAME")
    return Destination(destination.kind, outfile)


def view_for(destination: Destination, otherwise: str) -> str:
    """The view to make where none is named.

    >>> view_for(Destination("timeline"), "op"), view_for(Destination("stdout"), "op")
    ('graph', 'op')
    """
    return _VIEWS.get(destination.kind, (otherwise,))[0]


def check_output(destination: Destination, view: str, options: Options) -> None:
    """Refuse an output that a view cannot be written as, before the view is made.

    >>> check_output(Destination("timeline", "run.json"), "op", Options.of())
    Traceback (most recent call last):
        ...
    ValueError: output timeline: there is none of the op view; choose the view graph, scope or code
    """
    views = _VIEWS.get(destination.kind, (view,))
    if view not in views:
        choices = " or ".join(filter(None, [", ".join(views[:-1]), views[-1]]))
        raise ValueError(f"output {destination.kind}: there is none of the {view} view; choose the view {choices}")
    if destination.kind == "pprof":
        selected_measures(options)


def deliver(view: View, destination: Destination) -> None:
    """Print the view to where the option says."""
    if destination.kind == "stdout":
        _print(banner(view.options, report(view)))
    elif destination.is_file:
        _print(write(view, destination))


def write(view: View, destination: Destination) -> str:
    """Write the view to a file, and return what is to be said of it: how a timeline or pprof profile is looked at."""
    path = destination.outfile
    match destination.kind:
        case "timeline":
            return _on_timelines(write_timeline(view, path))
        case "pprof":
            write_pprof(view, path)
            return f"\nRun pprof -png --nodecount=100 --sample_index=1 <{path}>\n"
    write_whole(path, report(view).encode())
    return ""


def _on_timelines(names: list[str]) -> str:
    first, *others = names
    told = f"Timeline file is written to {first}."
    if others:
        told = f"{len(names)} timeline files are written, from {first} to {others[-1]}."
    how = "Open a Chrome browser, enter URL chrome://tracing and load the timeline file."
    return f"\n{_STARS}\n{told}\n{how}\n{_STARS}\n"


def write_timeline(view: View, path: str | PathLike[str]) -> list[str]:
    """Write the timeline of a view, and return the names of the files: `path`, or one a step for `{step}` in it."""
    check_output(Destination("timeline"), view.view, view.options)
    written = []
    for name, content in timeline_files(view, os.fspath(path)):
        write_whole(name, content)
        written.append(name)
    return written


def write_pprof(view: View, path: str | PathLike[str]) -> None:
    """Write a code view as pprof's profile."""
    check_output(Destination("pprof"), view.view, view.options)
    write_whole(path, pprof_profile(view))


def _print(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def write_whole(path: str | PathLike[str], content: bytes | bytearray) -> None:
    """Write a file so that a reader finds either all of it or what was there before.

    >>> write_whole("/no/such/directory/file", b"")
    Traceback (most recent call last):
        ...
    tfprof_widget.errors.ProfileError: cannot write '/no/such/directory/file': ...
    """
    try:
        if Path(path).exists() and not Path(path).is_file():
            Path(path).write_bytes(content)  # a pipe or a device, which must not be replaced
        else:
            _replace(Path(path).resolve(), content)  # a link stays a link
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ProfileError(
            f"cannot write {os.fspath(path)!r}: {reason}; choose a directory that exists and that you may write to"
        ) from None


def _replace(target: Path, content: bytes | bytearray) -> None:
    handle, beside = tempfile.mkstemp(prefix=".tfprof-", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(beside).chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        Path(beside).replace(target)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
