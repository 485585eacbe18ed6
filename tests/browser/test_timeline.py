"""The timeline: what is painted, hovered, chosen and selected, and how one moves in it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from playwright.sync_api import Locator, expect

from tests.analysis.replay.test_worked import DIAMOND
from tests.analysis.replay.worked import profile_of as diamond
from tests.browser.conftest import Opening
from tests.browser.screen import Screen
from tests.sketches import profile_of
from tfprof_widget.profiles.cell import CellRuns, CellTimes, FitPhase, PhaseStretches


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


def warning_pixels(screen: Screen) -> int:
    """How many pixels have the colour of the critical path."""
    count: int = screen.root.locator(".stage canvas").evaluate(
        f"""canvas => {{
            const [red, green, blue] = getComputedStyle(canvas).getPropertyValue("--warning").trim()
                .match(/[0-9a-f]{{2}}/gi).map(each => parseInt(each, 16));
            const sought = (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
            return ({COPIED})(canvas).filter(pixel => pixel === sought).length;
        }}"""
    )
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
    """One op of 4 µs fills its lane, so the middle of the lane is it; above it is the lane of its layer."""
    screen = open_profile(profile_of("scope/a = MatMul() 4us"), view="timeline")
    box = stage(screen).bounding_box()
    assert box
    card = screen.root.locator(".card")
    heights = [box["y"] + offset for offset in range(6, int(box["height"]), 6)]
    x = box["x"] + box["width"] / 2
    for y in heights:
        screen.page.mouse.move(x, y)
        screen.until_painted()
        if card.count() and "scope/a" in card.inner_text():
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


def test_facts_lead_to_rows_types_layers_and_lines(timeline: Screen) -> None:
    timeline.root.get_by_role("searchbox").fill("matmul_1")
    timeline.root.get_by_role("button", name="next found or selected").click()
    facts = said(timeline).locator("dl > div")
    expect(facts.filter(has_text=re.compile("^(layer|shapes|FLOPs|source)"))).to_have_count(4)
    facts.filter(has_text=re.compile("^layer")).get_by_role("button").click()
    expect(timeline.root.get_by_role("tab", name="layers")).to_have_attribute("aria-selected", "true")
    timeline.look_at("timeline")
    facts.filter(has_text=re.compile("^source")).get_by_role("button").click()
    expect(timeline.root.get_by_role("tab", name="code")).to_have_attribute("aria-selected", "true")
    expect(timeline.root.get_by_role("region", name="selection")).to_contain_text("Selected: ")


def test_a_marked_range_is_added_up_by_type_layer_and_thread(timeline: Screen) -> None:
    """All is marked: 30 ops, of which the two MatMul_1 and others are counted by their type."""
    box = stage(timeline).bounding_box()
    assert box
    mouse, y = timeline.page.mouse, box["y"] + box["height"] - 3
    timeline.page.keyboard.down("Shift")
    mouse.move(box["x"] + 2, y)
    mouse.down()
    mouse.move(box["x"] + box["width"] + 9, y, steps=3)
    mouse.up()
    timeline.page.keyboard.up("Shift")
    for kind in ("op type", "layer", "thread"):
        table = said(timeline).get_by_role("table", name=f"marked, by {kind}")
        counts = table.locator("tbody td:last-child").all_inner_texts()
        assert sum(map(int, counts)) == 30, kind


def test_slices_are_coloured_by_pass_or_by_op_type(timeline: Screen) -> None:
    legend = timeline.root.get_by_role("list", name="colours")
    expect(legend).to_contain_text("backward")
    by_pass = painted(timeline)
    timeline.root.get_by_role("radio", name="op type").check()
    expect(legend).to_contain_text("elementwise, reduction")
    timeline.until(lambda: painted(timeline) != by_pass, True)


@pytest.mark.parametrize("height", [400, 900])
def test_the_card_stands_beside_the_pointer_and_covers_no_control(open_profile: Opening, height: int) -> None:
    screen = open_profile(
        profile_of("scope/a = MatMul() 4us"), view="timeline", viewport={"width": 900, "height": height}
    )
    stage(screen).scroll_into_view_if_needed()
    box = stage(screen).bounding_box()
    assert box
    card = screen.root.locator(".card")
    for offset in range(6, int(box["height"]), 6):
        screen.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + offset)
        screen.until_painted()
        if card.count():
            break
    covering = card.bounding_box()
    assert covering
    for control in screen.root.locator(".tools :is(button, input)").all():
        place = control.bounding_box()
        assert place
        assert place["y"] + place["height"] <= covering["y"]
    assert not covering["x"] <= box["x"] + box["width"] / 2 <= covering["x"] + covering["width"]


def test_the_whole_cell_is_shown_with_its_steps_where_they_were(open_profile: Opening) -> None:
    """Two steps of 4 µs in a cell, the first of which began at 5 µs; after it a callback went on for 20 µs."""
    profile = profile_of("a = MatMul() 4us;4us")
    entered = int(profile.executions.start_nanos.min()) - 5_000
    later = int(profile.executions.start_nanos.max()) - entered
    cell = CellTimes.of(
        {"steps": later + 10_000},
        entered=entered,
        runs=(CellRuns.of("train", [4_000, later], [6_000, 6_000]),),
        phases=(FitPhase("Slow.on_batch_end", 20_000, 1),),
        stretches=PhaseStretches.of([0], [11_000], [20_000]),
    )
    screen = open_profile(replace(profile, cells=(cell,)), view="timeline")
    expect(screen.root.get_by_role("radio", name="whole cell")).to_be_checked()
    stage(screen).press("ArrowRight")
    expect(said(screen)).to_contain_text("MatMul")
    stage(screen).press("ArrowUp")  # to the layer that the op is
    stage(screen).press("ArrowUp")
    expect(said(screen)).to_contain_text("train")
    stage(screen).press("ArrowUp")
    expect(said(screen)).to_contain_text("Slow.on_batch_end")
    expect(said(screen)).to_contain_text("20 µs")
    whole = painted(screen)
    screen.root.get_by_role("radio", name="steps").check()
    screen.until(lambda: painted(screen) != whole, True)


def test_the_critical_path_is_drawn_by_a_switch_and_told(open_profile: Opening) -> None:
    """Of the diamond's arms the long one is on the path, and the short one may end 20 later."""
    screen = open_profile(diamond(DIAMOND), view="timeline")
    switch = screen.root.get_by_role("button", name="critical path")
    expect(switch).to_have_attribute("aria-pressed", "false")
    expect(screen.root.get_by_role("img", name=re.compile("critical path: 3 executions$"))).to_have_count(1)
    screen.until_painted()
    assert warning_pixels(screen) == 0
    stage(screen).press("c")
    expect(switch).to_have_attribute("aria-pressed", "true")
    expect(screen.root.get_by_role("list", name="colours")).to_contain_text("faded: could end later")
    screen.until(lambda: warning_pixels(screen) > 100, True)
    names = []
    for _ in range(3):
        stage(screen).press("p")
        names.append(said(screen).locator("b").inner_text())
        expect(said(screen).locator("dl > div", has_text="critical path").locator("dd")).to_have_text("on it")
    assert names == ["a", "b", "d"]
    screen.root.get_by_role("searchbox").fill("c")
    stage(screen).press("n")
    expect(said(screen)).to_contain_text("not on it: could end 20 µs later")


def test_the_legend_says_of_how_many_steps_the_path_is_known(open_profile: Opening) -> None:
    """Of twelve steps after the first one ten are replayed."""
    screen = open_profile(diamond(*[DIAMOND] * 12), view="timeline")
    stage(screen).press("c")
    expect(screen.root.get_by_role("list", name="colours")).to_contain_text("critical path, known of 10 of 12 steps;")


def test_without_a_known_path_there_is_no_switch(open_profile: Opening) -> None:
    screen = open_profile(profile_of("a = MatMul() 5us @/device:GPU:0/stream:all"), view="timeline")
    expect(screen.root.get_by_role("button", name="fit")).to_have_count(1)
    expect(screen.root.get_by_role("button", name="critical path")).to_have_count(0)
