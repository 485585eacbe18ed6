"""The source lines of frames: read from the user's own files, and from nowhere else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tfprof_widget.demo import demo_profile
from tfprof_widget.output.source_lines import with_source_lines
from tfprof_widget.tables import Indices


def source_of(file: str, line: int, source: int = 0) -> str:
    traces = demo_profile().traces
    strings = (*traces.strings, "twice", "twice", file)

    def one(value: int) -> Indices:
        return np.array([value], np.int32)

    given = replace(
        traces,
        strings=strings,
        string_numbers=np.arange(len(strings)),
        file=one(len(strings) - 1),
        line=one(line),
        function=one(0),
        source=one(source),
        function_line=one(-1),
    )
    found = with_source_lines(given)
    assert len(found.string_numbers) == len(found.strings)
    return str(found.strings[found.source[0]])


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "train.py"
    path.write_text("import keras\n    model.fit(x)  # ☃\n", encoding="utf-8")
    return str(path)


def test_line_of_a_file_at_hand_is_shown(program: str) -> None:
    assert source_of(program, 2) == "model.fit(x)  # ☃"


def test_line_that_was_recorded_is_kept(program: str) -> None:
    assert source_of(program, 2, source=1) == demo_profile().traces.strings[1]


@pytest.mark.parametrize("line", [-1, 0, 3])
def test_line_that_is_not_there_stays_unknown(program: str, line: int) -> None:
    assert source_of(program, line) == "none"


def test_file_that_is_gone_stays_unknown() -> None:
    assert source_of("/no/such/train.py", 1) == "none"


def test_libraries_are_not_read() -> None:
    assert source_of(np.__file__, 1) == "none"
