"""The loop that repeats what was seen is found in the source, by the lines that were seen in it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import Mock

import pytest

from tfprof_widget.analysis.own_lines import is_repeated, loop_heads, repeated_place

SOURCE = """\
def forward(x):
    for layer in layers:
        x = layer(x)
    return x

def train_step(x):
    y = forward(x)
    update(y)

def train():
    for epoch in range(4):
        for x in data:
            train_step(x)

for epoch in range(4):
    for x in (
        data
    ):
        y = model(x)
        update(y)
    evaluate()
for x in more:
    y = model(x)
once()
twice()
"""

Stack = Sequence[tuple[int, str]]
TOP, FORWARD, STEP, TRAIN = "<module>", "forward", "train_step", "train"


@pytest.mark.parametrize(
    ("stacks", "line", "function"),
    [
        # the lines of one loop, and a few others
        ({((19, TOP),): 5, ((20, TOP),): 5}, 16, ""),
        ({((19, TOP),): 5, ((20, TOP),): 5, ((24, TOP),): 1}, 16, ""),
        # lines of a loop and of the loop around it
        ({((19, TOP),): 5, ((21, TOP),): 5}, 15, ""),
        # of two loops the one with most
        ({((19, TOP),): 4, ((20, TOP),): 4, ((23, TOP),): 4}, 16, ""),
        # a function that a loop calls does all of it
        ({((24, TOP), (13, TRAIN), (7, STEP)): 5, ((24, TOP), (13, TRAIN), (8, STEP)): 5}, 6, STEP),
        # the loop in a function that does all of it
        ({((24, TOP), (13, TRAIN), (7, STEP), (3, FORWARD)): 9}, 2, ""),
        # one line in a loop
        ({((23, TOP),): 9}, 22, ""),
    ],
)
def test_what_repeats(tmp_path: Path, stacks: dict[Stack, int], line: int, function: str) -> None:
    file = tmp_path / "train.py"
    file.write_text(SOURCE)
    seen = {tuple((str(file), number, name) for number, name in stack): count for stack, count in stacks.items()}
    assert repeated_place(seen) == (str(file), line, function)


@pytest.mark.parametrize(
    "stacks",
    [
        {},
        {((24, TOP),): 5, ((25, TOP),): 5},  # no loop at all
        {((24, TOP), (7, STEP)): 5, ((24, TOP), (8, STEP)): 5},  # a function that no loop calls
        {((19, TOP),): 5, ((23, TOP),): 5},  # two loops that do as much
    ],
)
def test_what_does_not_repeat(tmp_path: Path, stacks: dict[Stack, int]) -> None:
    file = tmp_path / "train.py"
    file.write_text(SOURCE)
    seen = {tuple((str(file), number, name) for number, name in stack): count for stack, count in stacks.items()}
    assert repeated_place(seen) is None


@pytest.mark.parametrize(
    ("stack", "opened", "line"),
    [
        ([(19, TOP)], (16, TOP), 0),  # both loops are around the capture; below, the outer one is
        ([(19, TOP)], (15, TOP), 16),
        ([(13, TRAIN)], (11, TRAIN), 12),  # the inner loop is in the capture
        ([(24, TOP), (13, TRAIN)], (24, TOP), 12),
        ([(19, TOP), (8, STEP)], (18, TOP), 0),  # a function that only a loop around the capture calls
        ([(19, TOP), (8, STEP)], (8, STEP), 0),
        ([(13, TRAIN), (3, FORWARD)], (7, STEP), 2),
    ],
)
def test_a_loop_around_the_capture_repeats_nothing_in_it(
    tmp_path: Path, stack: Stack, opened: tuple[int, str], line: int
) -> None:
    file = tmp_path / "train.py"
    file.write_text(SOURCE)
    seen = {tuple((str(file), number, name) for number, name in stack): 9}
    assert repeated_place(seen, (str(file), *opened)) == ((str(file), line, "") if line else None)


def test_without_source_no_loop_is_claimed() -> None:
    assert repeated_place({(("<string>", 3, TOP),): 9}) is None


def test_the_heads_of_loops(tmp_path: Path) -> None:
    """Lines 16 to 18 are one head; `for x in data: f(x)` in one line would not tell its head from its body."""
    file = tmp_path / "train.py"
    file.write_text(SOURCE + "for x in data: once()\n")
    assert loop_heads(str(file)) == {2, 11, 12, 15, 16, 17, 18, 22}


def test_a_file_is_parsed_once_however_many_lines_are_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of 4,000 lines takes a tenth of a second, and a cell is seen at dozens of lines."""
    file = tmp_path / "model.py"
    file.write_text("for step in range(9):\n    train(step)\n" * 30)
    parse = Mock(side_effect=ast.parse)
    monkeypatch.setattr(ast, "parse", parse)
    assert [is_repeated(str(file), line) for line in range(1, 61)] == [True] * 60
    assert parse.call_count == 1
