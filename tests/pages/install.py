"""Stands in for `pip install` on the pages: what they install is this project, with extras that it has."""

from __future__ import annotations

import sys
import tomllib

from packaging.requirements import Requirement

from tests.pages.markdown import ROOT


def main() -> None:
    """Refuse all else."""
    command, *wanted = sys.argv[1:]
    assert command == "install", f"pip {command}"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for requirement in map(Requirement, wanted):
        assert requirement.name == project["name"], f"{requirement.name} is not {project['name']}"
        missing = requirement.extras - set(project["optional-dependencies"])
        assert not missing, f"there is no extra {', '.join(missing)}"


if __name__ == "__main__":
    main()
