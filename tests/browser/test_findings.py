"""What the checkers found leads to where it can be seen."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.analysis.advisor.findings import on_cpu, ran
from tests.browser.conftest import Opening


def test_evidence_opens_a_view_under_the_options_that_bring_it_out(open_profile: Opening) -> None:
    """Half of the time is padding; a filter that would hide it is undone."""
    run = on_cpu(("conv", 1000, 500), ("pad", 1500, 500))
    screen = open_profile(ran({"conv": "Conv2D", "pad": "Pad"}, run, inputs={"conv": ["pad"]}))
    screen.type_regexes("hide_name_regexes", "[Pp]ad")
    screen.look_at("advise")
    found = screen.root.get_by_role("region", name="Transposing and padding")
    expect(found).to_contain_text("Padding tensors takes 50 % of the op time")
    expect(found).to_contain_text("Let the convolution pad")
    found.get_by_role("button", name="see the op view").click()
    expect(screen.tab("op")).to_have_attribute("aria-selected", "true")
    expect(screen.row("Pad")).to_be_visible()
    assert screen.names() == ["Pad"]


def test_evidence_in_the_timeline_is_selected_there(open_profile: Opening) -> None:
    """Of 1,000 us the first 500 are spent waiting for the next batch."""
    ops = {"next": "IteratorGetNext", "dense": "MatMul"}
    screen = open_profile(ran(ops, on_cpu(("next", 1000, 500), ("dense", 1500, 500))))
    screen.look_at("advise")
    found = screen.root.get_by_role("region", name="Waiting for input")
    expect(found).to_contain_text("500 µs of its 1 ms (50 %)")
    found.get_by_role("button", name="see the timeline").click()
    expect(screen.tab("timeline")).to_have_attribute("aria-selected", "true")
    screen.look_at("scope")
    expect(screen.row("next")).to_have_attribute("aria-selected", "true")
