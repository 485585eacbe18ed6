"""The paragraph at the end of a program speaks of the program, though the sentences are made for cells."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tfprof_widget.analysis import advisor
from tfprof_widget.api import capture
from tfprof_widget.jobs.summing_up import of_program

SOURCES = (*Path(next(iter(advisor.__path__))).glob("*.py"), Path(capture.__file__))
CELL = re.compile(r"\bcells?\b", re.IGNORECASE)


def sentences(source: Path) -> Iterator[str]:
    """The texts of more than a word in a module, without its docstrings and what is asked of others."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    told = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    for each in ast.walk(tree):
        if (
            isinstance(each, ast.Constant)
            and isinstance(each.value, str)
            and id(each) not in told
            and " " in each.value
        ):
            yield each.value


def test_no_sentence_speaks_of_a_cell() -> None:
    """Also those that are still to be written: this reads all that the overview may say."""
    found = [each for source in SOURCES for each in sentences(source)]
    assert len([each for each in found if CELL.search(each)]) >= 5  # they are found at all
    assert [each for each in found if CELL.search(of_program(each))] == []


@pytest.mark.parametrize(
    ("of_cell", "of_a_program"),
    [
        ("Of the cell's 2.00 s, 60 % are Python.", "Of the program's 2.00 s, 60 % are Python."),
        ("Without this the cell would take 1.00 s.", "Without this the program would take 1.00 s."),
        (
            "Run more steps in this cell, or one step in a cell before it, to see what training takes.",
            "Run more steps to see what training takes.",
        ),
        ("The layer lstm_cell takes 90 %.", "The layer lstm_cell takes 90 %."),
    ],
)
def test_words(of_cell: str, of_a_program: str) -> None:
    assert of_program(of_cell) == of_a_program
