"""What is shipped works where only it and its dependencies are installed."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

LISTS_IMPORTS = """
import sys
import tfprof_widget
print(sorted({"altair", "google.protobuf", "numpy", "pandas", "re2", "tensorflow"} & set(sys.modules)))
"""

PROFILES_THE_DEMO = """
import sys
import tfprof_widget.demo
tfprof_widget.demo.main()
print("tensorflow" in sys.modules)
"""


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", str(folder), cwd=ROOT)
    return folder


@pytest.fixture(scope="module")
def installed(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has the wheel and what it depends on, and nothing else."""
    environment = tmp_path_factory.mktemp("clean")
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    constraints = ROOT / "constraints.txt"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "-qq"]
    run(*pip, "install", "--constraint", str(constraints), str(the_one(dist, "*.whl")), cwd=environment)
    return python


def test_import_waits_with_everything_slow(installed: Path, tmp_path: Path) -> None:
    assert run(str(installed), "-c", LISTS_IMPORTS, cwd=tmp_path) == "[]\n"


def test_profile_without_tensorflow(installed: Path, tmp_path: Path) -> None:
    printed = run(str(installed), "-c", PROFILES_THE_DEMO, cwd=tmp_path)
    assert "MatMul" in printed
    assert printed.endswith("\nFalse\n")


def test_wheel_holds_the_package_and_nothing_else(dist: Path) -> None:
    names = wheel_names(the_one(dist, "*.whl"))
    assert {"tfprof_widget/py.typed", "tfprof_widget/_protos/descriptors.binpb"} <= names
    assert {f"tfprof_widget/static/{name}" for name in ("charts.json", "opener.js", "widget.js")} <= names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"tfprof_widget"}


def test_sdist_builds_the_same_wheel(dist: Path, tmp_path: Path) -> None:
    with tarfile.open(the_one(dist, "*.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    source = the_one(tmp_path, "tfprof_widget-*")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path), cwd=source)
    assert wheel_names(the_one(tmp_path, "*.whl")) == wheel_names(the_one(dist, "*.whl"))


def test_environment_builds_with_what_isolated_builds_get() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["dependency-groups"]["build"] == project["build-system"]["requires"]


def run(*command: str, cwd: Path) -> str:
    """What the command prints; fails with what it complains."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def the_one(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def wheel_names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())
