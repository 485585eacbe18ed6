"""The changes that docs/first-changes.md walks through work: carried out in a copy, to the letter, their tests pass."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages.markdown import ROOT

PAGE = (ROOT / "docs" / "first-changes.md").read_text(encoding="utf-8")
SECTIONS = {part.partition("\n")[0]: part for part in PAGE.split("\n## ")[1:]}
COPIED = ("tfprof_widget", "tests", "js", "docs")
LINKED = ("node_modules", "package.json", "pyproject.toml", "tsconfig.json")
PYTEST = [".venv/bin/python", "-m", "pytest"]
MOST_FILES = 4
SECONDS = 250

FILE = re.compile(r"^\*\*`(?P<path>[^`]+)`\*\*(?P<new>, a new file)?", re.MULTILINE)
WHERE = re.compile(r"(?P<side>Above|Below|In place of) `(?P<line>[^\n]+)`:\n\n$|At the end:\n\n$")
BLOCK = re.compile(r"^```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MISTAKE = re.compile(r"^See it fail: in `([^`]+)`, write `([^`]+)` for `([^`]+)`\.$", re.MULTILINE)


def test_there_are_three() -> None:
    assert list(SECTIONS) == ["Add a checker", "Add a column", "Add a file format"]


@pytest.mark.parametrize("title", SECTIONS)
def test_a_change_takes_few_files_tests_included(title: str) -> None:
    paths = [found["path"] for found in FILE.finditer(SECTIONS[title])]
    assert len(set(paths)) == len(paths) <= MOST_FILES
    assert any("test" in Path(path).name for path in paths)


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with all the changes."""
    target = tmp_path_factory.mktemp("changed")
    copy_repository(target)
    for section in SECTIONS.values():
        changes = section.partition("\nRun")[0]
        heads = list(FILE.finditer(changes))
        for head, end in zip(heads, [*(each.start() for each in heads[1:]), len(changes)], strict=True):
            change(target / head["path"], changes[head.start() : end], is_new=head["new"] is not None)
    return target


def test_they_work_and_keep_the_rules(changed: Path) -> None:
    """What pytest runs is run at once: to start it takes longest."""
    words = [command for title in SECTIONS for command in commands(title)]
    tests = dict.fromkeys(path for command in words if command[:3] == PYTEST for path in command[3:])
    assert outcome([*PYTEST, *tests], changed) == ""
    others = [command for command in words if command[:3] != PYTEST]
    assert [told for each in others if (told := outcome(each, changed))] == []


@pytest.mark.parametrize("title", SECTIONS)
def test_their_tests_notice_a_mistake(title: str, changed: Path) -> None:
    ((path, wrong, right),) = MISTAKE.findall(SECTIONS[title])
    text = (changed / path).read_text(encoding="utf-8")
    assert text.count(right) == 1, f"{path} has {right!r} {text.count(right)} times"
    (changed / path).write_text(text.replace(right, wrong), encoding="utf-8")
    try:
        assert " failed" in outcome(commands(title)[0], changed)
    finally:
        (changed / path).write_text(text, encoding="utf-8")


def commands(title: str) -> list[list[str]]:
    """The commands that a section ends with, the first of which runs the tests of the change alone."""
    (block,) = BLOCK.findall(SECTIONS[title].partition("\nRun")[2])
    return [line.split() for line in block.splitlines()]


def copy_repository(target: Path) -> None:
    for name in COPIED:
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    for name in LINKED:
        (target / name).symlink_to((ROOT / name).resolve())


def change(path: Path, steps: str, *, is_new: bool) -> None:
    """Carry out what the page says of a file."""
    if is_new:
        assert not path.exists()
        (text,) = BLOCK.findall(steps)
        path.write_text(text, encoding="utf-8")
        return
    found = list(BLOCK.finditer(steps))
    assert found
    for block in found:
        where = WHERE.search(steps[: block.start()])
        assert where, f"{path.name}: the page does not say where {block[1]!r} goes"
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        if where["side"]:
            (at,) = [number for number, line in enumerate(lines) if line.strip() == where["line"]]
            start, stop = {"Above": (at, at), "Below": (at + 1, at + 1), "In place of": (at, at + 1)}[where["side"]]
        else:
            start = stop = len(lines)
        lines[start:stop] = [block[1]]
        path.write_text("".join(lines), encoding="utf-8")


def outcome(words: list[str], folder: Path) -> str:
    """What a command of the page says if it fails in a copy of the repository."""
    program, *arguments = words
    if program == ".venv/bin/python":
        words = [sys.executable, *arguments, "-p", "no:cacheprovider"]
    else:
        assert program == "npx"
        words = [shutil.which("npx") or "npx", "--no-install", *arguments]
    ran = subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        timeout=SECONDS,
        check=False,
    )
    return ran.stdout + ran.stderr if ran.returncode else ""
