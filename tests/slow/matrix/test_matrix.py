"""The matrix runs every test that there is somewhere or says why not, and reads what pip and pytest tell it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.slow.matrix.environments import Environment, environment_of, interpreter, versions_offered
from tests.slow.matrix.outcomes import Outcome, counts, table
from tests.slow.matrix.parts import CORE, ELSEWHERE, LEFT_OUT, NAMES, OTHER_PYTHONS, ROOT, arguments

NEEDS_TENSORFLOW = re.compile(
    r"^(import|from) (tensorflow|keras|tf_keras|tests\.capturing|tests\.oracle\.(?!rows))", re.MULTILINE
)
REPORT = """<testsuites><testsuite errors="1" failures="2" skipped="1" tests="10" time="3.5"/></testsuites>"""


def test_every_folder_of_tests_has_its_place() -> None:
    tests = [*ROOT.glob("tests/**/test_*.py")]
    folders = {path.parent.relative_to(ROOT).parts[:2] for path in tests} - {("tests",)}
    placed = {path for path in (*CORE, *ELSEWHERE) if path.startswith("tests/") and not path.endswith(".py")}
    assert {"/".join(folder) for folder in folders} == placed


def test_what_is_left_out_exists() -> None:
    for each in LEFT_OUT:
        assert each.environment in NAMES
        for path, _, test in (written.partition("::") for written in each.paths):
            text = (ROOT / path).read_text(encoding="utf-8") if test else ""
            assert (ROOT / path).exists(), path
            assert not test or f"def {test}(" in text, test


def test_what_imports_tensorflow_is_left_out_where_there_is_none() -> None:
    run = [ROOT / path for path in arguments("without") if not path.startswith("-")]
    ignored = {ROOT / path.removeprefix("--ignore=") for path in arguments("without") if path.startswith("--ignore=")}
    modules = {module for path in run for module in (path.rglob("test_*.py") if path.is_dir() else [path])}
    kept = [module for module in modules if not ignored & {module, *module.parents}]
    assert [str(module) for module in kept if NEEDS_TENSORFLOW.search(module.read_text(encoding="utf-8"))] == []


def test_only_the_newest_runs_all() -> None:
    everything = {path for path in arguments("newest") if not path.startswith("-")}
    differential = "tests/slow/test_differential.py"
    assert everything >= {"tfprof_widget", "tests/capturing", "tests/test_conformance.py", differential}
    assert [path for path in arguments("newest") if path.startswith("-")] == [
        "--ignore=tests/ingest/test_recordings.py"
    ]
    without = arguments("without")
    assert "tests/test_conformance.py" in without
    assert not {"tests/capturing", differential} & set(without)
    assert "--ignore=tests/ingest/test_tf_graph.py" in without


@pytest.mark.parametrize("name", OTHER_PYTHONS)
def test_later_pythons_run_what_the_newest_runs(name: str) -> None:
    """Each has an environment of its own with the newest TensorFlow."""
    paths = [path for path in arguments(name) if not path.startswith(("-", "ignore:"))]
    assert paths == [path for path in arguments("newest") if not path.startswith("-")]
    assert environment_of(name, ["2.21.0", "2.12.0"], "python") == Environment(name, "2.21.0", "python")


def test_oldest_and_newest_are_of_this_python() -> None:
    versions = ["2.21.0", "2.20.0", "2.12.0"]
    assert environment_of("oldest", versions, "python") == Environment("oldest", "2.12.0", "python")
    assert environment_of("newest", versions, "python") == Environment("newest", "2.21.0", "python")
    assert environment_of("without", versions, "python") == Environment("without", "", "python")


def test_python_of_a_version_is_found_also_behind_pyenv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pyenv's command fails unless a variable chooses the version."""
    shim = tmp_path / "python3.13"
    shim.write_text('#!/bin/sh\ntest "$PYENV_VERSION" = 3.13 && echo chosen\n')
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert interpreter("3.13") == "chosen"
    with pytest.raises(ValueError, match=r"there is no python2\.0: install it"):
        interpreter("2.0")


def test_versions_that_no_index_offers() -> None:
    with pytest.raises(ValueError, match="pip offers no TensorFlow for this Python; it said: ERROR: none"):
        versions_offered("ERROR: none\n")


def test_constraints_are_used_only_where_they_fit() -> None:
    assert "--constraint" in Environment("without", "").requirements()
    assert "--constraint" not in Environment("oldest", "2.12.0").requirements()
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8").partition("tensorflow==")[2].split()[0]
    assert "--constraint" in Environment("newest", pinned).requirements()


def test_counts_are_pytests(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    assert counts(report) == (0, 0)
    report.write_text(REPORT)
    assert counts(report) == (6, 4)


@pytest.mark.parametrize(
    ("passed", "failed", "is_whole", "is_good"),
    [(5, 0, True, True), (5, 1, True, False), (0, 0, True, False), (5, 0, False, False)],
)
def test_outcome_is_good_when_all_tests_ran_and_passed(passed: int, failed: int, is_whole: bool, is_good: bool) -> None:
    outcome = Outcome(Environment("oldest", "2.12.0"), {}, passed, failed, 1.0, is_whole)
    assert outcome.is_good is is_good


def test_table_has_a_line_for_each_outcome() -> None:
    versions = {"python": "3.11.7", "tensorflow": "2.12.0", "keras": "2.12.0", "numpy": "1.23.5", "protobuf": "4.25.9"}
    oldest = Outcome(Environment("oldest", "2.12.0"), versions, 1234, 0, 61.4)
    without = Outcome(Environment("without", ""), {"python": "3.11.7"}, 9, 1, 5.0, is_whole=False)
    heading, *lines = table([oldest, without]).splitlines()
    assert heading.split() == [
        *("environment", "Python", "TensorFlow", "Keras", "numpy", "protobuf", "pandas", "passed", "failed", "seconds")
    ]
    assert [line.split() for line in lines] == [
        ["oldest", "3.11.7", "2.12.0", "2.12.0", "1.23.5", "4.25.9", "none", "1,234", "0", "61"],
        ["without", "3.11.7", "none", "none", "none", "none", "none", "9", "1,", "and", "broken", "off", "5"],
    ]
