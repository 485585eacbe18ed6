"""The notebooks of the repository are as they were written: clean, short, and all in the index."""

from __future__ import annotations

import json
import re
from typing import Any

import nbformat

from tests.notebooks.shipped import NOTEBOOKS, shipped

NAMES = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
FEWEST_CELLS, MOST_CELLS = 6, 14
# Times are another machine's.
TIME = re.compile(r"\d\s*(ns|us|µs|ms|milliseconds?|seconds?)\b")


def cells(name: str, kind: str) -> list[Any]:
    return [cell for cell in shipped(name).cells if cell.cell_type == kind]


def test_there_are_notebooks_for_every_job() -> None:
    jobs = {"quickstart", "sessions", "dumped_profile", "flops_and_parameters", "while_loop", "memory_hunt"}
    assert set(NAMES) == jobs | {"distributed", "engines", "export_report", "jobs"}


def test_nothing_of_a_run_is_left_in_them() -> None:
    for name in NAMES:
        for cell in cells(name, "code"):
            assert (cell.execution_count, cell.outputs, cell.metadata) == (None, [], {}), (name, cell.id)
        assert shipped(name).metadata == {
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }, name


def test_their_files_are_what_jupyter_writes_with_ids_that_tell() -> None:
    for name in NAMES:
        text = (NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8")
        nbformat.validate(json.loads(text))
        assert text == nbformat.writes(shipped(name)) + "\n", name
        ids = [cell.id for cell in shipped(name).cells]
        assert len(set(ids)) == len(ids), name
        assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", each) for each in ids), name


def test_they_are_short_and_say_what_they_do() -> None:
    for name in NAMES:
        first, *_ = shipped(name).cells
        assert FEWEST_CELLS <= len(shipped(name).cells) <= MOST_CELLS, name
        assert re.match(r"# \S", first.source), name
        assert len(cells(name, "markdown")) >= len(shipped(name).cells) // 3, name


def test_their_prose_holds_no_times_of_some_machine() -> None:
    found = [(name, cell.id) for name in NAMES for cell in cells(name, "markdown") if TIME.search(cell.source)]
    assert found == []


def test_the_index_has_a_line_for_each() -> None:
    index = (NOTEBOOKS / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^- \[(\w+)\]\(\1\.ipynb\): \S", index, re.MULTILINE)) == NAMES
