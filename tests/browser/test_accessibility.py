"""axe-core finds nothing, on any tab, in light and in dark, wide and narrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page, expect

from tests.browser.conftest import Opening
from tests.browser.expected import TABS_OF_ONE_PROCESS

AXE = Path(__file__).parent.parent.parent / "node_modules" / "axe-core" / "axe.min.js"


OF_COLOUR = ["color-contrast", "link-in-text-block"]
SCHEMES: dict[Literal["light", "dark"], dict[str, list[str]]] = {"light": {}, "dark": {"runOnly": OF_COLOUR}}


def violations(page: Page) -> list[str]:
    """What axe finds, of any severity, with where; in the dark by its rules of colour, as only colours differ there."""
    found: list[str] = []
    for scheme, rules in SCHEMES.items():
        page.emulate_media(color_scheme=scheme)
        expect(page.locator("[data-theme]").first).to_have_attribute("data-theme", scheme)  # it follows a little later
        told: list[dict[str, Any]] = page.evaluate(
            "async rules => (await axe.run(document, { resultTypes: ['violations'], ...rules })).violations", rules
        )
        found += [
            f"{scheme}, {each['id']}: {node['target']} {node.get('failureSummary', '')}"
            for each in told
            for node in each["nodes"]
        ]
    page.emulate_media(color_scheme="light")
    return found


def test_axe_finds_nothing(open_file: Opening, demo_file: Path) -> None:
    screen = open_file(demo_file)
    screen.page.evaluate(AXE.read_text(encoding="utf-8"))
    found: dict[str, list[str]] = {}
    for tab in TABS_OF_ONE_PROCESS:
        screen.look_at(tab)
        screen.page.wait_for_timeout(250)
        found[tab] = violations(screen.page)
    screen.look_at("op").row("MatMul").click()
    screen.show_all_options()
    screen.type_number("min_micros", "100")
    screen.type_regexes("show_name_regexes", "layer[1")
    expect(screen.regexes("show_name_regexes")).to_have_attribute("aria-invalid", "true")
    found["filters"] = violations(screen.page)
    screen.root.get_by_role("button", name="Export").click()
    found["menu"] = violations(screen.page)
    assert {place: faults for place, faults in found.items() if faults} == {}


def test_axe_finds_nothing_on_a_narrow_page(open_file: Opening, demo_file: Path) -> None:
    """At 320 pixels, which is a page of 1280 enlarged four times."""
    screen = open_file(demo_file, viewport={"width": 320, "height": 800})
    screen.page.evaluate(AXE.read_text(encoding="utf-8"))
    found: dict[str, list[str]] = {}
    for tab in TABS_OF_ONE_PROCESS:
        screen.look_at(tab)
        screen.until_painted()
        found[tab] = violations(screen.page)
    assert {place: faults for place, faults in found.items() if faults} == {}


def test_axe_sees_into_the_widget(open_file: Opening, demo_file: Path) -> None:
    """A button without a name is found."""
    screen = open_file(demo_file)
    screen.page.evaluate(AXE.read_text(encoding="utf-8"))
    screen.root.evaluate("root => root.append(document.createElement('button'))")
    assert [fault for fault in violations(screen.page) if fault.startswith("light, button-name")]


def test_axe_sees_colours_in_the_dark(open_file: Opening, demo_file: Path) -> None:
    """A text that is legible in the light alone."""
    screen = open_file(demo_file)
    screen.page.evaluate(AXE.read_text(encoding="utf-8"))
    screen.root.evaluate(
        "root => root.insertAdjacentHTML('beforeend', '<p style=\"color: light-dark(black, #222);'"
        " + ' background: light-dark(white, black); color-scheme: light dark\">dark</p>')"
    )
    assert {fault.partition(":")[0] for fault in violations(screen.page)} == {"dark, color-contrast"}
