"""A notebook with %%tfprof, executed and saved as nbconvert and papermill do it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent.parent
CELLS = (
    "from tests.notebooks.stand_in import install\nstand_in = install()",
    "%load_ext tfprof_widget",
    "%%tfprof --view op --order_by micros\nimport asyncio\nprint('printed')\n"
    "while not stand_in.has_shown_progress:\n    await asyncio.sleep(0.05)\n'slept'",
    "%%tfprof --name fails\nprint('printed')\n1 / 0",
    "%unload_ext tfprof_widget",
)


def test_a_saved_notebook_holds_the_cells_output_then_the_profile() -> None:
    notebook = nbformat.reads(written(CELLS), as_version=4)
    client = NotebookClient(
        notebook,
        timeout=120,
        startup_timeout=120,
        kernel_name="python3",
        allow_errors=True,
        resources={"metadata": {"path": str(ROOT)}},
    )
    client.execute()
    nbformat.validate(notebook)
    outputs = [cell.outputs for cell in notebook.cells]
    profile = "PROFILE {'order_by': 'micros', 'view': 'op'}"
    assert [told(output) for output in outputs[2]] == ["printed\n", {}, {"text/plain": "'slept'"}, page(profile)]
    assert [told(output) for output in outputs[3]] == ["printed\n", "ZeroDivisionError", page("PROFILE {}")]
    assert [outputs[0], outputs[1], outputs[4]] == [[], [], []]


def written(cells: tuple[str, ...]) -> str:
    """The file of a notebook that was not run yet."""
    code: list[dict[str, Any]] = [
        {"cell_type": "code", "id": str(at), "source": cell, "metadata": {}, "outputs": [], "execution_count": None}
        for at, cell in enumerate(cells)
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": code})


def told(output: Any) -> Any:
    return output.get("text") or output.get("ename") or output.data


def page(profile: str) -> dict[str, str]:
    return {"text/plain": profile, "text/html": f"<b>{profile}</b>"}
