"""What is shipped, built once, and installed once where nothing else is."""

from __future__ import annotations

import sys
import venv
from pathlib import Path

import pytest

from tests.packaging.commands import CONSTRAINTS, ROOT, run, the_one


@pytest.fixture(scope="package")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", str(folder), cwd=ROOT)
    return folder


@pytest.fixture(scope="package")
def wheel(dist: Path) -> Path:
    return the_one(dist, "*.whl")


@pytest.fixture(scope="package")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has the wheel and what it depends on, and nothing else."""
    environment = tmp_path_factory.mktemp("clean")
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "-qq"]
    run(*pip, "install", "--constraint", str(CONSTRAINTS), str(wheel), cwd=environment)
    return python
