"""What is installed is what the lock files name: every version pinned, every package of the bundle with its hash."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import requires, version
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from tests.packaging.commands import CONSTRAINTS, ROOT, run
from tfprof_widget.charts.kinds import specifications

PIN = re.compile(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.+!_-]+)")
# Their scripts for the time of installing, which npm is not let run: what they would do is not needed.
INSTALL_SCRIPTS = {"node_modules/esbuild"}
# Groups that are installed when their target is made, and where their pins begin.
ON_DEMAND = {"fuzz", "mutation"}
BESIDES = "# For `make fuzz` and `make mutants` besides.\n"


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins() -> dict[str, str]:
    """The version of each package in the constraints that every environment has."""
    return pinned(CONSTRAINTS.read_text(encoding="utf-8").partition(BESIDES)[0])


@cache
def pinned(constraints: str) -> dict[str, str]:
    """The version of each package in some constraints."""
    lines = [line for line in constraints.splitlines() if line and line[0] != "#"]
    found = [PIN.fullmatch(line) for line in lines]
    assert [line for line, pin in zip(lines, found, strict=True) if pin is None] == []
    return {canonical(pin[1]): pin[2] for pin in found if pin}


@cache
def locked() -> dict[str, Any]:
    """The packages of package-lock.json by their folders."""
    lock = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))
    assert lock["lockfileVersion"] == 3
    packages: dict[str, Any] = lock["packages"]
    return {folder: package for folder, package in packages.items() if folder}


def test_whatever_is_needed_is_installed_as_pinned() -> None:
    installed = {name: version(name) for name in needed()}
    assert installed == {name: pins().get(name, "has no pin") for name in installed}


def test_nothing_is_pinned_that_nobody_needs() -> None:
    assert set(pins()) - needed() == {"pip"}


def test_what_is_installed_on_demand_is_pinned_too() -> None:
    known = pinned(CONSTRAINTS.read_text(encoding="utf-8"))
    wanted = {
        canonical(Requirement(each).name) for group in ON_DEMAND for each in groups()[group] if isinstance(each, str)
    }
    assert wanted == {"atheris", "mutmut"}
    assert wanted <= known.keys()


def groups() -> dict[str, list[Any]]:
    """The requirements of each dependency group."""
    found: dict[str, list[Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "dependency-groups"
    ]
    return found


@cache
def needed() -> frozenset[str]:
    """What the package and its groups require, and what that requires in turn, on this machine."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    of_groups = [each for name in groups().keys() - ON_DEMAND for each in groups()[name] if isinstance(each, str)]
    waiting = [Requirement(each) for each in (*project["project"]["dependencies"], *of_groups)]
    found: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        requirement = waiting.pop()
        key = canonical(requirement.name), frozenset(requirement.extras)
        if key in found:
            continue
        found.add(key)
        for each in map(Requirement, requires(requirement.name) or ()):
            extras = requirement.extras or {""}
            if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(each)
    return frozenset(name for name, _ in found)


def test_packages_of_npm_have_their_hashes_and_come_from_the_registry() -> None:
    for folder, package in locked().items():
        assert re.fullmatch(r"sha512-[A-Za-z0-9+/]{86}==", package["integrity"]), folder
        assert re.fullmatch(r"\d+\.\d+\.\d+(-[\w.-]+)?", package["version"]), folder
        assert "resolved" not in package, folder
        assert not package.get("link"), folder
        assert ("hasInstallScript" in package) <= (folder in INSTALL_SCRIPTS), folder


def test_nothing_comes_from_an_address() -> None:
    package = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
    assert set(package) & {"dependencies", "optionalDependencies", "overrides", "scripts"} == {"scripts"}
    assert not [name for name in package["scripts"] if name.startswith(("pre", "post")) or "install" in name]
    assert [
        version for version in package["devDependencies"].values() if not re.fullmatch(r"\d+\.\d+\.\d+", version)
    ] == []
    assert not re.search(r"git\+|@ (https?|file):", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_no_package_may_run_a_script_when_it_is_installed() -> None:
    assert "ignore-scripts=true" in (ROOT / ".npmrc").read_text(encoding="utf-8").splitlines()


def test_the_bundle_was_built_with_the_charts_as_they_are() -> None:
    made = json.loads((ROOT / "js" / "charts.json").read_text(encoding="utf-8"))
    assert made == specifications(), "the charts have changed: run `make build`"


def test_two_builds_of_the_bundle_are_byte_equal_and_are_what_is_shipped(tmp_path: Path) -> None:
    built = (tmp_path / "first", tmp_path / "second")
    for folder in built:
        run("node", "js/build.mjs", str(folder), cwd=ROOT)
    first, second = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in built)
    scripts = {"widget.js", "opener.js", "panels.js.gz", "carried.js.gz", "charts.js.gz"}
    assert set(first) == {*scripts, "charts.json", "THIRD_PARTY_NOTICES.txt"}
    assert second == first
    assert {name: (ROOT / "tfprof_widget" / "static" / name).read_bytes() for name in first} == first


def test_two_builds_of_the_wheel_are_byte_equal(dist: Path, wheel: Path, tmp_path: Path) -> None:
    build = (sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", str(tmp_path))
    run(*build, cwd=ROOT)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()
    (sdist,) = dist.glob("*.tar.gz")
    assert (tmp_path / sdist.name).read_bytes() == sdist.read_bytes()
