"""Pip installs the package from a clone and from Git, and the widget shows."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.packaging.commands import CONSTRAINTS, ROOT, run
from tests.slow.share import share

SHOWS = """
from tfprof_widget.demo import demo_profile
widget = demo_profile().widget()
print(len(widget._esm), len(widget._repr_mimebundle_()))
"""


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the files of this one that git has, as they are now."""
    folder = tmp_path_factory.mktemp("clone")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if not name.startswith(("docs/", "tests/")) and (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    author = ("-c", "user.name=A tester", "-c", "user.email=tester@example.org")
    for command in (("init", "-q"), ("add", "-A"), (*author, "commit", "-qm", "All files")):
        run("git", *command, cwd=folder)
    return folder


@pytest.mark.skipif(share(False, True), reason="it downloads what builds the widget: make test-slow")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("way", ["git+file://{}", "{}"])
def test_pip_installs_the_widget(way: str, clone: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", symlinks=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "-qq")
    run(*pip, "install", "--constraint", str(CONSTRAINTS), way.format(clone), cwd=tmp_path)
    code, bundles = map(int, run(python, "-c", SHOWS, cwd=tmp_path).split())
    assert code > 10_000
    assert bundles
