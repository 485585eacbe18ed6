"""The roofline beside the tables: dots that select rows, below the roof of the machine if that was measured."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.analysis.account.test_roofline import machine, model
from tests.browser.conftest import Opening
from tests.browser.screen import Screen
from tfprof_widget.analysis import machines

ROOFLINE = "Roofline"


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machines, "_MEASURED", {})
    monkeypatch.setattr(machines, "kept_path", lambda dtype: tmp_path / dtype)


def head(screen: Screen) -> str:
    return screen.root.locator(".roofline p").inner_text()


def test_dots_lie_below_the_roof_and_select_their_rows(open_profile: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: the product at 80 % of a peak of 100 GFLOP/s, sums of 12.6 MB at three quarters of 40 GB/s."""
    monkeypatch.setitem(machines._MEASURED, "float32", machine())
    screen = open_profile(model(), view="op")
    screen.until(lambda: screen.marks(ROOFLINE), ["MatMul", "AddV2"])
    assert "100 GFLOP/s, 40 GB/s" in head(screen)
    assert "on which machine this ran is not known, and this one is compared with" in head(screen)
    assert "of what the machine can" in head(screen)
    product, total = (
        screen.chart(ROOFLINE).get_by_role("option", name=name, exact=False).get_attribute("aria-label")
        for name in ("MatMul", "AddV2")
    )
    assert product is not None
    assert "bound by compute" in product
    assert "of peak 80.0 %" in product
    assert total is not None
    assert "bound by memory" in total
    left = [screen.chart(ROOFLINE).get_by_role("option", name=each).bounding_box() for each in ("MatMul", "AddV2")]
    assert left[0] is not None
    assert left[1] is not None
    assert left[0]["x"] > left[1]["x"]  # by intensity
    assert left[0]["y"] < left[1]["y"]  # by rate
    expect(screen.chart(ROOFLINE).locator("svg .mark-line path")).to_have_count(1)
    screen.chart(ROOFLINE).get_by_role("option", name="MatMul").press("Enter")
    expect(screen.row("MatMul")).to_have_attribute("aria-selected", "true")
    expect(screen.chart(ROOFLINE).get_by_role("option", name="MatMul")).to_have_attribute("aria-selected", "true")


def test_without_a_measurement_it_shows_the_dots_and_says_how_to_measure(open_profile: Opening) -> None:
    screen = open_profile(model(), view="layers")
    screen.until(lambda: screen.marks(ROOFLINE), ["dense", "add", "tiny"])
    assert "if it was this one, run tfprof_widget.machine()" in head(screen)
    expect(screen.chart(ROOFLINE).locator("svg")).to_contain_text("not known")
    expect(screen.chart(ROOFLINE).locator("svg .mark-line path")).to_have_count(0)


def test_other_tables_have_no_roofline(open_profile: Opening) -> None:
    screen = open_profile(model(), view="scope")
    screen.until(lambda: len(screen.marks("Time by op type")) > 1, True)
    expect(screen.root.locator(".roofline")).to_have_count(0)
