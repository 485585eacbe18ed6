"""The code tab as source: time and memory beside the user's own lines, and the ways to and from other views."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Opening
from tests.browser.screen import Screen
from tests.browser.test_accessibility import AXE, violations
from tests.sketches import profile_of

SKETCH = """
    a                  = MatMul() 1us 8B  | In[2]:1:main > m.py:5:layer
    b                  = Relu()   2us 16B | In[2]:2:main > m.py:5:layer > /x/site-packages/k/k.py:7:call > m.py:6:g
    gradients/b_grad/x = Add()    4us 32B | In[2]:3:main
    c                  = Mul()    16us    | /x/site-packages/k/k.py:9:call
"""


def opened(open_profile: Opening, **context: object) -> Screen:
    screen = open_profile(profile_of(SKETCH), view="code", **context)
    screen.root.get_by_role("radio", name="source").check()
    expect(grid(screen)).to_be_visible()
    return screen


def grid(screen: Screen) -> Locator:
    return screen.root.get_by_role("grid", name="source")


def line(screen: Screen, number: int) -> Locator:
    """The row of a line by its number."""
    return (
        grid(screen).get_by_role("row").filter(has=screen.page.get_by_role("rowheader", name=str(number), exact=True))
    )


def figures(screen: Screen, number: int) -> dict[str, str]:
    """What stands beside a line, by column."""
    cells = line(screen, number).locator("[data-title]")
    shown = {str(cell.get_attribute("data-title")): cell.inner_text() for cell in cells.all()}
    return {title: text for title, text in shown.items() if text}


def test_each_line_has_the_time_and_memory_of_what_it_made(open_profile: Opening) -> None:
    """By hand: layer made a and, by g, b with its gradient; what a library made alone is nobody's line."""
    screen = opened(open_profile)
    assert figures(screen, 1) == {"forward": "1 µs", "memory": "8 B"}
    assert figures(screen, 2) == {"forward": "2 µs", "gradient": "4 µs", "memory": "48 B"}
    assert figures(screen, 5) == {"forward": "3 µs", "gradient": "4 µs", "memory": "56 B"}
    assert figures(screen, 6) == {"forward": "2 µs", "gradient": "4 µs", "memory": "48 B"}
    expect(line(screen, 3)).to_have_count(0)
    expect(grid(screen).locator(".file")).to_have_text(["m.py", "In[2]"])
    assert screen.root.get_by_role("radio", name="tree").count() == 1


def test_a_line_is_what_the_code_view_of_python_has(open_profile: Opening) -> None:
    view = profile_of(SKETCH).view("code", order_by="micros")
    totals = dict(zip(view.names, (view.total["micros"] / view.time_scale).tolist(), strict=True))
    shown = figures(opened(open_profile), 6)
    assert (shown["forward"], shown["gradient"]) == (
        f"{totals['m.py:6:g']:g} µs",
        f"{totals['m.py:6:g (gradient)']:g} µs",
    )


def test_a_line_selects_what_it_made_and_a_selected_op_marks_its_line(open_profile: Opening) -> None:
    screen = opened(open_profile)
    line(screen, 6).click()
    expect(line(screen, 6)).to_have_attribute("aria-selected", "true")
    selection = screen.root.get_by_role("region", name="selection")
    expect(selection).to_contain_text("2 graph nodes")
    expect(selection).to_contain_text("6 µs")
    screen.root.get_by_role("radio", name="tree").check()
    expect(screen.row("m.py:6:g")).to_have_attribute("aria-selected", "true")
    screen.look_at("scope").row("a").click()
    screen.look_at("code")
    screen.root.get_by_role("radio", name="source").check()
    expect(line(screen, 5)).to_have_attribute("data-made", "true")
    expect(line(screen, 1)).not_to_have_attribute("data-made", "true")
    expect(grid(screen)).to_have_attribute("aria-activedescendant", str(line(screen, 5).get_attribute("id")))


def test_the_line_of_a_selected_op_leads_to_the_source(open_profile: Opening) -> None:
    screen = open_profile(profile_of(SKETCH), view="scope")
    screen.row("a").click()
    screen.root.get_by_role("button", name="m.py:5").click()
    expect(screen.tab("code")).to_have_attribute("aria-selected", "true")
    expect(line(screen, 5)).to_have_attribute("aria-selected", "true")


def test_keys_move_through_lines_and_select_them(open_profile: Opening) -> None:
    screen = opened(open_profile)
    grid(screen).press("End")
    grid(screen).press("ArrowUp")
    grid(screen).press("Enter")
    expect(line(screen, 1)).to_have_attribute("aria-selected", "true")
    grid(screen).press("ArrowDown")
    grid(screen).press(" ")
    expect(grid(screen).locator("[aria-selected=true]")).to_have_count(2)
    grid(screen).press("Escape")
    expect(grid(screen).locator("[aria-selected=true]")).to_have_count(0)


def test_sliders_hide_lines_and_gaps_are_marked(open_profile: Opening) -> None:
    screen = opened(open_profile)
    screen.type_number("min_micros", "6")
    expect(line(screen, 1)).to_have_count(0)
    expect(line(screen, 5)).to_have_count(1)
    expect(grid(screen).locator("..")).to_contain_text("1 line hidden")
    screen.type_number("min_micros", "0")
    expect(line(screen, 1)).to_have_count(1)


def test_without_own_lines_there_is_only_the_tree(open_profile: Opening) -> None:
    sketch = "c = Mul() 16us | /x/site-packages/k/k.py:9:call"
    screen = open_profile(profile_of(sketch), view="code")
    expect(screen.grid).to_be_visible()
    expect(screen.root.get_by_role("radio", name="source")).to_have_count(0)


@pytest.mark.parametrize("width", [320, 1000])
def test_the_source_is_accessible_and_nothing_is_lost(open_profile: Opening, width: int) -> None:
    screen = opened(open_profile, viewport={"width": width, "height": 800})
    line(screen, 6).click()
    screen.page.evaluate(AXE.read_text(encoding="utf-8"))
    assert violations(screen.page) == []
    within = screen.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert within
    for cell in line(screen, 5).locator("[data-title]").filter(has_text=re.compile(r"\d")).all():
        box = cell.bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
