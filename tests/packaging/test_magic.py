"""The magic runs from the wheel: in a shell without TensorFlow, and in a kernel with it, where it shows the widget."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.packaging.commands import contents, run

SHELL = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in ("%load_ext tfprof_widget", "%%tfprof\\n6 * 7", "import tfprof_widget; print(tfprof_widget.__file__)"):
    shell.run_cell(cell).raise_error()
"""

# After the clean environment's own folder: it only adds what is not there, TensorFlow and the kernel.
KERNEL = """
import sys
sys.path.append({folder!r})
from ipykernel.kernelapp import launch_new_instance
launch_new_instance()
"""

CELLS = (
    "%load_ext tfprof_widget",
    "import tensorflow as tf\nimport tfprof_widget\nprint(tfprof_widget.__file__)",
    "%%tfprof\nproduct = tf.function(tf.matmul)(tf.ones((64, 64)), tf.ones((64, 64)))",
)
VIEW, STATE = "application/vnd.jupyter.widget-view+json", "application/vnd.jupyter.widget-state+json"


@pytest.fixture(autouse=True)
def no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's IPython settings and history are out of reach."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))


@pytest.fixture
def kernel(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a kernel in the clean environment, which finds TensorFlow in the one of the tests."""
    program = KERNEL.format(folder=sysconfig.get_path("purelib"))
    words = [str(installed), "-c", program, "-f", "{connection_file}"]
    folder = tmp_path / "kernels" / "wheel"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(json.dumps({"argv": words, "display_name": "wheel", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return "wheel"


def test_magic_says_why_there_is_nothing_without_tensorflow(installed: Path, tmp_path: Path) -> None:
    printed = run(str(installed), "-c", SHELL, cwd=tmp_path)
    assert "42" in printed
    assert "Nothing was captured: TensorFlow was not imported." in printed
    assert Path(printed.splitlines()[-1]).is_relative_to(installed.parent.parent)


def test_magic_shows_the_widget_with_its_bundle(kernel: str, installed: Path, wheel: Path, tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    NotebookClient(notebook, kernel_name=kernel, resources={"metadata": {"path": str(tmp_path)}}).execute()
    imported = "".join(output.get("text", "") for output in notebook.cells[1].outputs if output.get("name") == "stdout")
    assert Path(imported.strip()).is_relative_to(installed.parent.parent)
    (model,) = (output.data[VIEW]["model_id"] for output in notebook.cells[2].outputs if VIEW in output.get("data", {}))
    shown = notebook.metadata.widgets[STATE]["state"][model]["state"]
    assert shown["_esm"].encode() == contents(wheel)["tfprof_widget/static/widget.js"]
    assert "MatMul" in json.dumps(shown["_graphs"])
