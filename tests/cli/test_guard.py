"""`tfprof compare BEFORE… --against AFTER…`: what it prints, and its exit codes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.comparing.runs import Maker
from tfprof_widget.cli import main
from tfprof_widget.demo import demo_profile
from tfprof_widget.output.saved import save


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directories of runs: a baseline, the same once more, slower ones, and a baseline of another machine."""
    folder, made = tmp_path_factory.mktemp("runs"), Maker(20, of_run=0.002, of_step=0.01)
    groups = {"base": made.runs(4), "same": made.runs(4), "slower": made.runs(4, factor=1.2)}
    groups["far"] = [replace(run, fingerprint={**run.fingerprint, "processor": "another"}) for run in groups["base"]]
    for name, runs in groups.items():
        (folder / name).mkdir()
        for number, run in enumerate(runs):
            save(demo_profile(), folder / name / f"{number}.tfprof", run)
    return folder


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["base", "--against", "same"], 0, "Passed: a step is not seen to be slower by more than 5 %."),
        (["base", "--against=slower"], 1, "Failed: a step is slower by more than 5 %."),
        (["base", "--against", "slower", "--fail-over", "30%"], 0, "Passed: a step is not seen to be slower by more"),
        (["slower", "--against", "base"], 0, "faster"),
        (["base/0.tfprof", "--against", "same/0.tfprof", "same/1.tfprof", "--by", "type"], 0, "1 run against 2"),
        (["far", "--against", "same", "--other-machine"], 0, "note: processor differs: another before, made up after"),
    ],
)
def test_exit_codes(
    kept: Path,
    words: list[str],
    code: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(kept)
    assert main(["compare", *words]) == code
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["far", "--against", "same"], "the runs before are of another machine (processor: another before, made up"),
        (["base", "--against"], "name files on both sides"),
        (["--against", "base"], "name files on both sides"),
        (["base", "--fail-over", "10%"], "name files on both sides of --against, as in tfprof compare old.tfprof"),
        (["base", "--against", "same", "--against", "slower"], "--against stands once"),
        (["base", "--against", "nowhere"], "there is no such file"),
        (["base", "--against", "same", "--fail-over", "much"], "--fail-over is 'much', but must be a share"),
        (["base", "--against", "same", "--view", "op"], "there is no option --view"),
    ],
)
def test_what_is_not_understood(
    kept: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exit code of 1 would say that something became slower."""
    monkeypatch.chdir(kept)
    assert main(["compare", *words]) == 2
    assert said in capsys.readouterr().err


def test_what_cannot_be_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in "ab":
        save(demo_profile(), tmp_path / name, replace(Maker(5).run(), step_seconds=Maker(5).run().step_seconds[:3]))
    assert main(["compare", str(tmp_path / "a"), "--against", str(tmp_path / "b")]) == 3
    assert "Undecided: record more runs on each side" in capsys.readouterr().out


def test_json(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(kept / "base"), "--against", str(kept / "slower"), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["version"], told["exit_code"], told["step"]["verdict"], told["step"]["runs"]) == (
        1,
        1,
        "slower",
        [4, 4],
    )
    assert told["ops"][0].keys() >= {"name", "before_micros", "after_micros", "ratio", "low", "high", "verdict", "q"}


def test_markdown(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["compare", str(kept / "base"), "--against", str(kept / "slower"), "--markdown"])
    lines = capsys.readouterr().out.splitlines()
    assert "| op | before | after | ratio | verdict | matched by |" in lines
    assert lines[lines.index("| op | before | after | ratio | verdict | matched by |") + 1] == "|" + " --- |" * 6


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--against", "--help"]) == 0
    assert "--other-machine: Compare also with runs of another machine." in capsys.readouterr().out
