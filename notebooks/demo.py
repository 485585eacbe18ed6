"""Runs the quickstart with the real TensorFlow, prints what it found, and leaves pages and a chart to open."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

QUICKSTART = Path(__file__).with_name("quickstart.ipynb")
FOLDER = Path("demo")
NEEDED = ("tensorflow", "altair", "ipykernel", "nbclient")
CELL_SECONDS = 300
# The ids of the cells whose printed lines the demo prints too, and a title for each.
PRINTED = {
    "op-types": "The costliest op types of a training step",
    "fit-advice": "Advice on the training",
    "similarity-advice": "Advice on the tf.function",
}
MADE = {
    "quickstart.html": "the notebook with its results, to read in a browser",
    "quickstart.ipynb": "the same to go on with, in JupyterLab, VS Code or wherever notebooks open",
    "digits.html": "the profile of the training with all its controls, for a browser",
    "digits.svg": "the chart of op types, for a browser or a document",
}


def main() -> None:
    """Run the quickstart and print what it found; if a package is missing, say what to install."""
    missing = [package for package in NEEDED if importlib.util.find_spec(package) is None]
    if missing:
        sys.exit(
            f"The demo needs {', '.join(missing)}. In a clone `make demo` installs what it needs; elsewhere:\n"
            '  pip install "tfprof-widget[export,tensorflow]" ipykernel nbclient'
        )
    began = time.monotonic()
    FOLDER.mkdir(exist_ok=True)
    print(f"Running {QUICKSTART.name} in a kernel of its own. TensorFlow takes some seconds to start.", flush=True)
    notebook = executed()
    for cell, title in PRINTED.items():
        print(f"\n{title}\n{'-' * len(title)}\n{printed(notebook, cell).strip()}")
    files = list(written(notebook))
    print(f"\nDone in {time.monotonic() - began:.0f} s. Open:")
    for file in files:
        print(f"  {FOLDER / file}: {MADE[file]}")


def executed() -> Any:
    """Run the quickstart in the demo's folder, and print the time of each cell; returns the executed notebook."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(QUICKSTART, as_version=4)
    client = NotebookClient(
        notebook, timeout=CELL_SECONDS, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}
    )
    with client.setup_kernel(stderr=subprocess.DEVNULL):  # the notebook holds what its cells write to stderr
        for at, cell in enumerate(notebook.cells):
            if cell.cell_type == "code":
                began = time.monotonic()
                client.execute_cell(cell, at)
                print(f"  {time.monotonic() - began:4.1f} s  {cell.id}", flush=True)
    return notebook


def printed(notebook: Any, cell: str) -> str:
    """The text that a cell has printed."""
    (found,) = [each for each in notebook.cells if each.id == cell]
    return "".join(output.text for output in found.outputs if output.get("name") == "stdout")


def written(notebook: Any) -> Iterator[str]:
    """Write the executed notebook, and if there is nbconvert a page of it; yields the names of all files."""
    import nbformat

    if importlib.util.find_spec("nbconvert") is not None:
        (FOLDER / "quickstart.html").write_text(page(notebook), encoding="utf-8")
        yield "quickstart.html"
    nbformat.write(notebook, FOLDER / "quickstart.ipynb")
    yield "quickstart.ipynb"
    yield from ("digits.html", "digits.svg")


def page(notebook: Any) -> str:
    """The notebook as HTML, without the scripts for formulas: they would be fetched, and there are no formulas."""
    exporter = import_module("nbconvert").HTMLExporter(mathjax_url="", require_js_url="")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nbconvert warns of progress lines that were cleared
        html, _ = exporter.from_notebook_node(notebook)
    return str(html)


if __name__ == "__main__":
    main()
