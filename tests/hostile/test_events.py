"""A profile from elsewhere is looked at in every way: it runs nothing, reaches nobody, and touches no other file."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from base64 import b64decode
from pathlib import Path

import pytest

from tests.hostile.names import FILED_NAMES, hostile_protos
from tfprof_widget.analysis.machines import kept_path
from tfprof_widget.api.profile import Profile

ROOT = Path(__file__).parent.parent.parent
SECRET = "a line that nobody may pass on"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where everything was written, and the events beside it."""
    return tmp_path_factory.mktemp("used")


@pytest.fixture(scope="module")
def events(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, list[str]]]:
    """What was heard while a profile was used that names a secret, what never ends, and all hostile names."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "secret.py").write_text(f"{SECRET}\n", encoding="utf-8")
    os.mkfifo(elsewhere / "pipe.py")
    named = [str(elsewhere / "secret.py"), str(elsewhere / "pipe.py"), "/etc/passwd", "/dev/zero", "/proc/self/environ"]
    graph, run_meta, op_log = hostile_protos(FILED_NAMES)
    for number, file in enumerate(named):
        op_log.id_to_string[2 * number + 1] = file
    Profile.from_protos(graph, run_meta, op_log).save(elsewhere / "profile")
    words = [sys.executable, "-m", "tests.hostile.events", str(elsewhere / "profile"), str(folder)]
    subprocess.run(words, cwd=ROOT, check=True, timeout=200, stdout=subprocess.DEVNULL)
    heard: list[tuple[str, list[str]]] = json.loads((folder / "heard.json").read_text(encoding="utf-8"))
    return heard


def test_nothing_is_run_unpickled_or_reached(events: list[tuple[str, list[str]]]) -> None:
    files = ("open", "import", "os.chmod", "os.rename")
    assert [(event, arguments) for event, arguments in events if event not in files] == []


def test_nothing_is_imported_for_a_profile(events: list[tuple[str, list[str]]]) -> None:
    """What was not imported for the demo, would be named by the profile."""
    assert [arguments for event, arguments in events if event == "import"] == []


def test_no_file_is_written_but_where_it_was_asked_for(events: list[tuple[str, list[str]]], folder: Path) -> None:
    written = [Path(path) for event, (path, *more) in events if event == "open" and more[0] == "w"]
    touched = [Path(path) for event, paths in events if event in ("os.rename", "os.chmod") for path in paths[:1]]
    assert len(written) == 8
    assert {path.parent for path in (*written, *touched)} == {folder}
    expected = {"scope", "graph", "op", "code", "pprof.gz", "timeline.json", "saved.gz", "report.html", "heard.json"}
    assert {path.name for path in folder.iterdir()} == expected


def test_no_file_is_read_but_the_profile(events: list[tuple[str, list[str]]]) -> None:
    """And the descriptions of installed packages, whose versions the report states, and what was measured here."""
    read = [Path(path) for event, (path, *more) in events if event == "open" and more[0] == "r"]
    installed = (Path(sys.prefix), Path(sys.base_prefix))
    others = {path.name for path in read if not any(path.is_relative_to(folder) for folder in installed)}
    measured = {name for name in others if name == kept_path("float32").name}
    assert others - measured == {"profile", "saved.gz"}


@pytest.mark.usefixtures("events")
def test_no_line_of_a_named_file_is_in_the_report(folder: Path) -> None:
    report = (folder / "report.html").read_text(encoding="utf-8")
    parts = dict(re.findall(r'data-part="([^"]+)">([^<]*)<', report))
    columns = gzip.decompress(b64decode(parts["columns-0"])).decode(errors="replace")
    assert "/secret.py" in columns
    assert SECRET not in columns + report
