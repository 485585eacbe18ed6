"""Profiles of several workers at the command line: NAME=FILE, side by side or as one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sketches import profile_of
from tfprof_widget import Profile
from tfprof_widget.cli import main

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    profile_of("a = MatMul() 10us;20us\nb = Relu() 1us;-").save(tmp_path / "fast")
    profile_of("a = MatMul() 50us\nb = Relu() 3us\nc = Add() 2500us").save(tmp_path / "slow")
    return [f"{name}={tmp_path / name}" for name in ("fast", "slow")]


def test_two_are_compared_with_units_the_largest_difference_first(words: list[str], capsys: Captured) -> None:
    assert main(["compare", *words]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "micros by op type, the largest difference first",
        "name      fast     slow  difference  ratio",
        "Add       0 µs  2.50 ms     2.50 ms      -",
        "MatMul   15 µs    50 µs       35 µs   3.33",
        "Relu    500 ns     3 µs     2.50 µs   6.00",
    ]


def test_what_is_compared_is_what_is_ordered_by(words: list[str], capsys: Captured) -> None:
    assert main(["compare", *words, "--order_by=occurrence", "--show_name_regexes=MatMul"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["name", "fast", "slow", "difference", "ratio"]
    assert main(["compare", *words, "--order_by=params"]) == 0
    assert capsys.readouterr().out.startswith("params by op type")


def test_it_prints_only_and_says_so(words: list[str], tmp_path: Path, capsys: Captured) -> None:
    assert main(["compare", *words, "-o", f"file:outfile={tmp_path / 'table'}"]) != 0
    assert "compare: it prints only" in capsys.readouterr().err
    assert not (tmp_path / "table").exists()


def test_files_without_names_are_told_how_to_name_them(tmp_path: Path, words: list[str], capsys: Captured) -> None:
    assert main(["compare", str(tmp_path / "fast"), str(tmp_path / "slow")]) != 0
    assert "tfprof compare before=FILE after=FILE" in capsys.readouterr().err


def test_views_and_options_are_of_all_workers(words: list[str], capsys: Captured) -> None:
    assert main(["op", *words, "--across_workers=sum", "--order_by=micros", "--max_depth=0"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split()[:2] == ["Add", "2.50ms"]


def test_workers_are_saved_and_read_again(words: list[str], tmp_path: Path, capsys: Captured) -> None:
    assert main(["merge", *words, "-o", str(tmp_path / "both")]) == 0
    both = Profile.load(tmp_path / "both")
    assert list(zip(both.steps, both.step_workers, strict=True)) == [(0, "fast"), (0, "slow"), (1, "fast")]
    assert main(["compare", str(tmp_path / "both")]) == 0
    assert "MatMul   15 µs    50 µs       35 µs   3.33" in capsys.readouterr().out


def test_one_profile_is_not_compared(words: list[str], tmp_path: Path, capsys: Captured) -> None:
    assert main(["compare", str(tmp_path / "fast")]) != 0
    assert "no two workers to compare" in capsys.readouterr().err


def test_a_file_whose_name_has_an_equals_sign_is_a_file(tmp_path: Path, capsys: Captured) -> None:
    profile_of("a = MatMul() 10us").save(tmp_path / "run=3")
    assert main(["op", str(tmp_path / "run=3")]) == 0
    assert "MatMul" in capsys.readouterr().out
