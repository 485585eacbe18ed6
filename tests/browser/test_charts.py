"""The charts beside the tables: what they show, that they follow, and that they and the rows select each other."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Opening
from tests.browser.screen import Screen
from tests.sketches import profile_of

BY_TIME = "Time by op type"


def test_bars_are_drawn_as_svg(demo: Screen) -> None:
    """The order of cost by type, from the times recorded: MatMul 123 µs, Relu 92 µs, the update 66 µs."""
    demo.until(lambda: demo.marks(BY_TIME)[:3], ["MatMul", "Relu", "ApplyGradientDescent"])
    bars = demo.chart(BY_TIME).locator("svg .mark-rect path, svg .mark-rect rect")
    assert bars.count() >= len(demo.marks(BY_TIME))
    widths = bars.evaluate_all("bars => bars.map(bar => bar.getBoundingClientRect().width)")
    assert max(widths) > 100
    expect(demo.chart(BY_TIME).locator("svg")).to_contain_text("MatMul")


def test_long_names_are_told_apart(open_profile: Opening) -> None:
    """Kernels of oneDNN begin alike and differ at the end."""
    ops = ["_MklNativeConv2DBackpropFilterWithBias", "_MklNativeConv2DBackpropInput", "_MklNativeFusedConv2D"]
    sketch = "".join(f"n{place} = {op}() {9 - place}us\n" for place, op in enumerate(ops))
    screen = open_profile(profile_of(sketch))
    names = screen.chart(BY_TIME).locator("svg .mark-text.role-axis-label text")
    expect(names).to_have_text([re.compile(f"^_Mkl.*{end}$") for end in ("WithBias", "Input", "FusedConv2D")])


def test_scopes_are_drawn_as_an_icicle(demo: Screen) -> None:
    demo.until(lambda: {"gradients", "layer1", "gradients/layer1"} <= set(demo.marks("Scopes by time")), True)
    assert demo.chart("Scopes by time").locator("svg .mark-rect path").count() >= len(demo.marks("Scopes by time"))


def test_the_metric_is_switched(demo: Screen) -> None:
    titles = {"memory": "Bytes requested by op type", "count": "Runs by op type", "GFLOP/s": "FLOP rate by op type"}
    for metric, title in titles.items():
        demo.root.get_by_role("radiogroup", name="metric").get_by_role("radio", name=metric).check()
        expect(demo.chart(title).locator("svg")).to_be_visible()
        demo.until(lambda title=title: len(demo.marks(title)) > 1, True)  # type: ignore[misc]
    rates = demo.chart("FLOP rate by op type").get_by_role("option", name="MatMul")
    expect(rates).to_have_accessible_name(re.compile("FLOP/s"))


def test_a_bar_selects_its_rows_and_what_it_costs_is_explained(demo: Screen) -> None:
    demo.unfold_all()
    demo.chart(BY_TIME).get_by_role("option", name="Relu,").click()
    panel = demo.root.get_by_role("region", name="selection")
    expect(panel).to_contain_text("Selected: Relu")
    expect(panel).to_contain_text("91.9 µs")
    expect(demo.chart(BY_TIME).get_by_role("option", name="Relu,")).to_have_attribute("aria-selected", "true")
    demo.look_at("op")
    expect(demo.row("Relu")).to_have_attribute("aria-selected", "true")
    demo.look_at("scope")
    demo.type_regexes("show_name_regexes", "layer1/Relu")
    expect(demo.row("layer1/Relu")).to_have_class(re.compile("linked-itself"))
    demo.look_at("timeline")
    expect(demo.root.get_by_role("group", name="found and selected")).to_be_visible()


def test_a_row_selects_its_bar(demo: Screen) -> None:
    demo.look_at("op").row("MatMul").click()
    expect(demo.chart(BY_TIME).get_by_role("option", name="MatMul,")).to_have_attribute("aria-selected", "true")
    demo.grid.press("Escape")
    expect(demo.chart(BY_TIME).get_by_role("option", name="MatMul,")).to_have_attribute("aria-selected", "false")


def test_bars_are_chosen_by_keys(demo: Screen) -> None:
    demo.look_at("op")
    first = demo.chart(BY_TIME).get_by_role("option").first
    first.focus()
    demo.page.keyboard.press("ArrowDown")
    demo.page.keyboard.press("Enter")
    expect(demo.row("Relu")).to_have_attribute("aria-selected", "true")
    demo.page.keyboard.press("ArrowDown")
    demo.page.keyboard.press("Control+Enter")
    expect(demo.grid.locator("[role=row][aria-selected=true]")).to_have_count(2)


def test_the_selection_explains_itself(demo: Screen) -> None:
    """layer1's gradient took 110.946 µs, and its line in the recorded train.py is 18."""
    demo.row("gradients/layer1/MatMul_grad/MatMul_1").click()
    panel = demo.root.get_by_role("region", name="selection")
    for text in ("Selected: MatMul_1", "MatMul", "CPU:0", "110.9 µs", "401.4 kB", "train.py"):
        expect(panel).to_contain_text(text)
    panel.get_by_role("button", name="clear the selection").click()
    expect(demo.grid.locator("[role=row][aria-selected=true]")).to_have_count(0)


def test_steps_are_compared_and_chosen(open_profile: Opening) -> None:
    screen = open_profile(profile_of("a = MatMul() 4us;2us;9us"))
    steps = screen.chart("Time by step").get_by_role("option")
    expect(steps).to_have_count(3)
    steps.nth(2).click()
    expect(screen.cell("a", "own")).to_have_text("9 µs")
    expect(steps.nth(2)).to_have_attribute("aria-selected", "true")


def test_accelerators_have_bars_of_their_own(open_profile: Opening) -> None:
    gpu = "@/job:localhost/replica:0/task:0/device:GPU:0"
    screen = open_profile(profile_of(f"a = MatMul() 4us {gpu}\nb = Relu() 3us"))
    texts = screen.chart(BY_TIME).get_by_role("option")
    expect(texts).to_have_count(2)
    expect(screen.chart(BY_TIME).locator("svg")).to_be_visible()
