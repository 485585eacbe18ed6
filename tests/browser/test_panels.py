"""Memory over time and the advice."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.screen import Screen


def test_memory_tells_the_peak_and_whose_it_was(demo: Screen) -> None:
    """At the peak layer1's gradient held 784 x 128 floats, 401,408 bytes."""
    demo.look_at("memory")
    expect(demo.root.get_by_role("region", name="memory over time")).to_contain_text("peak 440.1 kB")
    expect(demo.root.locator(".memory svg").first).to_be_visible()
    holders = demo.root.get_by_role("table", name=re.compile("Alive at the peak"))
    first = holders.locator("tbody tr").first
    expect(first).to_contain_text("gradients/layer1/MatMul_grad/MatMul_1")
    expect(first.get_by_role("cell", name="401.4 kB")).to_have_attribute("title", "401,408 B")
    first.get_by_role("button").click()
    demo.look_at("scope")
    expect(demo.row("gradients/layer1/MatMul_grad/MatMul_1")).to_have_attribute("aria-selected", "true")


def test_advice_names_the_costliest_and_selects_it(demo: Screen) -> None:
    """The tab counts the reports; the costliest operation type is the matrix product."""
    expect(demo.tab("advise")).to_have_accessible_description(re.compile(r"^\d+ reports?$"))
    demo.look_at("advise")
    expect(demo.root.get_by_role("tabpanel")).to_contain_text("MatMul")
    demo.root.get_by_role("tabpanel").get_by_role("button", name="MatMul", exact=True).first.click()
    demo.look_at("op")
    expect(demo.row("MatMul")).to_have_attribute("aria-selected", "true")


def test_facts_say_how_it_was_measured(demo: Screen) -> None:
    facts = demo.root.locator(".facts")
    for fact in ("nodes 81", "steps 1", "executions 30"):
        expect(facts).to_contain_text(fact)
    expect(demo.root).to_contain_text("UTC · Python 3.")
