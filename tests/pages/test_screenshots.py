"""The screenshots are those of the user interface as it is, of both schemes, and not too large."""

from __future__ import annotations

import json
from pathlib import Path

from docs.screenshots.freshness import HERE, SEEN, STAMP, fingerprint, sources, stamp
from tests.pages.markdown import ROOT, links, pages

PICTURES = sorted(HERE.glob("*.png"))
MOST_BYTES = 250_000
PNG = b"\x89PNG\r\n\x1a\n"


def test_they_are_of_the_user_interface_as_it_is() -> None:
    assert json.loads(STAMP.read_text(encoding="utf-8")) == stamp(), "the user interface has changed: make screenshots"


def test_every_part_of_the_look_is_watched() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in sources()}
    assert {
        "js/src/views/frame.tsx",
        "js/src/styles/table.css",
        "tfprof_widget/charts/memory.py",
        "docs/screenshots/take.py",
    } <= names
    assert all(list(ROOT.glob(pattern)) for pattern in SEEN)
    assert not any(name.endswith(".test.ts") for name in names)


def test_a_fingerprint_is_of_names_and_contents_in_any_order(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("1")
    other.write_text("2")
    before = fingerprint([one, other], tmp_path)
    assert fingerprint([other, one], tmp_path) == before
    other.write_text("3")
    changed = fingerprint([one, other], tmp_path)
    third = other.rename(tmp_path / "third")
    assert len({before, changed, fingerprint([one, third], tmp_path), fingerprint([one], tmp_path)}) == 4


def test_pictures_are_wide_and_small() -> None:
    for picture in PICTURES:
        content = picture.read_bytes()
        assert content.startswith(PNG), picture.name
        assert int.from_bytes(content[16:20]) >= 2000, picture.name
        assert len(content) <= MOST_BYTES, picture.name


def test_pictures_come_in_light_and_dark() -> None:
    of = {scheme: {each.name for each in PICTURES if scheme in each.name} for scheme in ("light", "dark")}
    assert of["light"] == {name.replace("dark", "light") for name in of["dark"]} != set()


def test_each_is_shown_on_a_page_and_the_widget_in_the_readme() -> None:
    linked = {page: {Path(link).name for link in links(page.read_text(encoding="utf-8"))} for page in pages()}
    assert {"widget-light.png", "widget-dark.png"} <= linked[ROOT / "README.md"]
    assert {picture.name for picture in PICTURES} <= set().union(*linked.values())
