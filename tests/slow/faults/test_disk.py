"""Disk full, directory read-only: what is there stays whole, nothing half is left, and the user's run goes on."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path

import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tests.capturing.models import THREE, Model
from tests.slow.faults.disk import WRITERS, entries, full_disk, read_only_directory
from tfprof_widget.lib.errors import ProfileError, ProfileWarning
from tfprof_widget.lib.safely import write_whole

BEFORE = [{}, {"out": b"what was there"}]
IDS = ["new", "there before"]


@pytest.mark.parametrize("before", BEFORE, ids=IDS)
@pytest.mark.parametrize("kind", WRITERS)
def test_a_full_disk_leaves_what_was_there(kind: str, before: dict[str, bytes], tmp_path: Path) -> None:
    for name, content in before.items():
        (tmp_path / name).write_bytes(content)
    with full_disk(), pytest.raises(ProfileError, match=r"^cannot write '.*out': File too large; make room there, or "):
        WRITERS[kind](str(tmp_path / "out"))
    assert entries(tmp_path) == before
    WRITERS[kind](str(tmp_path / "out"))
    assert entries(tmp_path).keys() == {"out"}
    assert len((tmp_path / "out").read_bytes()) > 16


@pytest.mark.parametrize("before", BEFORE, ids=IDS)
@pytest.mark.parametrize("kind", WRITERS)
def test_a_read_only_directory_stays_as_it_is(kind: str, before: dict[str, bytes]) -> None:
    with read_only_directory(before) as directory:
        with pytest.raises(ProfileError, match=r"^cannot write '.*out': Permission denied; choose a directory "):
            WRITERS[kind](str(directory / "out"))
        assert entries(directory) == before


def test_a_full_device_is_told_of_and_stays_a_device() -> None:
    with pytest.raises(ProfileError, match=r"^cannot write '/dev/full': No space left on device; make room there, or "):
        write_whole("/dev/full", b"new")
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


def test_a_loop_goes_on_without_the_dump_that_found_no_room(model: Model, tmp_path: Path) -> None:
    session = model.session()
    with tfprof.ProfileContext(tmp_path, trace_steps=range(4), dump_steps=[1, 3]):
        for step in range(4):
            if step == 1:
                with full_disk(), pytest.warns(ProfileWarning, match="profile_1 is missing: cannot write"):
                    session.run(model.loss, {model.x: THREE})
            else:
                assert session.run(model.loss, {model.x: THREE}) == 3.0
    assert entries(tmp_path).keys() == {"profile_3"}
    assert tfprof.Profile.load(tmp_path / "profile_3").steps == (0, 1, 2, 3)


def test_a_loop_goes_on_where_its_directory_is_read_only(model: Model) -> None:
    session = model.session()
    with read_only_directory() as directory:
        context = tfprof.ProfileContext(directory, trace_steps=range(2), dump_steps=[1])
        with context, pytest.warns(ProfileWarning, match="profile_1 is missing: cannot write") as told:
            results = [session.run(model.loss, {model.x: THREE}) for _ in range(2)]
        assert results == [3.0, 3.0]
        assert len(told) == 1
        assert entries(directory) == {}


def test_steps_go_on_where_the_profiler_finds_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TensorFlow's profiler writes to a file before it gives what it recorded."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    square = tf.function(tf.square)
    with tfprof.capture(name="full", trace_all=True) as prof, full_disk():
        assert [float(square(tf.constant(float(number)))) for number in range(3)] == [0.0, 1.0, 4.0]
        tf.profiler.experimental.start(str(tmp_path / "another"))  # ends the capture's window within the block
        tf.profiler.experimental.stop(save=False)
    assert prof.measurement.runs_seen == 3
    (told,) = [warning for warning in prof.measurement.warnings if "TMPDIR" in warning]
    assert told.startswith("steps are missing, for TensorFlow's profiler writes them to a temporary directory first")
    assert "File too large" in told
    assert "itself" not in prof.text()
    assert list(tmp_path.rglob("*xplane.pb")) == []
    with tfprof.capture(trace_all=True) as prof:
        square(tf.constant(1.0))
    assert "Square" in prof.view("op").names


def test_steps_go_on_where_the_profiler_may_not_write(monkeypatch: pytest.MonkeyPatch) -> None:
    square = tf.function(tf.square)
    with read_only_directory() as directory:
        monkeypatch.setattr(tempfile, "tempdir", str(directory))
        with tfprof.capture(trace_all=True) as prof:
            assert float(square(tf.constant(3.0))) == 9.0
        assert entries(directory) == {}
    assert prof.measurement.runs_seen == 1
    assert prof.measurement.runs_traced == 0
    (told,) = [warning for warning in prof.measurement.warnings if "TMPDIR" in warning]
    assert "Permission denied" in told
