"""The charts beside the tables: what they show, that they follow, and that they and the rows select each other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from tests.browser.conftest import Opening
from tests.browser.expected import view_of
from tests.browser.screen import Screen
from tests.made import profile_of_tables
from tests.sketches import profile_of, protos_of
from tfprof_widget.api.profile import Profile
from tfprof_widget.charts.costs import Costs, cost_rows, shown_names
from tfprof_widget.ingest.gathered import Gathered
from tfprof_widget.lib.messages import GraphDef, RunMetadata
from tfprof_widget.widget.report import report
from tfprof_widget.widget.shown import Shown, ShownGraph, starting_options

BY_TIME = "Time by op type"
TITLES = {
    "time": BY_TIME,
    "memory": "Bytes requested by op type",
    "count": "Runs by op type",
    "rate": "FLOP rate by op type",
}
# Each metric, each step and what is left without the blocks has another order; in count two types are equal.
CHANGING = """
    block/mul = Mul() 1us;9us 300B 50flops
    block/fused = _MklMatMul() 7us;2us 10B 10flops
    net/mul = Mul() 3us;- 10B 80flops
    net/relu = Relu() 2us+2us;1us 200B 1flops
    net/relu/block = Add() 5us;1us 900B 2flops
    net/sum = Add() -;3us 40B 3flops
    net/fused = _MklMatMul() 1us;1us 20B 90flops
"""
# What the axis says, what lies there for pointer and keys, and how long the bar is, each from top to bottom.
_BARS = """figure => {
    const found = selector => [...figure.querySelectorAll(selector)]
        .map(each => [each, each.getBoundingClientRect()])
        .sort(([, one], [, other]) => one.top + one.height / 2 - other.top - other.height / 2);
    return {
        labels: found(".role-axis-label text").map(([each]) => each.textContent),
        marks: found("[role=option]").map(([each]) => each.ariaLabel.split(", ")[0]),
        widths: found(".mark-rect.role-mark path").map(([, { width }]) => width),
    };
}"""

# The bars when the marks have changed, in the same task.
_NEXT_BARS = f"""figure => ({{
    next: new Promise(done => {{
        const changed = async () => {{
            for (let turn = 0; turn < 200; turn++) await null;
            done(({_BARS})(figure));
        }};
        new MutationObserver(changed).observe(figure.querySelector("[role=listbox]"), {{ childList: true }});
    }}),
}})"""
# The texts of a chart that match, from left to right.
_FROM_THE_LEFT = """(figure, wanted) => [...figure.querySelectorAll("svg text")]
    .filter(each => each.textContent.match(wanted))
    .sort((one, other) => one.getBoundingClientRect().left - other.getBoundingClientRect().left)
    .map(each => each.textContent)"""


def test_bars_are_drawn_as_svg(demo: Screen) -> None:
    """The order of cost by type, from the times recorded: MatMul 123 µs, Relu 92 µs, the update 66 µs."""
    demo.until(lambda: demo.marks(BY_TIME)[:3], ["MatMul", "Relu", "ApplyGradientDescent"])
    bars = demo.chart(BY_TIME).locator("svg .mark-rect path, svg .mark-rect rect")
    assert bars.count() >= len(demo.marks(BY_TIME))
    widths = bars.evaluate_all("bars => bars.map(bar => bar.getBoundingClientRect().width)")
    assert max(widths) > 100
    expect(demo.chart(BY_TIME).locator("svg")).to_contain_text("MatMul")


def test_long_names_are_told_apart(open_profile: Opening) -> None:
    """Kernels of oneDNN lose what they all begin with; where they differ at the end, the middle is left out."""
    ops = ["_MklNativeConv2DBackpropFilterWithBias", "_MklNativeConv2DBackpropInput", "_MklNativeFusedConv2D"]
    sketch = "".join(f"n{place} = {op}() {9 - place}us\n" for place, op in enumerate(ops))
    screen = open_profile(profile_of(sketch))
    names = screen.chart(BY_TIME).locator("svg .mark-text.role-axis-label text")
    expect(names).to_have_text([re.compile(f"^Conv2DBackp.*{end}$") for end in ("WithBias", "Input")] + ["FusedConv2D"])


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


def test_bars_stay_in_the_order_of_what_they_show(open_profile: Opening) -> None:
    profile = profile_of(CHANGING)
    screen = open_profile(profile)
    step = screen.root.get_by_role("combobox", name="step")
    orders = [bars_agree(screen, profile, "time")]
    screen.type_regexes("trim_name_regexes", ".*block.*")
    orders.append(bars_agree(screen, profile, "time", trim_name_regexes=[".*block.*"]))
    screen.root.get_by_role("button", name="reset all").click()
    bars_agree(screen, profile, "time")
    step.select_option("=1")
    orders.append(bars_agree(screen, profile, "time", step=1))
    step.select_option("=0")
    orders.append(bars_agree(screen, profile, "time", step=0))
    step.select_option("")
    for metric, choice in {"memory": "memory", "count": "count", "rate": "GFLOP/s", "time": "time"}.items():
        screen.root.get_by_role("radio", name=choice).check()
        orders.append(bars_agree(screen, profile, metric))
    assert len({tuple(order) for order in orders}) == 6, "what is changed no longer changes the order"


def bars_agree(screen: Screen, profile: Profile, metric: str, **changes: Any) -> list[str]:
    """Bars stand from the costliest down, and the pointer on a name finds the op type of that name; the names."""
    wanted = [row["name"] for row in cost_rows(Costs.of(view_of(profile, "scope", **changes)), metric)]
    chart = screen.chart(TITLES[metric])
    screen.until(lambda: chart.evaluate(_BARS)["marks"], wanted)
    expect(chart.locator(".role-axis-label text")).to_have_count(len(wanted))
    screen.until_painted()
    bars = chart.evaluate(_BARS)
    assert bars["labels"] == shown_names(wanted)
    assert bars["widths"] == sorted(bars["widths"], reverse=True)
    for name, shown in zip(wanted, shown_names(wanted), strict=True):
        label = (
            chart.locator(".role-axis-label text").filter(has_text=re.compile(f"^{re.escape(shown)}$")).bounding_box()
        )
        assert label
        middle = (label["x"] + label["width"] / 2, label["y"] + label["height"] / 2)
        screen.page.mouse.move(*middle)
        expect(chart.locator(".tip b")).to_have_text(name)
        screen.page.mouse.click(*middle)
        expect(screen.root.get_by_role("region", name="selection")).to_contain_text(f"Selected: {name}")
    screen.root.get_by_role("button", name="clear the selection").click()
    return wanted


def test_a_tooltip_goes_when_the_focus_does(demo: Screen) -> None:
    chart = demo.chart(BY_TIME)
    bar = chart.get_by_role("option").first
    expect(bar).to_be_visible()
    demo.page.keyboard.press("Tab")  # what has the focus by the keyboard shows that it has
    bar.focus()
    expect(chart.locator(".tip")).to_have_count(1)
    demo.page.keyboard.press("ArrowDown")
    expect(chart.locator(".tip b")).to_have_text(demo.marks(BY_TIME)[1])
    demo.page.keyboard.press("Tab")
    expect(chart.locator(".tip")).to_have_count(0)


def test_bars_and_what_is_hit_change_together(open_profile: Opening) -> None:
    screen = open_profile(profile_of(CHANGING))
    chart = screen.chart(BY_TIME)
    expect(chart.get_by_role("listbox")).to_be_visible()
    for step in ("=0", "=1"):
        changed = chart.evaluate_handle(_NEXT_BARS)
        screen.root.get_by_role("combobox", name="step").select_option(step)
        bars = changed.evaluate("({ next }) => next")
        assert bars["labels"] == shown_names(bars["marks"])


def test_steps_and_their_kinds_stay_in_the_order_of_another_graph(open_file: Opening, tmp_path: Path) -> None:
    graphs = (steps_of({5: "eval", 7: "train"}), steps_of({3: "train", 5: "eval", 7: "train"}))
    exhibit = Shown(
        "graphs",
        tuple(ShownGraph(name, graph) for name, graph in zip("ab", graphs, strict=True)),
        view="scope",
        options=starting_options(graphs[0], {}),
    )
    file = tmp_path / "graphs.html"
    file.write_text(report(exhibit), encoding="utf-8")
    screen = open_file(file)
    chart = screen.chart("Time by step")
    screen.until(lambda: chart.evaluate(_FROM_THE_LEFT, r"^[357]$"), ["5", "7"])
    screen.until(lambda: chart.evaluate(_FROM_THE_LEFT, "train|eval"), ["eval", "train"])
    screen.root.get_by_role("combobox", name="graph").select_option(label="b")
    screen.until(lambda: chart.evaluate(_FROM_THE_LEFT, r"^[357]$"), ["3", "5", "7"])
    screen.until(lambda: chart.evaluate(_FROM_THE_LEFT, "train|eval"), ["train", "eval"])


def steps_of(names: dict[int, str]) -> Profile:
    """Runs of one node by their numbers and names."""
    graph, (run_meta,), _ = protos_of("a = MatMul() 4us")
    gathered = Gathered()
    gathered.add_graph(graph)
    for step, name in names.items():
        gathered.add_step(step, run_meta, name)
    return profile_of_tables(gathered.tables())


def test_devices_have_the_colours_of_their_order_in_another_step(open_profile: Opening) -> None:
    """In step 0 there is memory on the second device alone, in step 1 on both."""
    gathered = Gathered()
    gathered.add_graph(GraphDef(node=[{"name": "a0", "op": "Mul"}, {"name": "a1", "op": "Mul"}]))
    for step, devices in enumerate([[1], [0, 1]]):
        run_meta = RunMetadata()
        for device in devices:
            stats = run_meta.step_stats.dev_stats.add(device=f"/device:GPU:{device}").node_stats.add(
                node_name=f"a{device}"
            )
            stats.all_start_micros = stats.op_end_rel_micros = 10
            records = stats.memory.add(allocator_name="gpu", total_bytes=8).allocation_records
            records.add(alloc_micros=11, alloc_bytes=8 + device)  # curves that are alike would be drawn as one
        gathered.add_step(step, run_meta)
    screen = open_profile(profile_of_tables(gathered.tables()), view="memory")
    choice = screen.root.get_by_role("combobox", name="step")
    for value, wanted in {"=0": ["GPU:1"], "=1": ["GPU:0", "GPU:1"]}.items():
        choice.select_option(value)
        screen.until(lambda: screen.root.locator(".memory figure").evaluate(_FROM_THE_LEFT, "^GPU"), wanted)
