"""A source distribution becomes the same wheel where there is neither node nor protoc."""

from __future__ import annotations

import os
import shutil
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

from tests.packaging.commands import CONSTRAINTS, ROOT, contents, run, the_one

ASKS_WHAT_A_BUILD_NEEDS = "from hatchling import build; print(*build.get_requires_for_build_wheel())"


@pytest.fixture
def source(dist: Path, tmp_path: Path) -> Path:
    """The source distribution, unpacked."""
    with tarfile.open(the_one(dist, "*.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    return the_one(tmp_path, "tfprof_widget-*")


def test_builds_the_same_wheel_without_node(dist: Path, wheel: Path, tmp_path: Path) -> None:
    environment = os.environ | {"PATH": str(tmp_path), "PIP_BUILD_CONSTRAINT": str(CONSTRAINTS)}
    assert not any(shutil.which(tool, path=environment["PATH"]) for tool in ("node", "npm", "protoc"))
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-qq")
    words = ("wheel", "--no-deps", "--wheel-dir", str(tmp_path), str(the_one(dist, "*.tar.gz")))
    run(*pip, *words, cwd=tmp_path, environment=environment)
    assert contents(the_one(tmp_path, "*.whl")) == contents(wheel)


def test_builds_without_protoc(source: Path) -> None:
    assert run(sys.executable, "-c", ASKS_WHAT_A_BUILD_NEEDS, cwd=source) == "\n"


def test_what_a_checkout_needs_is_in_the_environment(source: Path) -> None:
    (source / "PKG-INFO").unlink()
    needed = run(sys.executable, "-c", ASKS_WHAT_A_BUILD_NEEDS, cwd=source).split()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["dependency-groups"]["build"] == project["build-system"]["requires"] + needed
    assert [requirement.split(">")[0] for requirement in needed] == ["grpcio-tools"]
