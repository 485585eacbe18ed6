"""The overview: what a screen reader finds there, what its sliders do, and where its parts lead."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

from tests.analysis.advisor.findings import on_cpu, ran
from tests.analysis.advisor.test_cell_time import SECOND, SLOW, looked, phase
from tests.browser.conftest import Opening, written
from tests.browser.screen import Screen
from tests.browser.test_accessibility import AXE, violations
from tfprof_widget.api.profile import Profile
from tfprof_widget.profiles.cell import FIRST_RUN, TRACED, CellRuns, CellTimes, CodeLine, OwnCode
from tfprof_widget.profiles.program import ModelLayer

MILLI = 1_000_000
METHOD = "def on_train_batch_end(self, batch, logs=None):"
OPS = {"in/MatMul": "MatMul", "mid/MatMul": "MatMul", "out/MatMul": "MatMul"}


def fit() -> Profile:
    """A cell of 10 s: 20 steps of 200 ms, of which the fifth and the ninth were traced, and a callback of 3 s."""
    steps = [
        on_cpu(("in/MatMul", at, 40_000), ("mid/MatMul", at + 40_000, 60_000), ("out/MatMul", at + 100_000, 80_000))
        for at in (1_250_000, 2_250_000)
    ]
    profile = ran(OPS, *steps, step_names=["train", "train"])
    nanos = np.full(20, 200 * MILLI)
    marks, traced = {0: FIRST_RUN, 5: TRACED, 9: TRACED}, {5: 0, 9: 1}
    runs = CellRuns.of("train", np.arange(20) * SECOND // 4, nanos, marks, traced, usual_nanos=200 * MILLI)
    cell = CellTimes.of(
        {"first": 2 * SECOND, "steps": 4 * SECOND, "python": 3 * SECOND, "tfprof": SECOND},
        runs=(runs,),
        phases=(phase("Watcher.on_train_batch_end", 3.0, line=replace(SLOW, line=18)),),
        looks=looked("python", (SLOW,)),
    )
    layers = tuple(ModelLayer(name, name, "Dense") for name in ("in", "mid", "out"))
    text = f"class Watcher(Callback):\n    {METHOD}\n        plot(logs)"
    code = OwnCode((CodeLine(SLOW.file, 17, "<module>", text),))
    return replace(profile, main_kind="train", cells=(cell,), model_layers=layers, own_code=code)


@pytest.fixture(scope="module")
def fit_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its standalone page."""
    return written(tmp_path_factory.mktemp("fit") / "fit.html", fit(), "a fit", "overview")


def items(screen: Screen, name: str) -> list[str]:
    """The items of a list."""
    return listed(screen, name).get_by_role("listitem").all_inner_texts()


def listed(screen: Screen, name: str) -> Locator:
    return screen.root.get_by_role("list", name=name, exact=True)


def test_what_is_said_first(open_file: Opening, fit_file: Path) -> None:
    screen = open_file(fit_file)
    heading = screen.root.get_by_role("heading", name=re.compile("^The callback Watcher takes 3 s of the cell's 10 s"))
    expect(heading).to_contain_text("mostly at train.py:20")
    expect(heading).to_contain_text("Let the callback do less")
    expect(heading).to_contain_text("Without this the cell would take 7 s instead of 10 s.")
    cell, step = items(screen, "the cell"), items(screen, "a step")
    assert cell == [
        "first steps, 2 s, 20 %",
        "19 steps, 4 s, 40 %",
        "Python between steps, 3 s, 30 %",
        "tfprof, 1 s, 10 %",
    ]
    assert step == ["forward, 180 ms, 90 %", "nothing runs, 20 ms, 10 %"]
    assert len(items(screen, "steps")) == 20
    expect(screen.tab("advise")).to_have_accessible_description(re.compile("^[1-9] findings?$"))
    expect(listed(screen, "what to do").get_by_role("listitem").first).to_contain_text("up to 1.43")


def test_a_traced_step_is_shown_everywhere(open_file: Opening, fit_file: Path) -> None:
    screen = open_file(fit_file)
    step = screen.root.get_by_role("button", name="step 9, 200 ms, traced")
    step.click()
    expect(step).to_have_attribute("aria-pressed", "true")
    expect(screen.root.get_by_role("combobox", name="step")).to_have_value("=1")
    expect(screen.root.get_by_text("all tabs show it")).to_be_visible()
    step.press("ArrowLeft")
    for _ in range(3):
        screen.page.keyboard.press("ArrowLeft")
    screen.page.keyboard.press("Enter")
    expect(screen.root.get_by_role("combobox", name="step")).to_have_value("=0")


def test_of_an_untraced_step_its_time_is_told(open_file: Opening, fit_file: Path) -> None:
    screen = open_file(fit_file)
    screen.root.get_by_role("button", name="step 9, 200 ms, traced").click()
    step = screen.root.get_by_role("button", name="step 3, 200 ms", exact=True)
    step.click()
    expect(step).to_have_attribute("aria-pressed", "true")
    told = "step 3, 200 ms, 1.00 times the median. What ran in it was not traced: all tabs show the mean of 2 steps."
    expect(screen.root.get_by_text(told)).to_be_visible()
    expect(screen.root.get_by_role("combobox", name="step").locator("option:checked")).to_have_text("mean of 2 steps")
    step.click()
    expect(screen.root.get_by_text(told)).to_have_count(0)


def test_a_bar_tells_below_only_what_has_no_room_inside(open_file: Opening, fit_file: Path) -> None:
    """No label is cut in mid-word: it is inside, whole, or below."""
    screen = open_file(fit_file)
    below = screen.root.locator(".stacked .below span")
    for width in (1360, 700, 320):
        screen.page.set_viewport_size({"width": width, "height": 800})
        screen.until_painted()
        inside = screen.root.locator(".stacked li button span").evaluate_all(
            "texts => texts.filter(text => text.offsetTop === 0).map(text => ["
            "text.textContent, text.getBoundingClientRect().right <= text.parentElement.getBoundingClientRect().right])"
        )
        assert all(fits for _, fits in inside)
        parts = items(screen, "the cell") + items(screen, "a step")
        expect(below).to_have_text([part for part in parts if part not in dict(inside)])


def test_sliders_are_live_and_a_layer_leads_to_its_row(open_file: Opening, fit_file: Path) -> None:
    screen = open_file(fit_file)
    table = screen.root.get_by_role("table", name=re.compile("Layers"))
    expect(table.get_by_role("rowheader")).to_contain_text(["in Dense", "mid Dense", "out Dense"])
    expect(table.get_by_role("row").nth(3)).to_contain_text("80 ms")
    screen.drag("min_micros", 0, 0.95)
    expect(table.get_by_role("rowheader")).not_to_contain_text(["in Dense"])
    screen.type_number("min_micros", "50000")
    expect(table.get_by_role("rowheader")).to_contain_text(["mid Dense", "out Dense"])
    expect(screen.root.get_by_role("figure", name="Time by op type")).to_be_visible()
    table.get_by_role("button", name="mid").click()
    expect(screen.tab("layers")).to_have_attribute("aria-selected", "true")


def test_the_layers_tab_has_each_pass_and_orders_by_it(open_file: Opening, fit_file: Path) -> None:
    screen = open_file(fit_file).look_at("layers")
    headers = screen.grid.get_by_role("columnheader").all_inner_texts()
    assert headers[1:6] == ["own", "total time ▾", "forward", "share", "runs"]
    expect(screen.row("out")).to_contain_text("Dense")
    expect(screen.cell("out", "forward")).to_have_text("80 ms")
    screen.root.get_by_role("button", name="name", exact=True).click()
    screen.grid.get_by_role("button", name="forward").click()
    expect(screen.grid.get_by_role("columnheader", name="forward")).to_have_attribute("aria-sort", "descending")
    assert screen.names()[1:] == ["out", "mid", "in"]


def test_parts_and_findings_lead_to_what_they_are_made_of(open_file: Opening, fit_file: Path) -> None:
    screen = open_file(fit_file)
    screen.root.get_by_role("button", name="forward, 180 ms, 90 %").click()
    expect(screen.tab("layers")).to_have_attribute("aria-selected", "true")
    screen.look_at("overview")
    screen.root.get_by_role("button", name="Show it in the timeline").click()
    expect(screen.tab("timeline")).to_have_attribute("aria-selected", "true")


def test_a_card_has_a_patch_to_copy_and_the_rest_unfolds(open_file: Opening, fit_file: Path) -> None:
    screen = open_file(fit_file)
    screen.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    card = listed(screen, "what to do").get_by_role("listitem").first
    expect(card).to_contain_text("Python between steps")
    expect(card).to_contain_text("30 % of the cell")
    patch = card.get_by_role("figure", name="patch of train.py:18")
    assert patch.locator("pre").inner_text().splitlines() == [
        f"- {METHOD}",
        f"+ {METHOD.replace('train_batch', 'epoch')}",
    ]
    expect(patch).to_contain_text("it works once an epoch, not once a batch")
    patch.get_by_role("button", name="Copy").click()
    expect(patch).to_contain_text("copied")
    copied = screen.page.evaluate("navigator.clipboard.readText()")
    assert copied == f"    {METHOD.replace('train_batch', 'epoch')}"
    expect(card.get_by_text("Let the callback do less")).not_to_be_visible()
    card.get_by_text("what else helps").click()
    expect(card.get_by_text("Let the callback do less")).to_be_visible()
    silent = screen.root.get_by_text(re.compile(r"^\d+ checks found nothing$"))
    silent.click()
    expect(screen.root.get_by_text("functions that are built again and again")).to_be_visible()


def test_no_rule_of_axe_is_broken_and_nothing_is_lost_in_a_narrow_cell(open_file: Opening, fit_file: Path) -> None:
    screen = open_file(fit_file)
    expect(screen.root.get_by_role("figure", name="Time by op type")).to_be_visible()
    screen.page.evaluate(AXE.read_text(encoding="utf-8"))
    assert violations(screen.page) == []
    screen.page.set_viewport_size({"width": 320, "height": 800})
    screen.until_painted()
    assert violations(screen.page) == []
    wider = screen.root.evaluate(
        "root => [...root.querySelectorAll('.glance *')].filter(each => each.getBoundingClientRect().right > 321)"
        ".filter(each => !each.closest('.stacked ul, .chart')).map(each => each.className || each.tagName)"
    )
    assert wider == []
    expect(screen.root.get_by_text("Python between steps, 3 s, 30 %").last).to_be_visible()


def test_with_nothing_to_do_the_lists_are_there(open_profile: Opening) -> None:
    screen = open_profile(ran(OPS), view="overview")
    expect(screen.root.get_by_role("heading", name=re.compile("^No step was recorded"))).to_be_visible()
    for name, item in {
        "the cell": "no cell was captured: this is the profile of single steps",
        "a step": "no step was timed",
        "steps": "no step was timed",
        "what to do": "Nothing to change was found.",
    }.items():
        assert items(screen, name) == [item]
