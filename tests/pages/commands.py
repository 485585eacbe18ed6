"""Runs the lines of a page's `sh` blocks as they are, with stand-ins for commands that take minutes or never end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.pages.markdown import ROOT

STAND_INS = {
    "tfprof": 'exec "$PYTHON" -m tfprof_widget "$@"',  # this checkout's, installed or not
    "make": 'exec "$MAKE" --dry-run --directory="$ROOT" "$@"',
    "pip": 'exec "$PYTHON" -m tests.pages.install "$@"',
    "go": 'exec "$GO" "${@/#-http=*/-top}"',
    "npx": 'cd "$ROOT" && exec "$NPX" --no-install "$1" --version',
    ".venv/bin/python": 'cd "$ROOT" && exec "$PYTHON" "$@"',
    ".venv/bin/mypy": 'exec "$PYTHON" -m mypy --version',
}
SECONDS = 120


def run_commands(code: str, folder: Path) -> None:
    """Run the lines of a block in a folder; nothing is typed, and nothing else of this machine is on the path."""
    for name, script in STAND_INS.items():
        write_stand_in(folder / (name if "/" in name else f".stand-ins/{name}"), script)
    tools = {name.upper(): shutil.which(name) or "" for name in ("make", "go", "npx")}
    subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        stdin=subprocess.DEVNULL,
        cwd=folder,
        env=environment(
            PATH=f"{folder / '.stand-ins'}:{os.environ['PATH']}", PYTHON=sys.executable, ROOT=str(ROOT), **tools
        ),
        timeout=SECONDS,
        check=True,
    )


def finished(words: Sequence[str], folder: Path, seconds: float = 250) -> subprocess.CompletedProcess[str]:
    """What a command says that runs to its end in a folder, with nothing typed."""
    return subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=folder,
        env=environment(),
        timeout=seconds,
        check=False,
    )


def environment(**more: str) -> dict[str, str]:
    """That of a process which imports this checkout, installed or not."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def write_stand_in(path: Path, script: str) -> None:
    """Write a command."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/usr/bin/env bash\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
