"""The tree table: folding, zooming, searching, copying, selecting, and the keys of the ARIA treegrid pattern."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from playwright.sync_api import Locator, expect

from tests.browser.conftest import Opening
from tests.browser.expected import names_of
from tests.browser.screen import Screen
from tfprof_widget.api.profile import Profile
from tfprof_widget.demo import demo_profile

GRADIENT = "gradients/layer1/MatMul_grad"


def active(screen: Screen) -> Locator:
    """The row that the keys act on."""
    return screen.grid.locator("[role=row].active")


def active_name(screen: Screen) -> str:
    """Its full name, which is also the row that a screen reader is told of; empty while it is not drawn."""
    told: str = screen.grid.evaluate(
        """grid => {
            const row = grid.querySelector(`[id="${grid.getAttribute("aria-activedescendant")}"]`);
            return row?.querySelector("[role=rowheader]").title ?? "";
        }"""
    )
    return told


def test_rows_carry_what_a_treegrid_needs(demo: Screen) -> None:
    demo.unfold_all()
    names = names_of(demo_profile(), "scope")
    levels = (demo_profile().view("scope", order_by="micros").depth + 1).tolist()
    expect(demo.grid).to_have_attribute("aria-rowcount", str(len(names) + 1))
    for index, row in enumerate(demo.rows.all()[:12]):
        expect(row).to_have_attribute("aria-level", str(levels[index]))
        expect(row).to_have_attribute("aria-rowindex", str(index + 2))
        expect(row).to_have_attribute("aria-selected", "false")
    expect(demo.row(GRADIENT)).to_have_attribute("aria-expanded", "true")
    assert demo.row(f"{GRADIENT}/MatMul").get_attribute("aria-expanded") is None


def test_the_ring_of_the_active_row_is_around_its_name_too(demo: Screen) -> None:
    demo.row(GRADIENT).click()
    demo.grid.press("ArrowDown")
    row = demo.row(f"{GRADIENT}/MatMul_1")
    expect(row).to_have_class(re.compile("active"))

    def painted(part: Locator, below_top: int) -> bytes:
        box = part.bounding_box()
        assert box
        return demo.page.screenshot(clip={"x": box["x"] + 8, "y": box["y"] + below_top, "width": 24, "height": 1})

    name, own = row.locator("[role=rowheader]"), row.locator("[role=gridcell]").first
    top = own.bounding_box()
    assert top
    above = row.bounding_box()
    assert above
    to_ring = round(above["y"] - top["y"]) + 1
    assert painted(name, 1) == painted(own, to_ring)
    assert painted(name, 1) != painted(name, 3)


def test_no_column_is_cut_and_all_can_be_scrolled_to(open_file: Opening, model_file: Path) -> None:
    """At 1,240 pixels the filters and the charts leave room for some columns, and for names, which stay in sight."""
    for width, count in {320: 1, 500: 2, 1000: 3, 1240: 5, 1400: 7, 2000: 7}.items():
        screen = open_file(model_file, viewport={"width": width, "height": 700})
        box = screen.grid.bounding_box()
        assert box
        right = box["x"] + box["width"]

        def ends(screen: Screen = screen) -> list[float]:
            boxes = [header.bounding_box() for header in screen.grid.get_by_role("columnheader").all()]
            return [each["x"] + each["width"] for each in boxes if each]

        name, *others = ends()
        assert name - box["x"] >= 180, width
        assert sum(end <= right + 1 for end in others) == count, width
        assert [end for end in others if end - 30 < right < end - 1] == [], width
        assert len(others) == 7
        screen.grid.press("End")
        screen.grid.evaluate("grid => { grid.scrollLeft = 9999; }")
        assert abs(ends()[0] - name) <= 1
        assert ends()[-1] <= right + 1
        assert screen.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), width


def test_keys_scroll_to_columns_that_are_out_of_sight(open_file: Opening, model_file: Path) -> None:
    screen = open_file(model_file, viewport={"width": 500, "height": 700}).look_at("op")
    screen.grid.press("ArrowDown")
    screen.grid.press("ArrowRight")
    screen.until(lambda: screen.grid.evaluate("grid => grid.scrollLeft > 0"), True)


def test_names_keep_twelve_letters_on_a_phone(open_file: Opening, demo_file: Path) -> None:
    screen = open_file(demo_file, viewport={"width": 320, "height": 700})
    name = screen.row("gradients/layer1/MatMul_grad/MatMul_1").locator("[role=rowheader]")
    room: float = name.evaluate(
        """name => {
            const { paddingLeft, paddingRight } = getComputedStyle(name);
            const twist = name.querySelector(".twist").getBoundingClientRect().width;
            return name.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight) - twist;
        }"""
    )
    assert room >= 12 * 6.5


def test_the_head_line_stays_on_narrow_pages(open_file: Opening, demo_file: Path) -> None:
    for width in (320, 600, 899):
        screen = open_file(demo_file, viewport={"width": width, "height": 700})
        fact = screen.root.locator(".facts li").last
        expect(fact).to_have_text("executions 30")
        expect(screen.slider("min_micros").or_(screen.root.get_by_role("button", name="filters"))).to_be_visible()
        screen.until(partial(ends_within, fact, width), True)


def ends_within(fact: Locator, width: int) -> bool:
    """Whether a fact ends on a page so wide; while it is painted anew it has no place for a moment."""
    box = fact.bounding_box()
    return box is not None and box["x"] + box["width"] <= width


def test_a_row_folds_by_mouse_and_by_keys(demo: Screen) -> None:
    row, child = demo.row(GRADIENT), demo.row(f"{GRADIENT}/MatMul_1")
    expect(child).to_be_visible()
    row.locator(".twist").click()
    expect(row).to_have_attribute("aria-expanded", "false")
    expect(child).to_have_count(0)
    row.locator(".twist").click()
    expect(child).to_be_visible()
    row.click()
    demo.grid.press("ArrowLeft")
    expect(row).to_have_attribute("aria-expanded", "false")
    demo.grid.press("ArrowRight")
    expect(row).to_have_attribute("aria-expanded", "true")
    demo.grid.press("ArrowRight")
    demo.until(lambda: active_name(demo), f"{GRADIENT}/MatMul_1")
    demo.grid.press("ArrowLeft")
    demo.until(lambda: active_name(demo), GRADIENT)


def test_all_is_folded_and_unfolded_to_a_depth(demo: Screen) -> None:
    names = names_of(demo_profile(), "scope")
    depths = demo_profile().view("scope", order_by="micros").depth.tolist()
    top = [name for name, depth in zip(names, depths, strict=True) if depth <= 1]
    demo.root.get_by_role("button", name="fold all", exact=True).click()
    demo.until(demo.names, top)
    demo.root.get_by_role("combobox", name="unfold to depth").select_option("2")
    two = [name for name, depth in zip(names, depths, strict=True) if depth <= 2]
    expect(demo.grid).to_have_attribute("aria-rowcount", str(len(two) + 1))
    demo.until(lambda: demo.names()[:15], two[:15])
    demo.unfold_all()
    expect(demo.grid).to_have_attribute("aria-rowcount", str(len(names) + 1))


def test_keys_move_through_the_rows(open_file: Opening, model_file: Path, model: Profile) -> None:
    screen = open_file(model_file)
    screen.unfold_all()
    names = names_of(model, "scope")
    screen.grid.focus()
    for key, name in [("Home", names[0]), ("ArrowDown", names[1]), ("ArrowDown", names[2]), ("ArrowUp", names[1])]:
        screen.page.keyboard.press(key)
        screen.until(lambda: active_name(screen), name)
    screen.page.keyboard.press("PageDown")
    screen.until(lambda: active_name(screen) in names[12:60], True)
    screen.page.keyboard.press("End")
    screen.until(lambda: active_name(screen), names[-1])
    expect(active(screen)).to_be_in_viewport()


def test_keys_select_one_several_and_a_range(demo: Screen) -> None:
    demo.grid.focus()
    for key in ("Home", "ArrowDown", "Enter"):
        demo.page.keyboard.press(key)
    expect(demo.row("gradients")).to_have_attribute("aria-selected", "true")
    for key in ("ArrowDown", "ArrowDown", "Space"):
        demo.page.keyboard.press(key)
    selected = demo.grid.locator("[role=row][aria-selected=true]")
    expect(selected).to_have_count(2)
    demo.page.keyboard.press("Shift+ArrowDown")
    demo.page.keyboard.press("Shift+ArrowDown")
    expect(selected).to_have_count(3)
    demo.page.keyboard.press("Escape")
    expect(selected).to_have_count(0)


def test_a_scope_is_zoomed_into_and_left_again(demo: Screen) -> None:
    demo.row("gradients/layer1").click()
    demo.grid.press("z")
    path = demo.root.get_by_role("navigation", name="zoomed into")
    expect(path).to_contain_text("layer1")
    demo.until(lambda: demo.names()[0], "gradients/layer1")
    expect(demo.rows.first).to_have_attribute("aria-level", "1")
    path.get_by_role("button", name="gradients").click()
    demo.until(lambda: demo.names()[0], "gradients")
    path.get_by_role("button", name="all").click()
    expect(path).to_have_count(0)
    demo.until(lambda: demo.names()[0], "_TFProfRoot")
    demo.row("gradients/layer1").locator(".zoom").click()
    demo.until(lambda: demo.names()[0], "gradients/layer1")
    demo.grid.press("Backspace")
    demo.until(lambda: demo.names()[0], "gradients")


def test_a_double_click_closes_a_row_and_opens_it(demo: Screen) -> None:
    row = demo.row("gradients")
    expect(row).to_have_attribute("aria-expanded", "true")
    row.dblclick()
    expect(row).to_have_attribute("aria-expanded", "false")
    row.dblclick()
    expect(row).to_have_attribute("aria-expanded", "true")
    expect(demo.root.get_by_role("navigation", name="zoomed into")).to_have_count(0)


def test_search_marks_rows_and_goes_round(demo: Screen) -> None:
    """Of the folded gradients, layer2's BiasAddGrad is the only one of this name beside layer1's."""
    demo.root.get_by_role("button", name="fold all", exact=True).click()
    box = demo.root.get_by_role("searchbox", name="find a node")
    demo.page.keyboard.press("/")
    box.fill("BiasAddGrad")
    wanted = [name for name in names_of(demo_profile(), "scope") if name.endswith("BiasAddGrad")]
    assert len(wanted) == 2
    # Enter goes to the next match, so what is typed has to have led to the first one.
    demo.until(lambda: active_name(demo), wanted[0])
    expect(active(demo).locator("mark")).to_have_text("BiasAddGrad")
    box.press("Enter")
    demo.until(lambda: active_name(demo), wanted[1])
    box.press("Enter")
    demo.until(lambda: active_name(demo), wanted[0])
    box.press("Shift+Enter")
    demo.until(lambda: active_name(demo), wanted[1])
    demo.grid.press("n")
    demo.until(lambda: active_name(demo), wanted[0])
    demo.grid.press("Shift+N")
    demo.until(lambda: active_name(demo), wanted[1])


def test_a_row_is_copied_as_text(open_file: Opening, demo_file: Path) -> None:
    demo = open_file(demo_file, permissions=["clipboard-read", "clipboard-write"])
    demo.row(f"{GRADIENT}/MatMul_1").click()
    demo.grid.press("Control+c")
    copied = "() => navigator.clipboard.readText()"
    demo.until(lambda: demo.page.evaluate(copied).split("\t")[:3], [f"{GRADIENT}/MatMul_1", "110.946", "110.946"])
