"""Every option of tfprof, moved by mouse, by keys and by typing: status, rows and charts follow."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Opening
from tests.browser.expected import names_of, status_of
from tests.browser.screen import Screen
from tests.made import profile_of_tables
from tests.sketches import profile_of, protos_of
from tfprof_widget.demo import demo_profile
from tfprof_widget.ingest.gathered import Gathered
from tfprof_widget.profiles.options import OPTIONS

OPS_FROM_100_MICROS_ON = ["MatMul", "Relu", "ApplyGradientDescent"]  # cumulative, as in the widget's own example


def test_dragging_min_micros_takes_rows_and_bars_away(demo: Screen) -> None:
    demo.look_at("op")
    demo.until(lambda: len(demo.marks("Time by op type")) > 5, True)
    demo.drag("min_micros", 0, 0.7)
    micros = int(demo.number("min_micros").get_attribute("aria-valuenow") or 0)
    assert 10 < micros < 320
    expect(demo.status).to_have_text(status_of(demo_profile(), "op", min_micros=micros))
    wanted = names_of(demo_profile(), "op", min_micros=micros)
    demo.until(demo.names, wanted)
    demo.until(lambda: demo.marks("Time by op type"), wanted)
    demo.drag("min_micros", 0.7, 0)
    expect(demo.number("min_micros")).to_have_value("0")
    expect(demo.status).to_have_text(status_of(demo_profile(), "op"))


def test_keys_move_a_slider_stop_by_stop(demo: Screen) -> None:
    demo.look_at("op")
    slider = demo.slider("min_micros")
    for key, value in [
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("ArrowUp", 5),
        ("ArrowLeft", 2),
        ("End", 320),
        ("Home", 0),
    ]:
        slider.press(key)
        expect(demo.number("min_micros")).to_have_value(str(value))
        expect(demo.status).to_have_text(status_of(demo_profile(), "op", min_micros=value))
    slider.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", "1 µs")


def test_a_number_is_typed_beside_the_slider(demo: Screen) -> None:
    demo.look_at("op")
    demo.type_number("min_micros", "100")
    demo.until(demo.names, OPS_FROM_100_MICROS_ON)
    demo.until(lambda: demo.marks("Time by op type"), OPS_FROM_100_MICROS_ON)
    demo.type_number("min_micros", "0.1 ms")
    expect(demo.number("min_micros")).to_have_value("100")
    demo.number("min_micros").press("ArrowUp")
    expect(demo.number("min_micros")).to_have_value("200")
    demo.number("min_micros").press("ArrowDown")
    expect(demo.number("min_micros")).to_have_attribute("aria-valuenow", "100")


def test_what_is_no_number_is_refused_with_a_reason(demo: Screen) -> None:
    demo.type_number("min_bytes", "many")
    box = demo.number("min_bytes")
    expect(box).to_have_attribute("aria-invalid", "true")
    expect(demo.root.get_by_role("alert").filter(has_text="no number")).to_be_visible()
    expect(demo.status).to_have_text(status_of(demo_profile(), "scope"))
    box.press("Escape")
    expect(box).to_have_value("0")
    expect(box).not_to_have_attribute("aria-invalid", "true")
    demo.type_number("min_bytes", "many")
    for key in ("ArrowRight", "Home"):
        demo.slider("min_bytes").press(key)
        expect(box).not_to_have_value("many")
        expect(box).not_to_have_attribute("aria-invalid", "true")
    expect(box).to_have_value("0")


def test_max_depth_counts_levels_and_op_types(demo: Screen) -> None:
    for view in ("scope", "op"):
        demo.look_at(view)
        demo.type_number("max_depth", "2")
        if view == "scope":
            demo.unfold_all()
        demo.until(demo.names, names_of(demo_profile(), view, max_depth=2))
        expect(demo.status).to_have_text(status_of(demo_profile(), view, max_depth=2))
    demo.slider("max_depth").press("End")
    expect(demo.status).to_have_text(status_of(demo_profile(), "op"))


@pytest.mark.parametrize("order", ["bytes", "name", "float_ops", "occurrence"])
def test_order_by_orders_rows(demo: Screen, order: str) -> None:
    demo.look_at("op").choice("order_by").select_option(order)
    demo.until(lambda: demo.names()[:12], names_of(demo_profile(), "op", order_by=order)[:12])


def test_headers_order_rows(demo: Screen) -> None:
    demo.look_at("op")
    header = demo.grid.get_by_role("columnheader", name="memory")
    header.get_by_role("button").click()
    expect(header).to_have_attribute("aria-sort", "descending")
    expect(demo.choice("order_by")).to_have_value("bytes")
    demo.until(lambda: demo.names()[:12], names_of(demo_profile(), "op", order_by="bytes")[:12])


FILTERS: list[tuple[str, list[str]]] = [
    ("show_name_regexes", ["layer1.*"]),
    ("hide_name_regexes", ["gradients.*", "Gradient.*"]),
    ("start_name_regexes", ["gradients/layer1.*"]),
    ("trim_name_regexes", ["layer1"]),
    ("account_type_regexes", ["MatMul", "Relu"]),
    ("device_regexes", [".*CPU:0"]),
]
# Those of workers are in test_workers.py, for only there are several.
REGEXES = [option.name for option in OPTIONS if option.kind == "regexes" and option.name != "worker_regexes"]


@pytest.mark.parametrize(("option", "regexes"), FILTERS)
def test_regexes_filter(demo: Screen, option: str, regexes: list[str]) -> None:
    demo.type_regexes(option, ", ".join(regexes))
    wanted: dict[str, Any] = {option: regexes}
    expect(demo.status).to_have_text(status_of(demo_profile(), "scope", **wanted))
    names = names_of(demo_profile(), "scope", **wanted)
    if len(names) > 1:
        demo.unfold_all()
        demo.until(lambda: demo.names()[:15], names[:15])


def test_every_regex_option_is_tried() -> None:
    assert {option for option, _ in FILTERS} | {"run_name_regexes"} == set(REGEXES)


def test_run_name_regexes_choose_the_runs_of_the_mean(open_profile: Opening) -> None:
    """Training runs of 4 µs and 2 µs and a summary of 9 µs: 5 µs in the mean of all, 3 µs in that of training."""
    graph, run_metas, _ = protos_of("a = MatMul() 4us;2us;9us")
    gathered = Gathered()
    gathered.add_graph(graph)
    for step, (run_meta, name) in enumerate(zip(run_metas, ("train", "train", "summary"), strict=True)):
        gathered.add_step(step, run_meta, name)
    screen = open_profile(profile_of_tables(gathered.tables()))
    expect(screen.cell("a", "own")).to_have_text("5 µs")
    screen.type_regexes("run_name_regexes", "tr.*")
    expect(screen.cell("a", "own")).to_have_text("3 µs")
    screen.root.get_by_role("combobox", name="step").focus()
    screen.root.get_by_role("combobox", name="step").select_option(label="summary: mean of 1")
    expect(screen.cell("a", "own")).to_have_text("9 µs")
    expect(screen.regexes("run_name_regexes")).to_have_value("summary")


def test_an_invalid_regex_turns_red_and_keeps_the_last_good_rows(demo: Screen) -> None:
    demo.look_at("op").type_number("min_micros", "100")
    demo.until(demo.names, OPS_FROM_100_MICROS_ON)
    for option in REGEXES:
        before = border(demo.regexes(option))
        demo.type_regexes(option, "layer[1")
        expect(demo.regexes(option)).to_have_attribute("aria-invalid", "true")
        reason = demo.root.get_by_role("alert").filter(has_text="showing the last good result")
        expect(reason).to_contain_text("missing ]")
        expect(demo.status).to_contain_text(option)
        red, green, blue = border(demo.regexes(option))
        assert red > green + 40 > blue - 40, (red, green, blue)
        assert (red, green, blue) != before
        assert demo.names() == OPS_FROM_100_MICROS_ON
        demo.type_regexes(option, "")
        expect(demo.regexes(option)).not_to_have_attribute("aria-invalid", "true")
        demo.until(demo.names, OPS_FROM_100_MICROS_ON)


def border(box: Locator) -> tuple[int, ...]:
    """Red, green and blue of a box's border, once any transition is over."""
    colour = box.evaluate("box => getComputedStyle(box).borderBottomColor")
    return tuple(int(part) for part in colour.partition("(")[2].rstrip(")").split(",")[:3])


def test_account_displayed_op_only_counts_what_is_shown(demo: Screen) -> None:
    """Of the whole 30 runs, those of layer1 and below are the row's own."""
    demo.type_regexes("show_name_regexes", "layer1.*")
    expect(demo.cell("_TFProfRoot", "runs")).to_have_text("30")
    demo.show_all_options()
    demo.root.get_by_role("checkbox", name="account_displayed_op_only").check()
    view = demo_profile().view("scope", show_name_regexes=["layer1.*"], account_displayed_op_only=True)
    runs = view.total["runs"][0] // view.scale
    assert 0 < runs < 30
    expect(demo.cell("_TFProfRoot", "runs")).to_have_text(str(runs))


def test_timing_changes_to_whole_microseconds(demo: Screen) -> None:
    """110,946 ns are 110 whole microseconds, as native tfprof cuts them."""
    slowest = "gradients/layer1/MatMul_grad/MatMul_1"
    expect(demo.cell(slowest, "own")).to_have_attribute("title", "110.946 µs")
    demo.show_all_options()
    demo.choice("timing").select_option("tfprof")
    expect(demo.cell(slowest, "own")).to_have_attribute("title", "110 µs")


def test_columns_are_chosen(demo: Screen) -> None:
    headers = demo.grid.get_by_role("columnheader")
    expect(headers.filter(has_text="parameters")).to_have_count(0)
    demo.show_all_options()
    demo.root.get_by_role("checkbox", name="params", exact=True).check()
    expect(headers.filter(has_text="parameters")).to_have_count(1)
    demo.root.get_by_role("checkbox", name="op_types", exact=True).check()
    expect(headers.filter(has_text="op types")).to_have_count(1)


THRESHOLDS = [option.name for option in OPTIONS if option.name.startswith("min_")]


def test_every_threshold_filters(demo: Screen) -> None:
    demo.show_all_options()
    for option in THRESHOLDS:
        wanted: dict[str, Any] = {option: 2}
        demo.type_number(option, "2")
        expect(demo.status).to_have_text(status_of(demo_profile(), "scope", **wanted))
        demo.type_number(option, "0")


def test_a_step_is_chosen(open_profile: Opening) -> None:
    """A sketch of two steps: the node takes 4 µs in the first and 2 µs in the second, so 3 µs in the mean."""
    demo = open_profile(profile_of("a = MatMul() 4us;2us"))
    expect(demo.cell("a", "own")).to_have_text("3 µs")
    for value, text in [("=0", "4 µs"), ("=1", "2 µs"), ("", "3 µs")]:
        demo.root.get_by_role("combobox", name="step").select_option(value)
        expect(demo.cell("a", "own")).to_have_text(text)


def test_chips_undo_changes(demo: Screen) -> None:
    demo.type_number("min_micros", "100")
    demo.type_regexes("hide_name_regexes", "gradients.*")
    chips = demo.root.get_by_role("list", name="changed options")
    expect(chips.get_by_role("button")).to_have_count(2)
    chips.get_by_role("button", name="undo min_micros 100 µs").click()
    expect(demo.number("min_micros")).to_have_value("0")
    expect(demo.status).to_have_text(status_of(demo_profile(), "scope", hide_name_regexes=["gradients.*"]))
    demo.type_number("max_depth", "2")
    demo.root.get_by_role("button", name="reset all").click()
    expect(chips).to_have_count(0)
    expect(demo.regexes("hide_name_regexes")).to_have_value("")
    expect(demo.status).to_have_text(status_of(demo_profile(), "scope"))


def test_filters_fold_away(demo: Screen) -> None:
    filters = demo.root.get_by_role("button", name="filters")
    expect(filters).to_have_attribute("aria-expanded", "true")
    wide = demo.grid.bounding_box()
    filters.click()
    expect(demo.slider("min_micros")).to_have_count(0)
    expect(filters).to_have_attribute("aria-expanded", "false")
    now = demo.grid.bounding_box()
    assert wide
    assert now
    assert now["width"] > wide["width"]
