"""A kernel that is killed in mid-dump leaves the file that was there or the new one, never a part of either."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tests.sketches import profile_of
from tests.slow.faults.children import in_fork
from tests.slow.faults.disk import PROFILE, entries
from tfprof_widget.lib.safely import SECONDS_OF_WRITERS, TEMPORARY

OLD = profile_of("a = Op() 5us")


def die(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def at(name: str) -> Callable[[], None]:
    """Dies when a function of the system is called."""
    return lambda: setattr(os, name, die)


def half_way() -> None:
    """Dies when half of the content is in the file."""
    fdopen = os.fdopen

    def opened(*arguments: Any) -> Any:
        file = fdopen(*arguments)

        class Half:
            def __enter__(self) -> Half:
                return self

            def __exit__(self, *_: object) -> None:
                file.close()

            def write(self, content: bytes) -> None:
                file.write(content[: len(content) // 2])
                file.flush()
                die()

        return Half()

    setattr(os, "fdopen", opened)  # noqa: B010 - mypy knows its overloads


def after_rename() -> None:
    """Dies when the new file has its name."""
    replace = os.replace
    setattr(os, "replace", lambda *names: die(replace(*names)))  # noqa: B010 - mypy knows its signature


MOMENTS = {
    "no byte written": at("fdopen"),
    "half of the bytes written": half_way,
    "all written, none known to be on the disk": at("fsync"),
    "all on the disk": at("chmod"),
    "before the rename": at("replace"),
    "after the rename": after_rename,
}


@pytest.mark.parametrize("before", [None, OLD], ids=["new", "there before"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_kernel_leaves_whole_files(moment: str, before: Any, tmp_path: Path) -> None:
    target = tmp_path / "profile_20"
    if before is not None:
        before.save(target)
    old = entries(tmp_path)

    def dump() -> None:
        MOMENTS[moment]()
        PROFILE.save(target)

    ended = in_fork(dump)
    assert (ended.signal, ended.told) == (signal.SIGKILL, "")
    left = entries(tmp_path)
    leftovers = {name for name in left if name.startswith(".tfprof-")}
    if moment == "after the rename":
        assert len(tfprof.Profile.load(target).nodes) == len(PROFILE.nodes)
        assert leftovers == set()
    else:
        assert {name: left[name] for name in left.keys() - leftovers} == old
        assert len(leftovers) == 1
    PROFILE.save(target)
    assert len(tfprof.Profile.load(target).nodes) == len(PROFILE.nodes)
    assert entries(tmp_path).keys() == {"profile_20", *leftovers}  # somebody may be writing these
    for name in leftovers:
        written = (tmp_path / name).stat().st_mtime - SECONDS_OF_WRITERS - 60
        os.utime(tmp_path / name, (written, written))
    PROFILE.save(target)
    assert entries(tmp_path).keys() == {"profile_20"}


KILLED_WHILE_IT_RECORDS = """
import os, signal
import tensorflow as tf
import tfprof_widget as tfprof
from tfprof_widget.capturing.tf_profiler import TfProfiler

def die(profiler):
    assert profiler.is_open
    os.kill(os.getpid(), signal.SIGKILL)

TfProfiler.close = die
square = tf.function(tf.square)
with tfprof.capture(trace_all=True):
    for _ in range(3):
        square(tf.constant(1.0))
"""


def test_a_kernel_that_is_killed_while_it_records_leaves_no_directory(tmp_path: Path) -> None:
    environment = os.environ | {"TMPDIR": str(tmp_path), "TF_CPP_MIN_LOG_LEVEL": "3"}
    ended = subprocess.run([sys.executable, "-c", KILLED_WHILE_IT_RECORDS], env=environment, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert list(tmp_path.glob(f"{TEMPORARY}*")) == []


def test_a_capture_sweeps_what_was_left_by_those_killed_while_they_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = {name: tmp_path / name for name in (f"{TEMPORARY}old", f"{TEMPORARY}new", "of_another")}
    for directory in left.values():
        (directory / "plugins").mkdir(parents=True)
        (directory / "plugins" / "host.xplane.pb").write_bytes(b"")
    long_ago = (tmp_path / f"{TEMPORARY}old").stat().st_mtime - SECONDS_OF_WRITERS - 60
    for name in (f"{TEMPORARY}old", "of_another"):
        os.utime(left[name], (long_ago, long_ago))
    (tmp_path / f"{TEMPORARY}link").symlink_to(left["of_another"])
    square = tf.function(tf.square)
    with tfprof.capture(trace_all=True) as prof:
        square(tf.constant(1.0))
    assert prof.measurement.runs_traced == 1
    assert {path.name for path in tmp_path.iterdir()} == {f"{TEMPORARY}new", f"{TEMPORARY}link", "of_another"}
    assert (left["of_another"] / "plugins" / "host.xplane.pb").exists()
