"""Light and dark, wide and narrow, with and without motion, and without scripts."""

from __future__ import annotations

import re
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


def test_a_narrow_page_has_stacked_panels(open_file: Opening, demo_file: Path) -> None:
    screen = open_file(demo_file, viewport=NARROW)
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
        expect(table.locator("tbody tr")).to_have_count(20)  # the costliest
        expect(table.locator("tbody th").nth(4)).to_have_attribute("title", "gradients/layer1/MatMul_grad/MatMul_1")
        expect(table.locator("thead th").nth(1)).to_have_text("time")
        expect(page.get_by_role("img", name="demo · Time by op type")).to_be_visible()
        expect(page.get_by_text("they appear where scripts may run")).to_be_visible()
        expect(page.get_by_role("heading", name="demo", level=2)).to_be_visible()
        expect(page.get_by_role("main").get_by_role("heading", level=1)).to_have_text("demo")
        expect(page.locator("body")).to_contain_text("nodes 81")


def test_in_forced_colours_what_is_chosen_is_told_without_colour(open_file: Opening, demo_file: Path) -> None:
    screen = open_file(demo_file, forced_colors="active")
    screen.until(lambda: screen.marks("Time by op type")[:1], ["MatMul"])

    def style(element: Locator, name: str) -> str:
        found: str = element.evaluate("(element, name) => getComputedStyle(element)[name]", name)
        return found

    assert [style(screen.tab(tab), "borderBottomWidth") for tab in ("scope", "op")] == ["3px", "2px"]
    assert style(screen.tab("op"), "borderBottomColor") == style(screen.root, "backgroundColor")
    chosen, other = (screen.root.locator(".segments label span").nth(place) for place in (0, 1))
    assert (style(chosen, "outlineStyle"), style(other, "outlineStyle")) == ("solid", "none")
    expect(screen.root.locator(".spread").first).to_be_visible()
    label = screen.chart("Time by op type").locator(".role-axis-label text").first
    assert style(label, "fill") == style(screen.root, "color")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_paper_has_the_whole_table_and_no_controls(
    chromium: Browser, model_file: Path, scheme: Literal["light", "dark"]
) -> None:
    with watched_page(chromium, color_scheme=scheme) as page:
        page.goto(model_file.as_uri())
        screen = Screen(page).until_ready()
        screen.until(lambda: len(screen.marks("Time by op type")) > 5, True)
        screen.unfold_all()
        drawn = screen.rows.count()
        page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        rows = screen.root.locator(".printed tbody tr")
        expect(rows).to_have_count(501)  # the most, and a line that tells how many more there are
        assert drawn < 100
        expect(rows.last).to_contain_text("more of")
        expect(screen.root.locator(".facts")).to_be_visible()
        expect(screen.root.get_by_role("treegrid")).to_be_hidden()
        for control in ("slider", "combobox", "searchbox", "button", "spinbutton", "textbox"):
            expect(screen.root.get_by_role(control, disabled=False).first).to_be_hidden()
        assert luminance(screen.root, "backgroundColor") > 250
        assert luminance(screen.root, "color") < 60
        page.evaluate("() => dispatchEvent(new Event('afterprint'))")
        page.emulate_media(media="screen")
        expect(rows).to_have_count(0)
        expect(screen.root.get_by_role("treegrid")).to_be_visible()


def test_paper_has_no_blank_pages(chromium: Browser, demo_file: Path, tmp_path: Path) -> None:
    """Two pages: head line and table, and then the charts."""
    with watched_page(chromium, color_scheme="dark") as page:
        page.goto(demo_file.as_uri())
        screen = Screen(page).until_ready()
        screen.until(lambda: len(screen.marks("Scopes by time")) > 5, True)
        printed = page.pdf(format="A4", print_background=True)
    assert re.findall(rb"/Count (\d+)", printed) == [b"2"]
