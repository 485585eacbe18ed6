"""Where a result goes, and that a file is written whole or not at all."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from typing import Any

import pytest

import tfprof_widget as tfprof
from tests.sketches import profile_of, protos_of
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.safely import write_whole
from tfprof_widget.output.destination import Destination, deliver, parse_output

VIEW = profile_of("a = Op() 5us").view("scope")
CHOICES = "choose from stdout, none, file:outfile=NAME, timeline:outfile=NAME, pprof:outfile=NAME"


@pytest.mark.parametrize(
    ("output", "destination"),
    [
        ("", Destination("stdout")),
        ("stdout", Destination("stdout")),
        ("stdout:", Destination("stdout")),
        ("none", Destination("none")),
        ("file:outfile=report", Destination("file", "report")),
        ("file:outfile=a=b.txt", Destination("file", "a=b.txt")),
        ("file:outfile=C:report", Destination("file", "C:report")),
        ("file:outfile=with space", Destination("file", "with space")),
        ("timeline:outfile=run.json", Destination("timeline", "run.json")),
        ("pprof:outfile=run.pb.gz", Destination("pprof", "run.pb.gz")),
    ],
)
def test_outputs_are_spelled_as_natively(output: str, destination: Destination) -> None:
    assert parse_output(output) == destination


@pytest.mark.parametrize(
    ("output", "complaint"),
    [
        ("printer", "there is no 'printer'; CHOICES"),
        ("FILE:outfile=a", "there is no 'FILE'; CHOICES"),
        ("file", "name the file, as in file:outfile=NAME"),
        ("file:", "name the file, as in file:outfile=NAME"),
        ("file:outfile=", "name the file, as in file:outfile=NAME"),
        ("timeline", "name the file, as in timeline:outfile=NAME"),
        ("pprof:outfile=", "name the file, as in pprof:outfile=NAME"),
        ("timeline:run.json", "timeline takes no 'run.json'; CHOICES"),
        ("file:report", "file takes no 'report'; CHOICES"),
        ("file:out=report", "file takes no 'out=report'; CHOICES"),
        ("stdout:outfile=a", "stdout takes no 'outfile=a'; CHOICES"),
        ("none:outfile=a", "none takes no 'outfile=a'; CHOICES"),
    ],
)
def test_what_is_misspelt_is_refused_with_the_right_spelling(output: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=r"^output ") as caught:
        parse_output(output)
    assert str(caught.value) == f"output {output!r}: {complaint.replace('CHOICES', CHOICES)}"


def test_a_file_holds_the_report_without_the_banner(tmp_path: Path) -> None:
    deliver(VIEW, Destination("file", str(tmp_path / "report")))
    assert (tmp_path / "report").read_text() == VIEW.text()


def test_the_terminal_gets_the_banner_too(capsys: pytest.CaptureFixture[str]) -> None:
    deliver(VIEW, Destination("stdout"))
    printed = capsys.readouterr().out
    assert printed.startswith("\n=========================Options=============================\n")
    assert VIEW.text() in printed


def test_none_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    deliver(VIEW, Destination("none"))
    assert capsys.readouterr() == ("", "")


def test_an_output_is_checked_before_anything_is_computed() -> None:
    graph, (run_meta,), _ = protos_of("a = Op() 5us")
    with pytest.raises(ValueError, match=r"^output 'fil': "):
        tfprof.profile(graph, run_meta, options={"output": "fil", "step": 99})


def test_names_in_any_script_are_written(tmp_path: Path) -> None:
    deliver(profile_of("été/日本 = Op() 5us").view("scope"), Destination("file", str(tmp_path / "größe.txt")))
    assert "été/日本" in (tmp_path / "größe.txt").read_text(encoding="utf-8")


def entries(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def no_space_left(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def interrupted(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("fails", ["fsync", "replace", "chmod", "fdopen"])
@pytest.mark.parametrize("before", [{}, {"report": b"what was there"}], ids=["new", "there before"])
def test_a_write_that_fails_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: dict[str, bytes], fails: str
) -> None:
    for name, content in before.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.setattr(os, fails, no_space_left)
    with pytest.raises(ProfileError, match=r"^cannot write '.*report': No space left on device; make room there"):
        write_whole(str(tmp_path / "report"), b"new")
    assert entries(tmp_path) == before


@pytest.mark.parametrize("fails", ["fsync", "replace", "chmod"])
def test_so_does_one_that_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str) -> None:
    (tmp_path / "report").write_bytes(b"what was there")
    monkeypatch.setattr(os, fails, interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(str(tmp_path / "report"), b"new")
    assert entries(tmp_path) == {"report": b"what was there"}


def test_a_file_is_there_whole_from_the_first_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []
    replace = os.replace

    def watched(source: str, target: Path) -> None:
        seen.append(target.read_bytes())
        replace(source, target)
        seen.append(target.read_bytes())

    (tmp_path / "report").write_bytes(b"old")
    monkeypatch.setattr(os, "replace", watched)
    write_whole(str(tmp_path / "report"), b"new" * 100_000)
    assert seen == [b"old", b"new" * 100_000]


def test_a_new_file_may_be_read_by_whom_the_umask_lets(tmp_path: Path) -> None:
    (tmp_path / "made").touch()
    write_whole(str(tmp_path / "written"), b"")
    assert (tmp_path / "written").stat().st_mode == (tmp_path / "made").stat().st_mode


@pytest.mark.parametrize("path", ["missing/report", ".", "a file/report", "with\0null"])
def test_where_nothing_can_be_written_it_says_so(tmp_path: Path, path: str) -> None:
    (tmp_path / "a file").write_bytes(b"there")
    with pytest.raises(ProfileError, match=r"^cannot write '.*': .*; choose a directory that exists"):
        write_whole(str(tmp_path / path), b"new")
    assert entries(tmp_path) == {"a file": b"there"}


def test_a_name_may_be_as_long_as_names_get(tmp_path: Path) -> None:
    write_whole(str(tmp_path / ("n" * 255)), b"new")
    assert entries(tmp_path) == {"n" * 255: b"new"}


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"old")
    (tmp_path / "link").symlink_to("there")
    write_whole(str(tmp_path / "link"), b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there").read_bytes() == b"new"


def test_a_pipe_is_written_to_and_not_replaced_as_little_as_a_device(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_whole(str(pipe), b"new")
    reader.join(60)
    assert read == [b"new"]
    assert pipe.is_fifo()
