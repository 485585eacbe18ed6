"""Weighs a notebook of ten results as it is saved, and times the browser that opens them without a kernel."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench import page
from tests.bench.finding import Finding
from tests.bench.target import AtMost

RESULTS = 10
MOST_BYTES = 2_500_000
FIRST_RESULT_SECONDS = 2.0
ROOT = Path(__file__).parents[2]
_DRAWN = """count => [...document.querySelectorAll("*")]
  .filter(each => each.shadowRoot?.querySelector("[data-ready]")).length === count"""


def findings(results: int = RESULTS) -> Iterator[Finding]:
    """What so many results weigh beside the cells that made them, and take in a browser beside an empty page."""
    cells = [f'demo_profile().widget(title="{number}")' for number in range(1, results + 1)]
    bare, ran = _notebook(cells), _notebook(cells)
    _run(ran)
    bytes_of_cells, with_state = _weight(bare), _weight(ran)
    ran.metadata.pop("widgets")
    weight = _weight(ran)
    what = f"notebook of {results} results"
    yield Finding(what, 0, "B", bytes_of_cells, weight, AtMost(MOST_BYTES, "B"))
    yield Finding(f"{what}, with the state of widgets", 0, "B", bytes_of_cells, with_state, AtMost(2 * MOST_BYTES, "B"))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "page.html")
        blocks = [output.data["text/html"] for cell in ran.cells for output in cell.outputs if _is_saved(output)]
        assert len(blocks) == results, blocks
        file.write_text(f"<!doctype html><meta charset=utf-8>{''.join(blocks)}", encoding="utf-8")
        with page.opened(file) as shown:
            first, idle = page.first_paint(shown), page.idle_frame(shown)
            yield Finding(f"{what}: arrived to first result", 0, "s", idle, first, AtMost(FIRST_RESULT_SECONDS))
            shown.wait_for_function(_DRAWN, arg=results, timeout=120_000)
            heap = _heap(shown)
            shown.goto("about:blank")
            yield Finding(f"{what}: heap of the browser", 0, "B", _heap(shown), heap)


def _notebook(cells: list[str]) -> Any:
    from nbformat.v4 import new_code_cell, new_notebook

    return new_notebook(cells=[*map(new_code_cell, ["from tfprof_widget.demo import demo_profile", *cells])])


def _run(notebook: Any) -> None:
    from nbclient import NotebookClient

    where = {"metadata": {"path": str(ROOT)}}
    NotebookClient(notebook, timeout=600, startup_timeout=120, kernel_name="python3", resources=where).execute()


def _weight(notebook: Any) -> int:
    return len(json.dumps(notebook, indent=1, ensure_ascii=False).encode())


def _is_saved(output: Any) -> bool:
    return "data-part=" in output.get("data", {}).get("text/html", "")


def _heap(shown: Any) -> int:
    """The bytes that scripts hold."""
    session = shown.context.new_cdp_session(shown)
    for _ in range(3):
        session.send("HeapProfiler.collectGarbage")
    return int(session.send("Runtime.getHeapUsage")["usedSize"])
