"""Where a result is printed: the `output` option as native tfprof spells it; files are written whole or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tfprof_widget.engine.view import View
from tfprof_widget.errors import ProfileError
from tfprof_widget.output.text import banner, report

KINDS = ("stdout", "none", "file")


@dataclass(frozen=True)
class Destination:
    """A kind of output and, for a file, its name."""

    kind: str
    outfile: str = ""


def parse_output(output: str) -> Destination:
    """Read the option `output`; nothing means the terminal.

    >>> parse_output("file:outfile=/tmp/a=b.txt")
    Destination(kind='file', outfile='/tmp/a=b.txt')
    >>> parse_output("fil:outfile=a")
    Traceback (most recent call last):
        ...
    ValueError: output 'fil:outfile=a': there is no 'fil'; choose from stdout, none, file:outfile=NAME
    """
    kind, _, settings = output.partition(":")
    kind = kind or "stdout"
    if kind not in KINDS:
        raise ValueError(f"output {output!r}: there is no {kind!r}; choose from stdout, none, file:outfile=NAME")
    outfile = ""
    for setting in filter(None, settings.split(",")):
        key, equals, value = setting.partition("=")
        if key != "outfile" or not equals or kind != "file":
            raise ValueError(f"output {output!r}: {kind} takes no {setting!r}; write stdout, none or file:outfile=NAME")
        outfile = value
    if kind == "file" and not outfile:
        raise ValueError(f"output {output!r}: name the file, as in file:outfile=NAME")
    return Destination(kind, outfile)


def deliver(view: View, destination: Destination) -> None:
    """Print the view to where the option says."""
    if destination.kind == "file":
        write_whole(destination.outfile, report(view).encode())
    elif destination.kind == "stdout":
        sys.stdout.write(banner(view.options, report(view)))
        sys.stdout.flush()


def write_whole(path: str, content: bytes) -> None:
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
            f"cannot write {path!r}: {reason}; choose a directory that exists and that you may write to"
        ) from None


def _replace(target: Path, content: bytes) -> None:
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
