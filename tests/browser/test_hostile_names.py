"""Names come from anywhere: in the page and in every file they are text, never markup and never a path."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Opening
from tests.browser.screen import Screen
from tests.browser.watched import watched_page
from tests.hostile.names import CLOSING, COMMENT, FORMULA, HOSTILE, MARKUP, PATH, TURNED, hostile_profile, unseen

# Of tests/hostile/names.py, as many as the table shows at once.
UNSEEN = (TURNED, "\x1b[2J\x1b]0;owned\x07", "nul\0l", "Mat\nMatMul 99us", "a\u2028b\u2029", "\t=1+1")
NAMES = (MARKUP, CLOSING, PATH, FORMULA, COMMENT, "__proto__", "constructor", *UNSEEN)
FIRED = "() => { window.hasFired = false; window.fired = () => { window.hasFired = true; }; }"
# The static part has one picture, of the chart, and describes it.
STRANGE_IMAGES = "img:not([src^='data:image/'])"


@pytest.fixture
def screen(open_profile: Opening) -> Screen:
    screen = open_profile(hostile_profile(NAMES), title=CLOSING)
    screen.page.evaluate(FIRED)
    return screen


def nothing_happened(page: Page) -> bool:
    return not page.evaluate("() => window.hasFired ?? false") and page.locator(STRANGE_IMAGES).count() == 0


def test_names_are_text_everywhere(screen: Screen) -> None:
    for view in ("scope", "graph", "op", "code"):
        screen.look_at(view)
        if view != "op":
            screen.unfold_all()
        prefix = "Op" if view == "op" else ""
        expect(screen.grid).to_contain_text(f"{prefix}{MARKUP}".rpartition("/")[2])
        screen.rows.nth(1).click()
    screen.look_at("op").row(f"Op{MARKUP}").click()
    expect(screen.root.get_by_role("region", name="selection")).to_contain_text(MARKUP)
    screen.until(lambda: f"Op{MARKUP}" in screen.marks("Time by op type"), True)
    for tab in ("timeline", "memory", "advise"):
        screen.look_at(tab)
    assert nothing_happened(screen.page)
    assert screen.page.title() == CLOSING


def test_the_table_spells_out_what_is_not_seen(screen: Screen) -> None:
    screen.look_at("graph").unfold_all()
    shown = screen.grid.inner_text()
    assert {each.shown for each in HOSTILE if each.name in UNSEEN} <= set(shown.split("\n"))
    assert unseen(shown, but="\n\t") == set()


def csv_names(screen: Screen) -> list[str]:
    """The names in the table as it is exported."""
    return [row["name"] for row in csv.DictReader(StringIO(screen.export("Table as CSV").decode(), newline=""))]


def test_exports_hold_them_as_text(screen: Screen, chromium: Browser, tmp_path: Path) -> None:
    screen.look_at("op")
    assert set(csv_names(screen)) >= {f"Op{name}" for name in NAMES}
    screen.look_at("scope")
    names = csv_names(screen)
    assert f"'{FORMULA}" in names
    # A spreadsheet is not to compute them; see OWASP on CSV injection.
    assert [name for name in names if name.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d"))] == []
    trace = json.loads(screen.export("Timeline as Chrome trace"))
    assert {event["name"] for event in trace["traceEvents"] if event["ph"] == "X"} >= {MARKUP, CLOSING, FORMULA}
    screen.look_at("op")
    screen.until(lambda: f"Op{MARKUP}" in screen.marks("Time by op type"), True)
    svg = ElementTree.fromstring(screen.export("Op types as SVG"))
    assert not [each for each in svg.iter() if each.tag.rpartition("}")[2] in ("script", "img", "image")]
    assert unseen("".join(svg.itertext())) == set()
    page = tmp_path / "page.html"
    page.write_bytes(screen.export("Everything as one page"))
    with watched_page(chromium) as again:
        again.add_init_script(f"({FIRED})()")
        again.goto(page.as_uri())
        Screen(again).until_ready()
        assert nothing_happened(again)
        assert again.title() == CLOSING
    with watched_page(chromium, java_script_enabled=False) as static:
        static.goto(page.as_uri())
        expect(static.locator("body")).to_contain_text(MARKUP)
        assert static.locator(STRANGE_IMAGES).count() == 0


def test_files_are_named_harmlessly(screen: Screen) -> None:
    with screen.page.expect_download() as saving:
        screen.root.get_by_role("button", name="Export").click()
        screen.page.get_by_role("menuitem", name="Table as CSV").click()
    assert not set(saving.value.suggested_filename) & set('<>/\\:"|?*\u202e')


def test_a_report_of_python_holds_them_as_text(chromium: Browser, screen: Screen, tmp_path: Path) -> None:
    with watched_page(chromium, java_script_enabled=False) as static:
        static.goto((tmp_path / "page.html").as_uri())
        expect(static.locator("body")).to_contain_text(MARKUP)
        expect(static.get_by_role("heading", name=CLOSING, level=2)).to_be_visible()
        assert static.locator(STRANGE_IMAGES).count() == 0
        assert static.locator("script:not([type])").count() == 1
