"""A kernel that is killed in mid-dump leaves the file that was there or the new one, never a part of either."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tfprof_widget as tfprof
from tests.sketches import profile_of
from tests.slow.faults.children import in_fork
from tests.slow.faults.disk import PROFILE, entries

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
    assert entries(tmp_path).keys() == {"profile_20", *leftovers}
