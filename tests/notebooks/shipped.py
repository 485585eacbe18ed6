"""The notebooks of the repository, executed from beginning to end in a folder where nothing is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.manager import AsyncKernelManager

from tests.notebooks.forked_kernel import ForkingKernelManager
from tests.notebooks.kernel import ROOT
from tests.notebooks.notebook import Client, Notebook, told

NOTEBOOKS = ROOT / "notebooks"
# TensorFlow tells of its libraries when it is imported, and cannot be kept from it.
SET_UP = "setup"


def shipped(name: str) -> Any:
    """A notebook as it lies in the repository."""
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


@contextmanager
def executed(name: str, folder: Path, manager: type[AsyncKernelManager] = ForkingKernelManager) -> Iterator[Notebook]:
    """A notebook after its cells ran without a complaint; its kernel, which can be asked, ends with the block."""
    client = Client(
        shipped(name),
        timeout=120,
        startup_timeout=120,
        kernel_name="python3",
        kernel_manager_class=manager,
        resources={"metadata": {"path": str(folder)}},
    )
    temporary = folder.with_name(f"{folder.name}_temporary")
    temporary.mkdir()
    with client.setup_kernel(env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)}):
        for at, cell in enumerate(client.nb.cells):
            if cell.cell_type == "code":
                client.execute_cell(cell, at)
        assert [told(each) for each in complaints(client.nb)] == []
        yield Notebook(client)


def complaints(notebook: Any) -> list[Any]:
    """What cells wrote to stderr."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.id != SET_UP]
    return [output for cell in cells for output in cell.outputs if output.get("name") == "stderr"]


def outputs_of(notebook: Notebook, cell: str) -> list[Any]:
    """The outputs of a cell, by its id."""
    (found,) = [each for each in notebook.client.nb.cells if each.id == cell]
    outputs: list[Any] = found.outputs
    return outputs


def printed(notebook: Notebook, cell: str) -> str:
    """What a cell printed."""
    return "".join(output.text for output in outputs_of(notebook, cell) if output.get("name") == "stdout")


BUDGETS = "(lambda whole: (whole, *whole.tasks.values()))({}.time_budget())"
MOST = 0.05


def assert_accounted(notebook: Notebook, *captures: str) -> None:
    """Check that the account of these captured cells, and of each of their tasks, leaves little unknown."""
    for capture in captures:
        budgets = BUDGETS.format(capture)
        told = f"[(each.cell_seconds, each.cell['other'], sum(each.cell.values())) for each in {budgets}]"
        for whole, other, parts in notebook.value(told):
            assert 0 <= other < MOST * whole, capture
            assert abs(parts - whole) < 1e-6, capture
