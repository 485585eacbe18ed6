"""Names come from anywhere: in the page and in every file they are text, never markup and never a path."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Opening
from tests.browser.screen import Screen
from tests.browser.watched import watched_page
from tfprof_widget.messages import GraphDef, OpLogProto, RunMetadata
from tfprof_widget.profiles import Profile

MARKUP = "<img src=x onerror=fired()>"
CLOSING = "</script><script>fired()</script>"
PATH = "../../x"
TURNED = "\u202egnp.exe"
FORMULA = '=HYPERLINK("evil")'
COMMENT = "<!--parts-->{{title}}$&"
NAMES = (MARKUP, CLOSING, PATH, TURNED, FORMULA, COMMENT, "__proto__", "constructor")
FIRED = "() => { window.hasFired = false; window.fired = () => { window.hasFired = true; }; }"
# The static part has one picture, of the chart, and describes it.
STRANGE_IMAGES = "img:not([src^='data:image/'])"


def hostile() -> Profile:
    """Each name is a node's, its type's, its device's and its file's."""
    graph, run_meta, op_log = GraphDef(), RunMetadata(), OpLogProto()
    for number, name in enumerate(NAMES):
        graph.node.add(name=name, op=f"Op{name}")
        device = run_meta.step_stats.dev_stats.add(device=f"/device:CPU:{number}")
        stats = device.node_stats.add(node_name=name, all_start_micros=1 + number, op_end_rel_micros=10 + number)
        stats.op_end_rel_nanos = 1000 * (10 + number)
        stats.memory.add(allocator_name="cpu", total_bytes=64).allocation_records.add(alloc_micros=1, alloc_bytes=64)
        entry = op_log.log_entries.add(name=name)
        entry.code_def.traces.add(file_id=2 * number + 1, lineno=1, function_id=2 * number + 1)
        op_log.id_to_string[2 * number + 1] = name
    return Profile.from_protos(graph, run_meta, op_log)


@pytest.fixture
def screen(open_profile: Opening) -> Screen:
    screen = open_profile(hostile(), title=CLOSING)
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


def test_exports_hold_them_as_text(screen: Screen, chromium: Browser, tmp_path: Path) -> None:
    screen.look_at("op")
    rows = list(csv.DictReader(screen.export("Table as CSV").decode().splitlines()))
    assert {row["name"] for row in rows} == {f"Op{name}" for name in NAMES}
    screen.look_at("scope")
    names = [row["name"] for row in csv.DictReader(screen.export("Table as CSV").decode().splitlines())]
    assert f"'{FORMULA}" in names  # a spreadsheet is not to compute it
    trace = json.loads(screen.export("Timeline as Chrome trace"))
    assert {event["name"] for event in trace["traceEvents"] if event["ph"] == "X"} == set(NAMES)
    screen.look_at("op")
    screen.until(lambda: f"Op{MARKUP}" in screen.marks("Time by op type"), True)
    svg = ElementTree.fromstring(screen.export("Chart as SVG"))
    assert not [each for each in svg.iter() if each.tag.rpartition("}")[2] in ("script", "img", "image")]
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
        expect(static.get_by_role("heading", name=CLOSING)).to_be_visible()
        assert static.locator(STRANGE_IMAGES).count() == 0
        assert static.locator("script:not([type])").count() == 1
