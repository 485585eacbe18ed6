"""A damaged file is refused or skipped by one rule, however it was found: in a directory, in a list or by a worker."""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tfprof_widget as tfprof
from tests.ingest.spaces import Space
from tests.sketches import protos_of
from tfprof_widget.cli import main
from tfprof_widget.ingest.files.find import find_files
from tfprof_widget.ingest.files.reading import DamagedFiles, read_batch
from tfprof_widget.lib.errors import ProfileError, ProfileWarning

PROTOS = protos_of(
    """
    w    = VariableV2() 1us;2us 3x4
    loss = MatMul(w) 9us;7us
    """
)
WHOLE = PROTOS.run_metas[1].SerializeToString()
DAMAGES: dict[str, tuple[bytes, str]] = {
    "cut off": (WHOLE[:-3], "these .* bytes are no RunMetadata"),
    "cut off in gzip": (gzip.compress(WHOLE, mtime=0)[:-9], "compressed by gzip, but damaged"),
    "empty": (b"", "the file is empty"),
    "other bytes": (b"\xff" * 40, "this is none of RunMetadata"),
    "no text": (b"step_stats { dev_stats }", "as the text of a RunMetadata it cannot be read"),
}
WAYS: dict[str, Callable[[Path], Any]] = {
    "directory": lambda written: written,
    "pattern": lambda written: [written / "graph", written / "run_meta_*"],
    "list": lambda written: [written / "graph", written / "run_meta_2", written / "run_meta_7"],
    "URL": lambda written: f"file://{written}",
}


@pytest.fixture(params=DAMAGES)
def damaged(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """A directory with a graph, a whole run and a damaged one, and the reason why that one cannot be loaded."""
    content, reason = DAMAGES[request.param]
    (tmp_path / "graph").write_bytes(PROTOS.graph.SerializeToString())
    (tmp_path / "run_meta_2").write_bytes(PROTOS.run_metas[0].SerializeToString())
    (tmp_path / "run_meta_7").write_bytes(content)
    return tmp_path, reason


@pytest.mark.parametrize("way", WAYS)
def test_damaged_file_is_an_error(damaged: tuple[Path, str], way: str) -> None:
    written, reason = damaged
    with pytest.raises(ProfileError, match=f"run_meta_7.*{reason}"):
        tfprof.load(WAYS[way](written))


@pytest.mark.parametrize("way", WAYS)
def test_damaged_file_is_skipped_where_that_is_asked_for(damaged: tuple[Path, str], way: str) -> None:
    written, reason = damaged
    with pytest.warns(ProfileWarning, match=f"skipped 1 of 3 files: .*run_meta_7.*{reason}"):
        profile = tfprof.load(WAYS[way](written), errors="skip")
    assert profile.steps == (2,)
    (told,) = profile.skipped
    assert "run_meta_7" in told


def test_workers_of_a_cluster_skip_by_the_same_rule(damaged: tuple[Path, str]) -> None:
    written, reason = damaged
    with pytest.raises(ProfileError, match=reason):
        read_batch(find_files(written))
    batch = read_batch(find_files(written), "skip")
    assert [Path(part.file.name).name for part in batch.parts] == ["graph", "run_meta_2"]
    (told,) = batch.skipped
    assert "run_meta_7" in told


def test_command_line(damaged: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    written, _ = damaged
    assert main(["op", str(written)]) == 1
    assert "run_meta_7" in capsys.readouterr().err
    files = [f"--graph_path={written / 'graph'}", f"--run_meta_path={written / 'run_meta_2'},{written / 'run_meta_7'}"]
    for given in ([str(written)], files):
        assert main(["op", *given, "--errors=skip"]) == 0
        told = capsys.readouterr()
        assert "skipped 1 of" in told.err
        assert "MatMul" in told.out


def test_damaged_xspaces(tmp_path: Path) -> None:
    space = Space()
    space.add("python", "dense/MatMul:MatMul", 1_000, 9_000)
    content = space.message.SerializeToString()
    (tmp_path / "a.xplane.pb").write_bytes(content)
    (tmp_path / "b.xplane.pb").write_bytes(content[:-4])
    with pytest.raises(ProfileError, match=r"b\.xplane\.pb"):
        tfprof.load(tmp_path)
    with pytest.warns(ProfileWarning, match="skipped 1 of 2 files"):
        profile = tfprof.load(tmp_path, errors="skip")
    assert len(profile.executions) == 1


def test_directory_of_damaged_files_is_no_profile(tmp_path: Path) -> None:
    for step in range(3):
        (tmp_path / f"run_meta_{step}").touch()
    with pytest.raises(ProfileError, match=r"every file was skipped; .*run_meta_0: the file is empty"):
        tfprof.load(tmp_path, errors="skip")


def test_long_list_of_skipped_files_is_told_in_short(tmp_path: Path) -> None:
    (tmp_path / "graph").write_bytes(PROTOS.graph.SerializeToString())
    for step in range(9):
        (tmp_path / f"run_meta_{step}").touch()
    with pytest.warns(ProfileWarning, match="skipped 9 of 10 files: .*; and 6 more, which `skipped`"):
        profile = tfprof.load(tmp_path, errors="skip")
    assert len(profile.skipped) == 9


@pytest.mark.parametrize("name", ["README.md", "profile.html", "run_meta.json", "checkpoint", "saved_model.pb"])
@pytest.mark.parametrize("content", [b"", b"\xff" * 40, b'{"traceEvents": []}'])
def test_other_files_of_a_directory_are_passed_over(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / "graph").write_bytes(PROTOS.graph.SerializeToString())
    (tmp_path / name).write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tfprof.load(tmp_path).skipped == ()
        assert tfprof.load(tmp_path, errors="skip").skipped == ()


def test_other_words_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="errors is 'ignore', but must be 'raise' or 'skip'"):
        DamagedFiles("ignore")
