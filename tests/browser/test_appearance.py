"""Light and dark, wide and narrow, with and without motion, and without scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.conftest import Opening
from tests.browser.screen import Screen
from tests.browser.watched import watched_page

NARROW = {"width": 600, "height": 900}


def luminance(element: Locator, style: str) -> float:
    """How bright a colour is, from 0 to 255."""
    bright: float = element.evaluate(
        """(element, style) => {
            const [red, green, blue] = getComputedStyle(element)[style].match(/[\\d.]+/g).map(Number);
            return 0.299 * red + 0.587 * green + 0.114 * blue;
        }""",
        style,
    )
    return bright


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_are_those_of_the_scheme(open_file: Opening, demo_file: Path, scheme: Literal["light", "dark"]) -> None:
    screen = open_file(demo_file, color_scheme=scheme)
    is_light = scheme == "light"
    assert (luminance(screen.root, "backgroundColor") > 128) == is_light
    assert (luminance(screen.rows.first, "color") < 128) == is_light
    screen.until(lambda: screen.marks("Time by op type")[:1], ["MatMul"])
    label = screen.chart("Time by op type").locator("svg text").first
    assert (luminance(label, "fill") < 150) == is_light


def test_the_scheme_is_followed_while_it_changes(demo: Screen) -> None:
    demo.page.emulate_media(color_scheme="dark")
    demo.until(lambda: luminance(demo.root, "backgroundColor") < 128, True)
    demo.page.emulate_media(color_scheme="light")
    demo.until(lambda: luminance(demo.root, "backgroundColor") > 128, True)


def test_a_narrow_page_has_few_columns_and_stacked_panels(open_file: Opening, demo_file: Path) -> None:
    screen = open_file(demo_file, viewport=NARROW)
    headers = screen.grid.get_by_role("columnheader")
    screen.until(lambda: sum(header.is_visible() for header in headers.all()), 3)
    assert screen.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    table, charts = screen.grid.bounding_box(), screen.chart("Time by op type").bounding_box()
    assert table
    assert charts
    assert charts["y"] >= table["y"] + table["height"]
    expect(screen.slider("min_micros")).to_have_count(0)
    screen.root.get_by_role("button", name="filters").click()
    screen.type_number("min_micros", "100")
    expect(screen.slider("min_micros")).to_be_visible()
    for tab in ("op", "timeline", "memory", "advise"):
        screen.look_at(tab)
        assert screen.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), tab


def test_nothing_moves_for_who_asks_for_less_motion(open_file: Opening, demo_file: Path) -> None:
    moving = """() => {
        const root = document.querySelector("[data-tfprof-live]").shadowRoot;
        return [...root.querySelectorAll("*")].filter(each => {
            const { transitionDuration, animationDuration, animationName } = getComputedStyle(each);
            const lasts = duration => duration.split(", ").some(part => parseFloat(part) > 0.02);
            return lasts(transitionDuration) || (animationName !== "none" && lasts(animationDuration));
        }).map(each => each.className);
    }"""
    still = open_file(demo_file, reduced_motion="reduce")
    assert still.page.evaluate(moving) == []


def test_without_scripts_there_is_a_static_table(chromium: Browser, demo_file: Path) -> None:
    with watched_page(chromium, java_script_enabled=False) as page:
        page.goto(demo_file.as_uri())
        table = page.get_by_role("table")
        expect(table.locator("tbody tr")).to_have_count(110)  # the root and 109 rows
        expect(table).to_contain_text("gradients/layer1/MatMul_grad/MatMul_1")
        expect(page.get_by_role("heading", name="demo")).to_be_visible()
        expect(page.locator("body")).to_contain_text("nodes 81")
