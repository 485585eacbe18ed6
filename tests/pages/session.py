"""Runs the blocks of one page, in their order, in the folder that the process is in.

All blocks of Python share one IPython shell, and those of `sh` the folder, in which the recorded network lies in files.
"""

from __future__ import annotations

from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import tfprof_widget as tfprof
from tests.pages.commands import run_commands
from tests.pages.markdown import GIVEN, ROOT, Block, blocks
from tfprof_widget.demo import demo_profile, recorded
from tfprof_widget.lib.messages import GraphDef

PYTHON = ("python", "ipython", GIVEN)
SHELL = ("sh",)
# Languages that are to be read, not run.
SHOWN = ("text",)
LANGUAGES = (*PYTHON, *SHELL, *SHOWN)


def main(name: str) -> None:
    """Run those of a page; the first that fails is told by its line."""
    page = ROOT / name
    write_files()
    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}), colors="nocolor")
    shell.user_ns |= {"tfprof": tfprof, "profile": demo_profile()}
    shell.user_ns |= {name: recorded(name) for name in ("graph", "run_meta", "op_log")}
    tfprof.load_ipython_extension(shell)
    for block in blocks(page.read_text(encoding="utf-8")):
        print(f"--- {name}, line {block.line}", flush=True)
        run(block, shell)


def write_files() -> None:
    """The recorded network under the names that tfprof's documents use."""
    graph, run_meta = recorded("graph"), recorded("run_meta")
    for name in ("run_meta", "run_meta_0", "run_meta_1"):
        Path(name).write_bytes(run_meta)
    Path("graph.pb").write_bytes(graph)
    Path("graph.pbtxt").write_text(str(GraphDef.FromString(graph)), encoding="utf-8")
    Path("tfprof_log").write_bytes(recorded("op_log"))
    demo_profile().save("profile_100")


def run(block: Block, shell: InteractiveShell) -> None:
    """Run a block; what is no language stops the page."""
    if block.language in SHELL:
        run_commands(block.code, Path.cwd())
    elif block.language in PYTHON:
        before = tfprof.last()
        shell.run_cell(block.code).raise_error()
        if "%tfprof" in block.code:
            check_capture(before)
    elif block.language not in SHOWN:
        raise ValueError(f"line {block.line}: a block in {block.language or 'no language'!r}")


def check_capture(before: object) -> None:
    """The magic has captured runs; a fault of its own would not have failed the cell."""
    capture = tfprof.last()
    assert capture is not before
    assert capture is not None
    assert capture.measurement.runs_traced > 0, str(capture)
