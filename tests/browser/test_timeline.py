"""The timeline: what is painted, hovered, chosen and selected, and how one moves in it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Opening
from tests.browser.screen import Screen
from tests.sketches import profile_of


@pytest.fixture
def timeline(demo: Screen) -> Screen:
    demo.look_at("timeline")
    demo.until(lambda: colours(demo) > 6, True)
    demo.until_painted()
    return demo


def stage(screen: Screen) -> Locator:
    """What takes the keys and the pointer."""
    return screen.root.get_by_role("listbox", name="slices")


# Chromium complains of a canvas that is read more than once, so each look reads a copy.
COPIED = """canvas => {
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    return new Uint32Array(copy.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
}"""


def painted(screen: Screen) -> int:
    """A number made of the picture, to tell whether it has changed."""
    added_up = "(sum, pixel) => (31 * sum + pixel) | 0"
    picture: int = screen.root.locator(".stage canvas").evaluate(f"canvas => ({COPIED})(canvas).reduce({added_up}, 0)")
    return picture


def colours(screen: Screen) -> int:
    """How many colours are in the picture."""
    count: int = screen.root.locator(".stage canvas").evaluate(f"canvas => new Set(({COPIED})(canvas)).size")
    return count


def said(screen: Screen) -> Locator:
    """The line that says what is chosen."""
    return screen.root.locator(".said")


def test_executions_are_painted_and_counted(timeline: Screen) -> None:
    picture = timeline.root.get_by_role("img", name=re.compile("^timeline of 30 executions in 1 step"))
    expect(picture).to_have_count(1)


def test_arrow_keys_choose_slices_and_enter_selects(timeline: Screen) -> None:
    stage(timeline).focus()
    timeline.page.keyboard.press("ArrowRight")
    expect(said(timeline)).to_contain_text("duration")
    first = said(timeline).inner_text()
    timeline.page.keyboard.press("ArrowRight")
    timeline.until(lambda: said(timeline).inner_text() != first, True)
    name = said(timeline).locator("b").inner_text()
    timeline.page.keyboard.press("Enter")
    timeline.look_at("scope")
    expect(timeline.root.get_by_role("region", name="selection")).to_contain_text(name.rpartition("/")[2])


@pytest.mark.parametrize(("into", "back"), [("w", "s"), ("+", "-")])
def test_keys_zoom_and_fit(timeline: Screen, into: str, back: str) -> None:
    whole = painted(timeline)
    stage(timeline).press(into)
    timeline.until(lambda: painted(timeline) != whole, True)
    near = painted(timeline)
    stage(timeline).press("d")
    timeline.until(lambda: painted(timeline) != near, True)
    stage(timeline).press(back)
    stage(timeline).press("f")
    timeline.until(lambda: painted(timeline) == whole, True)


def test_buttons_zoom_and_fit(timeline: Screen) -> None:
    whole = painted(timeline)
    timeline.root.get_by_role("button", name="zoom in").click()
    timeline.until(lambda: painted(timeline) != whole, True)
    timeline.root.get_by_role("button", name="fit").click()
    timeline.page.mouse.move(0, 0)
    timeline.until(lambda: painted(timeline) == whole, True)


def test_what_is_chosen_is_told_fact_by_fact(timeline: Screen) -> None:
    stage(timeline).press("ArrowRight")
    expect(said(timeline).locator("dt").filter(has_text=re.compile("^(start|duration|device)$"))).to_have_count(3)
    device = said(timeline).locator("dl > div", has_text="device")
    expect(device.locator("dd")).to_have_text("CPU:0")


def test_fit_shows_all_also_where_a_gap_is_marked(timeline: Screen) -> None:
    """And a button of its own shows what is marked."""
    to_mark = timeline.root.get_by_role("button", name="zoom to what is marked")
    expect(to_mark).to_have_count(0)
    timeline.root.get_by_role("button", name="longest gap").click()
    timeline.root.get_by_role("button", name="fit").click()
    timeline.page.mouse.move(0, 0)
    timeline.until_painted()
    whole = painted(timeline)
    to_mark.click()
    timeline.page.mouse.move(0, 0)
    timeline.until(lambda: painted(timeline) != whole, True)
    timeline.root.get_by_role("button", name="fit").click()
    timeline.page.mouse.move(0, 0)
    timeline.until(lambda: painted(timeline) == whole, True)


def test_wheel_zooms_and_dragging_pans(timeline: Screen) -> None:
    whole, box = painted(timeline), stage(timeline).bounding_box()
    assert box
    mouse, x, y = timeline.page.mouse, box["x"] + box["width"] / 2, box["y"] + 60
    mouse.move(x, y)
    timeline.page.keyboard.down("Control")
    mouse.wheel(0, -400)
    timeline.page.keyboard.up("Control")
    timeline.until(lambda: painted(timeline) != whole, True)
    mouse.move(x, box["y"] + box["height"] - 4)
    near = painted(timeline)
    mouse.down()
    mouse.move(x - 150, box["y"] + box["height"] - 4, steps=5)
    mouse.up()
    timeline.until(lambda: painted(timeline) != near, True)


def test_hover_tells_and_a_click_selects(open_profile: Opening) -> None:
    """One op of 4 µs fills its lane, so the middle of the lane is it."""
    screen = open_profile(profile_of("scope/a = MatMul() 4us"), view="timeline")
    box = stage(screen).bounding_box()
    assert box
    card = screen.root.locator(".card")
    heights = [box["y"] + offset for offset in range(6, int(box["height"]), 6)]
    x = box["x"] + box["width"] / 2
    for y in heights:
        screen.page.mouse.move(x, y)
        screen.until_painted()
        if card.count():
            break
    expect(card).to_contain_text("scope/a")
    expect(card).to_contain_text("4 µs")
    screen.page.mouse.click(x, y)
    expect(said(screen)).to_contain_text("scope/a")
    screen.look_at("op")
    expect(screen.root.get_by_role("region", name="selection")).to_contain_text("Selected: a")


def test_a_search_finds_slices(timeline: Screen) -> None:
    """Three MatMul_1 run in layers, of the 30 executions: those of the two gradients."""
    whole = painted(timeline)
    timeline.root.get_by_role("searchbox").fill("matmul_1")
    found = timeline.root.get_by_role("group", name="found and selected")
    expect(found).to_contain_text("of 30")
    timeline.until(lambda: painted(timeline) != whole, True)
    found.get_by_role("button", name="next found or selected").click()
    expect(said(timeline)).to_contain_text("MatMul_1")


def test_rows_of_a_table_are_selected_in_the_timeline(demo: Screen) -> None:
    demo.look_at("op").row("Relu").click()
    demo.look_at("timeline")
    expect(demo.root.get_by_role("group", name="found and selected")).to_contain_text("1 of 30")
    demo.root.get_by_role("button", name="next found or selected").click()
    expect(said(demo)).to_contain_text("layer1/Relu")


def test_steps_are_walked_through(open_profile: Opening) -> None:
    screen = open_profile(profile_of("a = MatMul() 4us;2us;9us"), view="timeline")
    expect(screen.root.get_by_role("img", name=re.compile("3 executions in 3 steps"))).to_have_count(1)
    whole = painted(screen)
    screen.root.get_by_role("button", name="next step").click()
    screen.until(lambda: painted(screen) != whole, True)
    screen.root.get_by_role("combobox", name="step").select_option("=1")
    expect(screen.root.get_by_role("img", name=re.compile("1 executions in 1 step"))).to_have_count(1)
