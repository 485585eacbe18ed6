"""The four tables, their tabs, and what they say of an option that is no good."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Opening
from tests.browser.expected import TABS_OF_ONE_PROCESS, names_of, status_of
from tests.browser.screen import Screen
from tfprof_widget.api.profile import Profile
from tfprof_widget.demo import demo_profile

VIEWS = ("scope", "graph", "op", "code")


@pytest.mark.parametrize("view", VIEWS)
def test_rows_are_those_of_python(demo: Screen, view: str) -> None:
    rows_are_those_of(demo, demo_profile(), view)


def test_rows_of_2000_nodes_are_those_of_python(open_file: Opening, model_file: Path, model: Profile) -> None:
    screen = open_file(model_file)
    for view in VIEWS:
        rows_are_those_of(screen, model, view)
        assert screen.rows.count() < 80  # the others are drawn when scrolled to


def rows_are_those_of(screen: Screen, profile: Profile, view: str) -> None:
    """The first and the last rows of a view, with everything unfolded."""
    screen.look_at(view)
    expect(screen.grid).to_have_accessible_name(view)
    expect(screen.status).to_have_text(status_of(profile, view))
    if view != "op":
        screen.unfold_all()
    wanted = names_of(profile, view)
    screen.grid.press("Home")
    screen.until(lambda: screen.names()[:15], wanted[:15])
    screen.grid.press("End")
    screen.until(lambda: screen.names()[-10:], wanted[-10:])


def test_tabs_go_by_their_names_and_by_keys(demo: Screen) -> None:
    tabs = demo.root.get_by_role("tablist", name="views").get_by_role("tab")
    expect(tabs).to_have_count(len(TABS_OF_ONE_PROCESS))
    for index, name in enumerate(TABS_OF_ONE_PROCESS):
        expect(tabs.nth(index)).to_have_accessible_name(name)
        demo.look_at(name)
        expect(demo.root.get_by_role("tabpanel")).to_have_accessible_name(name)
    steps = [
        ("ArrowRight", "overview"),
        ("ArrowRight", "layers"),
        ("ArrowLeft", "overview"),
        ("End", "advise"),
        ("Home", "overview"),
    ]
    for key, name in [*steps, ("ArrowLeft", "advise")]:
        demo.page.keyboard.press(key)
        expect(demo.tab(name)).to_be_focused()
        expect(demo.tab(name)).to_have_attribute("aria-selected", "true")
    assert demo.root.locator("[role=tab][tabindex='0']").count() == 1


def test_costs_of_the_recording_are_told(demo: Screen) -> None:
    """The root has all 30 executions of the step; MatMul_1 below layer1's gradient took 110,946 ns, as recorded."""
    expect(demo.cell("_TFProfRoot", "runs")).to_have_text("30")
    slowest = "gradients/layer1/MatMul_grad/MatMul_1"
    expect(demo.cell(slowest, "own")).to_have_text("110.9 µs")
    expect(demo.cell(slowest, "own")).to_have_attribute("title", "110.946 µs")


def test_code_view_merges_frames_of_libraries(demo: Screen) -> None:
    demo.look_at("code")
    merged = demo.rows.filter(has_text="frames of tensorflow")
    expect(merged.first).to_be_visible()
    demo.root.get_by_role("checkbox", name="framework frames").check()
    expect(merged).to_have_count(0)
    expect(demo.rows.filter(has_text="op_def_library.py").first).to_be_visible()


def test_code_view_shows_the_line_of_source(demo: Screen) -> None:
    demo.look_at("code")
    expect(demo.rows.filter(has_text="train.py:15").locator(".source").first).to_be_visible()


def test_columns_are_widened_by_mouse_and_keys_and_stay_so(demo: Screen) -> None:
    """What a column takes, names give; each tab has its own widths."""

    def width_of(column: str) -> float:
        box = demo.grid.get_by_role("columnheader", name=column).bounding_box()
        assert box
        return box["width"]

    divider = demo.grid.get_by_role("separator", name="width of own")
    expect(divider).to_have_attribute("aria-valuenow", "68")
    name = width_of("name")
    divider.press("ArrowLeft")
    expect(divider).to_have_attribute("aria-valuenow", "76")
    assert (width_of("own"), width_of("name") < name) == (76, True)
    divider.press("ArrowDown")
    expect(demo.grid.get_by_role("separator", name="width of total time")).to_be_focused()
    box = demo.grid.get_by_role("separator", name="width of share").bounding_box()
    assert box
    before = width_of("share")
    demo.page.mouse.move(box["x"] + 3, box["y"] + 9)
    demo.page.mouse.down()
    demo.page.mouse.move(box["x"] - 37, box["y"] + 9)
    demo.page.mouse.up()
    assert width_of("share") == before + 40
    demo.look_at("op")
    expect(demo.grid.get_by_role("separator", name="width of own")).to_have_attribute("aria-valuenow", "68")
    demo.look_at("scope")
    expect(divider).to_have_attribute("aria-valuenow", "76")
    divider.press("Enter")
    expect(divider).to_have_attribute("aria-valuenow", "68")
    assert width_of("own") == 68
