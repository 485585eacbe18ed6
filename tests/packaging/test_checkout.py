"""A checkout that pip installs needs Node for its widget, and says so where there is none or an old one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.commands import ROOT

BUILDS = (sys.executable, "-m", "hatchling", "build", "-t", "wheel")
ASKS_WHAT_A_BUILD_NEEDS = "from hatchling import build; print(*build.get_requires_for_build_wheel())"
KEPT = ("LICENSE", "README.md", "hatch_build.py", "hatch_readme.py", "pyproject.toml")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What git has of the package, without anything that is built."""
    folder = tmp_path / "checkout"
    built = shutil.ignore_patterns("static", "_protos", "__pycache__")
    for each in ("protos", "tfprof_widget"):
        shutil.copytree(ROOT / each, folder / each, ignore=built)
    for each in KEPT:
        shutil.copy(ROOT / each, folder)
    return folder


def told(checkout: Path, path: Path, *command: str) -> str:
    """What a command says that has to fail, with this folder alone on its PATH."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"PATH": str(path)}
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True)
    assert done.returncode != 0
    return done.stderr


@pytest.mark.parametrize("command", [BUILDS, (sys.executable, "-c", ASKS_WHAT_A_BUILD_NEEDS)])
def test_missing_node_is_named_with_a_way_out(checkout: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    assert "Traceback" not in (said := told(checkout, tmp_path, *command))
    assert "cannot build its widget, for there is no node and npm: install Node 20 or later" in said
    assert "pip install tfprof-widget" in said


def test_old_node_is_named_with_its_version(checkout: Path, tmp_path: Path) -> None:
    for tool in ("node", "npm"):
        (tmp_path / tool).write_text("#!/bin/sh\necho v18.20.4\n")
        (tmp_path / tool).chmod(0o755)
    said = told(checkout, tmp_path, *BUILDS)
    assert f"{tmp_path / 'node'} is of version v18.20.4: install Node 20 or later" in said


def test_what_fails_in_node_is_shown(checkout: Path, tmp_path: Path) -> None:
    for tool, says in (("node", "v20.1.0"), ("npm", "no such registry")):
        (tmp_path / tool).write_text(f"#!/bin/sh\necho {says}\ntest {tool} = node\n")
        (tmp_path / tool).chmod(0o755)
    said = told(checkout, tmp_path, *BUILDS)
    assert "no such registry" in said
    assert f"{tmp_path / 'npm'} ci failed, see above" in said
