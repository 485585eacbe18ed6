"""A disk that is full and a directory that may not be written to, for a while, and what a profile is written to."""

from __future__ import annotations

import os
import resource
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tfprof_widget.demo import demo_profile
from tfprof_widget.output.destination import Destination, deliver, write_pprof, write_timeline

NOBODY = 65534
PROFILE = demo_profile()

WRITERS: dict[str, Callable[[str], object]] = {
    "profile": PROFILE.save,
    "report": lambda path: PROFILE.widget().save_report(path),
    "text": lambda path: deliver(PROFILE.view("scope"), Destination("file", path)),
    "timeline": lambda path: write_timeline(PROFILE.view("graph"), path),
    "pprof": lambda path: write_pprof(PROFILE.view("code"), path),
}


@contextmanager
def full_disk(room: int = 16) -> Iterator[None]:
    """No file gets more than so many bytes: the system refuses the rest, in Python and in TensorFlow alike."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def read_only_directory(content: dict[str, bytes] | None = None) -> Iterator[Path]:
    """A directory with these files that nobody may write to, not even root, who is somebody else meanwhile."""
    with tempfile.TemporaryDirectory() as directory:
        for name, each in (content or {}).items():
            (Path(directory) / name).write_bytes(each)
        Path(directory).chmod(0o555)
        user = os.geteuid()
        if user == 0:
            os.seteuid(NOBODY)
        try:
            yield Path(directory)
        finally:
            os.seteuid(user)
            Path(directory).chmod(0o755)


def entries(directory: Path) -> dict[str, bytes]:
    """All files of a directory, hidden ones too."""
    return {path.name: path.read_bytes() for path in directory.iterdir()}
