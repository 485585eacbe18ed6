"""Links on the pages lead somewhere, paths that pages name are there, and neither is of one machine only."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.pages.markdown import ROOT, anchors, links, named_paths, pages

# Where pages may lead beside the repository.
HOSTS = {"chrome": {"tracing"}, "https": {"arxiv.org", "github.com", "ui.perfetto.dev"}}
# Paths of one machine, and where packages come from: that is a setting of whoever installs.
TO_BE_MADE = re.compile(r"^\*\*`([^`]+)`\*\*, a new file", re.MULTILINE)
FORBIDDEN = re.compile(r"(?<![\w.:/~-])/(?:home|root|tmp|Users|usr|work)/|pypi\.org|npmjs|index-url|registry\.")


def sources() -> dict[str, str]:
    """The pages, and what notebooks say between their cells."""
    found = {path: path.read_text(encoding="utf-8") for path in pages()}
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        found[path] = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return {path.relative_to(ROOT).as_posix(): text for path, text in sorted(found.items())}


SOURCES = sources()


def test_links_lead_somewhere() -> None:
    found = [(name, fault_of(link, ROOT / name)) for name, text in SOURCES.items() for link in links(text)]
    assert [(name, fault) for name, fault in found if fault] == []


def test_paths_are_there() -> None:
    named = [(name, path) for name, text in SOURCES.items() for path in named_paths(text)]
    to_be_made = {(name, path) for name, text in SOURCES.items() for path in TO_BE_MADE.findall(text)}
    assert [(name, path) for name, path in named if not (ROOT / path).exists() and (name, path) not in to_be_made] == []


def test_nothing_is_of_one_machine() -> None:
    assert {name: found for name, text in SOURCES.items() if (found := FORBIDDEN.findall(text))} == {}


def test_the_index_leads_to_every_page_and_notebook_with_a_line() -> None:
    index = SOURCES["docs/README.md"]
    groups = re.findall(r"^## (.+)$", index, re.MULTILINE)
    assert groups == ["Start here", "Guides", "Reference", "How it works", "Developing"]
    assert "docs/README.md" in links(SOURCES["README.md"])
    linked = {(ROOT / "docs" / link).resolve().relative_to(ROOT).as_posix() for link in links(index) if "#" not in link}
    readable = {name for name in SOURCES if Path(name).parent.name in ("docs", "notebooks")}
    assert {name for name in readable if Path(name).name != "README.md"} - linked == set()
    pages = re.findall(r"^- \[[^\]]+\]\((?!\.\./)[\w-]+\.md\)(.*)$", index, re.MULTILINE)
    assert len(pages) == len(readable & {name for name in linked if name.startswith("docs/")})
    assert all(line.startswith(": ") and line.endswith(".") for line in pages)


@pytest.mark.parametrize(
    ("link", "fault"),
    [
        ("docs/engine.md#the-engine", ""),
        ("docs/engine.md#trees", "docs/engine.md has no heading 'trees'"),
        ("#installation", ""),
        ("#besides", "README.md has no heading 'besides'"),
        ("docs/motor.md", "there is no docs/motor.md"),
        ("/docs/engine.md", "/docs/engine.md is no path of the repository"),
        ("../elsewhere.md", "../elsewhere.md is no path of the repository"),
        ("https://github.com/tensorflow/profiler-ui", ""),
        ("http://github.com/tensorflow/profiler-ui", "http://github.com is not among HOSTS"),
        ("https://example.org", "https://example.org is not among HOSTS"),
    ],
)
def test_a_wrong_link_is_told(link: str, fault: str) -> None:
    assert fault_of(link, ROOT / "README.md") == fault


def fault_of(link: str, page: Path) -> str:
    """What is wrong with a link of a page; nothing, if it leads somewhere."""
    parts = urlsplit(link)
    if parts.scheme:
        known = parts.netloc in HOSTS.get(parts.scheme, ())
        return "" if known else f"{parts.scheme}://{parts.netloc} is not among HOSTS"
    target = (page.parent / parts.path).resolve() if parts.path else page
    if parts.path.startswith("/") or not target.is_relative_to(ROOT):
        return f"{link} is no path of the repository"
    name = target.relative_to(ROOT).as_posix()
    if not target.exists():
        return f"there is no {name}"
    if parts.fragment and parts.fragment not in anchors(target.read_text(encoding="utf-8")):
        return f"{name} has no heading {parts.fragment!r}"
    return ""
