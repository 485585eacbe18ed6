"""axe-core finds nothing, on any tab, in light and in dark, wide and narrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Opening
from tests.browser.expected import TABS_OF_ONE_PROCESS

AXE = Path(__file__).parent.parent.parent / "node_modules" / "axe-core" / "axe.min.js"


def violations(page: Page, scheme: str = "light") -> list[str]:
    """What axe finds, of any severity, with where; in the dark by its rules of colour, as only colours differ there."""
    rules = {} if scheme == "light" else {"runOnly": ["color-contrast", "link-in-text-block"]}
    found: list[dict[str, Any]] = page.evaluate(
        "async rules => (await axe.run(document, { resultTypes: ['violations'], ...rules })).violations", rules
    )
    return [
        f"{each['id']}: {node['target']} {node.get('failureSummary', '')}" for each in found for node in each["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(open_file: Opening, demo_file: Path, scheme: Literal["light", "dark"]) -> None:
    screen = open_file(demo_file, color_scheme=scheme)
    screen.page.evaluate(AXE.read_text(encoding="utf-8"))
    found: dict[str, list[str]] = {}
    for tab in TABS_OF_ONE_PROCESS:
        screen.look_at(tab)
        screen.page.wait_for_timeout(250)
        found[tab] = violations(screen.page, scheme)
    screen.look_at("op").row("MatMul").click()
    screen.show_all_options()
    screen.type_number("min_micros", "100")
    screen.type_regexes("show_name_regexes", "layer[1")
    expect(screen.regexes("show_name_regexes")).to_have_attribute("aria-invalid", "true")
    found["filters"] = violations(screen.page, scheme)
    screen.root.get_by_role("button", name="Export").click()
    found["menu"] = violations(screen.page, scheme)
    assert {place: faults for place, faults in found.items() if faults} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_a_narrow_page(
    open_file: Opening, demo_file: Path, scheme: Literal["light", "dark"]
) -> None:
    """At 320 pixels, which is a page of 1280 enlarged four times."""
    screen = open_file(demo_file, color_scheme=scheme, viewport={"width": 320, "height": 800})
    screen.page.evaluate(AXE.read_text(encoding="utf-8"))
    found: dict[str, list[str]] = {}
    for tab in TABS_OF_ONE_PROCESS:
        screen.look_at(tab)
        screen.until_painted()
        found[tab] = violations(screen.page, scheme)
    assert {place: faults for place, faults in found.items() if faults} == {}


def test_axe_sees_into_the_widget(open_file: Opening, demo_file: Path) -> None:
    """A button without a name is found."""
    screen = open_file(demo_file)
    screen.page.evaluate(AXE.read_text(encoding="utf-8"))
    screen.root.evaluate("root => root.append(document.createElement('button'))")
    assert [fault for fault in violations(screen.page) if fault.startswith("button-name")]
