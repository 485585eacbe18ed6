"""Finds the XSpaces in a log directory of TensorBoard's: those of its newest run."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import PurePosixPath

from tfprof_widget.errors import ProfileWarning
from tfprof_widget.loading.names import natural_order

SUFFIXES = (".xplane.pb", ".xplane.pb.gz")
_PROFILES = ("plugins", "profile")
_MOST_NAMED = 3


def patterns(directory: str) -> tuple[str, ...]:
    """Where in a directory, given by its whole path, the profiler's files may be; a run's files are in one directory.

    >>> patterns("/logs/plugins/profile/2024_05_17_10_30_00")
    ('*.xplane.pb*',)
    >>> patterns("/logs")
    ('plugins/profile/*/*.xplane.pb*', '*/plugins/profile/*/*.xplane.pb*')
    """
    parts = PurePosixPath(directory.replace("\\", "/")).parts
    files = f"*{SUFFIXES[0]}*"
    if parts[-3:-1] == _PROFILES:
        return (files,)
    if parts[-2:] == _PROFILES:
        return (f"*/{files}",)
    return (f"plugins/profile/*/{files}", f"*/plugins/profile/*/{files}")


def of_newest_run(names: Iterable[str], directory: str) -> set[str]:
    """The files of the run that comes last by the name of its directory, which TensorFlow makes of the time.

    It warns of the runs that are left out.

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
