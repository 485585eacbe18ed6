"""Finds the files that a path, a pattern, a directory or a URL means."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from glob import has_magic
from os import PathLike, fspath
from pathlib import Path, PurePosixPath
from typing import Any

from tfprof_widget.lib.errors import ProfileError, ProfileWarning, value_error
from tfprof_widget.lib.urls import file_system, is_url, reason, refusal


def natural_order(name: str) -> list[tuple[int, str]]:
    """The key by which names are sorted; numbers in them are sorted by value.

    >>> sorted(["profile_10", "profile_9"], key=natural_order)
    ['profile_9', 'profile_10']
    """
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


SUFFIXES = (".xplane.pb", ".xplane.pb.gz")
_PROFILES = ("plugins", "profile")
_MOST_NAMED = 3


def patterns(directory: str) -> tuple[str, ...]:
    """The patterns of the profiler's files below a directory, given by its full path; each run has one directory.

    >>> patterns("/logs/plugins/profile/2024_05_17_10_30_00")
    ('*.xplane.pb*',)
    >>> len(patterns("/logs"))
    3
    """
    parts = PurePosixPath(directory.replace("\\", "/")).parts
    files = f"*{SUFFIXES[0]}*"
    if parts[-3:-1] == _PROFILES:
        return (files,)
    if parts[-2:] == _PROFILES:
        return (f"*/{files}",)
    return tuple(f"{above}plugins/profile/*/{files}" for above in ("", "*/", "*/*/"))


def of_newest_run(names: Iterable[str], directory: str) -> set[str]:
    """The files of the newest run: the last by the name of its directory, which TensorFlow makes from the time.

    A warning names the runs that are left out.

    >>> sorted(of_newest_run(["run_1/a.xplane.pb", "run_1/b.xplane.pb", "run_1/notes"], "run_1"))
    ['run_1/a.xplane.pb', 'run_1/b.xplane.pb']
    """
    runs: dict[str, set[str]] = {}
    for name in names:
        if name.endswith(SUFFIXES):
            runs.setdefault(run_of(name), set()).add(name)
    if not runs:
        return set()
    newest, *others = sorted(runs, key=lambda run: (natural_order(PurePosixPath(run).name), run), reverse=True)
    if others:
        named = ", ".join(others[:_MOST_NAMED]) + (" …" if len(others) > _MOST_NAMED else "")
        warnings.warn(
            f"{directory}: of {len(runs):,} runs this is the newest, {newest}; "
            f"to load another one, give its directory: {named}",
            ProfileWarning,
            stacklevel=2,
        )
    return runs[newest]


def run_of(name: str) -> str:
    """The directory of a file, which holds the files of one run, one for each host.

    >>> run_of("logs/plugins/profile/2024_05_17_10_30_00/host.xplane.pb")
    'logs/plugins/profile/2024_05_17_10_30_00'
    """
    return str(PurePosixPath(name.replace("\\", "/")).parent)


AnyPath = str | PathLike[str]
Source = AnyPath | Iterable[AnyPath]

_WAY_OUT = "give a file, a directory, a pattern such as 'logs/profile_*', a URL, or a list of these"


@dataclass(frozen=True)
class File:
    """A file to read; `is_chosen` says that it was named or matched, and not only found in a directory.

    It can be sent to another process, and read there.
    """

    name: str
    size: int
    is_chosen: bool
    fetch: Callable[[], bytes]

    def read(self) -> bytes:
        """All bytes of the file."""
        try:
            return self.fetch()
        except Exception as error:  # file systems may raise any error
            way_out = "check it, and try again"
            if self.name.startswith("memory://"):
                way_out = (
                    "memory:// is of one process: write the files where the workers of the cluster can read them too"
                )
            raise ProfileError(f"cannot read {self.name!r}: {reason(error)}; {way_out}") from None


def find_files(source: Source) -> list[File]:
    """The files of a source; files of a directory or pattern are ordered by the numbers in their names.

    A log directory of TensorBoard stands for the newest run of its profiler.

    >>> find_files("no_such_file")
    Traceback (most recent call last):
        ...
    tfprof_widget.ProfileError: cannot read 'no_such_file': there is no such file; ...
    """
    if isinstance(source, str | PathLike):
        return list(_found(source))
    if not isinstance(source, Iterable):
        raise ProfileError(f"source: got {type(source).__name__}; {_WAY_OUT}")
    return [file for path in source for file in _found(path)]


def _found(path: AnyPath) -> Iterator[File]:
    if not isinstance(path, str | PathLike):
        raise ProfileError(f"source: got {type(path).__name__}; {_WAY_OUT}")
    name = fspath(path)
    try:
        found = list(_remote(name) if is_url(name) else _local(name))
    except (OSError, ValueError) as error:
        raise ProfileError(f"cannot read {name!r}: {reason(error)}; {_WAY_OUT}") from None
    if not found:
        raise ProfileError(f"cannot read {name!r}: there is no such file; {_WAY_OUT}")
    yield from sorted(found, key=lambda file: natural_order(file.name))


def _local(name: str) -> Iterator[File]:
    path = Path(name).expanduser()
    if path.is_dir():
        inside = _of_profiler(path) or [each for each in path.iterdir() if _is_visible_file(each)]
        yield from (_local_file(each, is_chosen=False) for each in inside)
        if not inside:
            raise value_error("the directory holds no files")
    elif path.exists():
        yield _local_file(path, is_chosen=True)
    elif has_magic(name):
        matches = Path(path.anchor).glob(str(path.relative_to(path.anchor)))
        yield from (_local_file(each, is_chosen=True) for each in matches if _is_visible_file(each))


def _of_profiler(directory: Path) -> list[Path]:
    """The files of the newest run of TensorFlow's profiler, if this is one of its directories."""
    found = {
        str(path): path
        for pattern in patterns(str(directory.absolute()))
        for path in directory.glob(pattern)
        if _is_visible_file(path)
    }
    return [found[name] for name in of_newest_run(found, str(directory))]


def _is_visible_file(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(".")


def _local_file(path: Path, *, is_chosen: bool) -> File:
    return File(str(path), path.stat().st_size, is_chosen, path.read_bytes)


def _remote(url: str) -> Iterator[File]:
    """The files of a URL: memory://, s3://, gs://, https:// ..."""
    system, path = file_system(url, "read")
    try:
        if "*" in path:
            entries = [entry for entry in system.glob(path, detail=True).values() if entry["type"] == "file"]
        elif system.isdir(path):
            entries = _remote_profiler(system, path, url)
            entries = entries or [entry for entry in system.ls(path, detail=True) if entry["type"] == "file"]
        else:
            entries = [system.info(path)]
    except FileNotFoundError:
        return
    except Exception as error:  # each file system has errors of its own
        raise refusal(url, "read", error) from None
    is_directory = "*" not in path and system.isdir(path)
    for entry in entries:
        yield _remote_file(system, entry, is_chosen=not is_directory)


def _remote_profiler(system: Any, path: str, url: str) -> list[dict[str, Any]]:
    directory = path.rstrip("/")
    found: dict[str, dict[str, Any]] = {}
    for pattern in patterns(f"/{directory}"):
        found |= system.glob(f"{directory}/{pattern}", detail=True)
    return [found[name] for name in of_newest_run(found, url)]


def _remote_file(system: Any, entry: dict[str, Any], *, is_chosen: bool) -> File:
    path = entry["name"]
    return File(system.unstrip_protocol(path), entry.get("size") or 0, is_chosen, partial(_fetched, system, path))


def _fetched(system: Any, path: str) -> bytes:
    return bytes(system.cat_file(path))
