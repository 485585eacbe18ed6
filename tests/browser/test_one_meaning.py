"""Cell, step, op time and ops at once are one number each, wherever they stand: on the screen, in the text, in the API.

Six cells are captured, as programs are written: sessions, several graphs, Keras 3, tf_keras, functions, an eager loop.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from playwright.sync_api import Browser, Locator, expect
from tensorflow.compat import v1

import tfprof_widget as tfprof
from tests.browser.conftest import Opening, opening
from tests.browser.screen import Screen
from tests.sketches import profile_of
from tfprof_widget.api.profile import Profile
from tfprof_widget.api.result import Capture
from tfprof_widget.lib.text import fixed, written_seconds
from tfprof_widget.profiles.data import EAGER

ROWS = np.random.default_rng(0).random((512, 64)).astype("f")
TARGETS = ROWS[:, :8]


def sessions() -> Capture:
    """Training steps, and some evaluations in another way."""
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 64], name="x")
        w = v1.get_variable("w", [64, 64])
        loss = tf.reduce_mean(tf.nn.relu(x @ w) ** 2)
        train = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            with tfprof.capture() as prof:
                for _ in range(20):
                    session.run(train, {x: ROWS})
                for _ in range(3):
                    session.run(loss, {x: ROWS})
    return prof


def graphs() -> Capture:
    """Two graphs whose runs alternate."""
    product, tangent = tf.Graph(), tf.Graph()
    with product.as_default():
        a = v1.placeholder(tf.float32, [None, 300])
        one = tf.matmul(a, a, transpose_b=True, name="one")
    with tangent.as_default():
        b = v1.placeholder(tf.float32, [None, 100])
        two = tf.reduce_sum(tf.nn.tanh(b), name="two")
    with v1.Session(graph=product) as first, v1.Session(graph=tangent) as second, tfprof.capture() as prof:
        for _ in range(12):
            first.run(one, {a: np.ones((200, 300), "f")})
            second.run(two, {b: np.ones((50, 100), "f")})
    return prof


def keras_3() -> Capture:
    """A fit, and predictions beside it."""
    return fitted(tf.keras)


def keras_2() -> Capture:
    import tf_keras

    return fitted(tf_keras)


def fitted(keras: Any) -> Capture:
    model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(8)])
    model.compile("adam", "mse")
    with tfprof.capture() as prof:
        model.fit(ROWS, TARGETS, epochs=2, batch_size=32, verbose=0)
        model.predict(ROWS[:128], verbose=0)
    return prof


def functions() -> Capture:
    """A custom training step."""
    w = tf.Variable(tf.ones([64, 64]))

    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.relu(x @ w) ** 2)
        w.assign_sub(0.01 * tape.gradient(loss, w))
        return loss

    train = tf.function(step)
    with tfprof.capture() as prof:
        for _ in range(20):
            train(tf.constant(ROWS))
    return prof


def eager_loop() -> Capture:
    """The same without a function."""
    w, x = tf.Variable(tf.ones([64, 64])), tf.constant(ROWS)
    with tfprof.capture() as prof:
        for _ in range(40):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.nn.relu(x @ w) ** 2)
            w.assign_sub(0.01 * tape.gradient(loss, w))
    return prof


CELLS = {each.__name__: each for each in (sessions, graphs, keras_3, keras_2, functions, eager_loop)}


@pytest.fixture(scope="module")
def captured() -> Callable[[str], Capture]:
    """Each cell by its name, captured once."""
    found: dict[str, Capture] = {}

    def capture(name: str) -> Capture:
        if name not in found:
            found[name] = CELLS[name]()
        return found[name]

    return capture


@pytest.fixture(params=CELLS)
def prof(request: pytest.FixtureRequest, captured: Callable[[str], Capture]) -> Capture:
    """A cell that was captured."""
    return captured(request.param)


@pytest.fixture(scope="module")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Capture], Path]:
    """The page of a capture in a file, written once."""
    folder, written = tmp_path_factory.mktemp("pages"), dict[int, Path]()

    def page(prof: Capture) -> Path:
        if id(prof) not in written:
            written[id(prof)] = folder / f"{len(written)}.html"
            prof.save_report(written[id(prof)])
        return written[id(prof)]

    return page


@pytest.fixture(scope="module")
def open_once(chromium: Browser) -> Iterator[Opening]:
    """Opens each page once, for the tests that only look at it."""
    with opening(chromium) as opened:
        yield cache(opened)


@pytest.fixture
def screen(prof: Capture, open_once: Opening, page_of: Callable[[Capture], Path]) -> Screen:
    """The page of the cell at the scope view, with all that comes after the first paint."""
    screen = open_once(page_of(prof)).look_at("scope")
    expect(screen.choice("step")).to_be_visible()
    return screen


def head(screen: Screen) -> dict[str, str]:
    """The facts of the head line by their labels."""
    facts = screen.root.locator(".facts li:has(b)").evaluate_all(
        "all => all.map(each => [each.firstChild.data, each.querySelector('b').innerText])"
    )
    return {label.strip(): value for label, value in facts}


def are_ops(profile: Profile) -> Any:
    """Which executions are ops and not stages of `tf.data` that wait for others."""
    return np.array([device != "/tf.data" for device in profile.nodes.devices])[profile.executions.device]


def table(screen: Screen, tab: str, column: str) -> Screen:
    """Go to a table, and wait until it has this column."""
    screen.look_at(tab)
    expect(screen.grid.get_by_role("columnheader").filter(has_text=column)).to_be_visible()
    return screen


def op_seconds(profile: Profile, steps: list[int]) -> float:
    """The durations of all executions in these steps, added up, by the number of steps of their kind."""
    executions, names = profile.executions, profile.step_names
    ops = are_ops(profile)
    each = [
        executions.duration_nanos[(executions.step == step) & ops].sum() / names.count(names[step]) for step in steps
    ]
    return float(sum(each)) / 1e9 if len(steps) > 1 else float(each[0] * names.count(names[steps[0]])) / 1e9


def ops_at_once(profile: Profile, steps: list[int]) -> float:
    """The durations by the time in which anything ran, execution after execution from left to right."""
    executions = profile.executions
    work = busy = 0
    for step in steps:
        rows = (executions.step == step) & are_ops(profile)
        end = 0
        starts, durations = executions.start_nanos[rows].tolist(), executions.duration_nanos[rows].tolist()
        for start, duration in sorted(zip(starts, durations, strict=True)):
            work += duration
            busy += max(start + duration - max(start, end), 0)
            end = max(end, start + duration)
    return work / busy


def told_of(profile: Profile, steps: list[int]) -> str:
    """The fact of the head line on what the ops of some steps took."""
    return f"{written_seconds(op_seconds(profile, steps))} · {fixed(ops_at_once(profile, steps), 2)} ops at once"


def main_steps(prof: Capture) -> list[int]:
    return prof.profile.steps_named(prof.profile.main_kind)


def test_the_head_line_names_the_figures_of_the_api(prof: Capture, screen: Screen) -> None:
    measurement, told = prof.measurement, head(screen)
    assert told["cell"] == written_seconds(measurement.wall_seconds)
    assert told.get("step") == (None if measurement.shown == EAGER else written_seconds(measurement.run_seconds))
    seconds, at_once = op_seconds(prof.profile, main_steps(prof)), ops_at_once(prof.profile, main_steps(prof))
    assert told["op time"] == f"{written_seconds(seconds)} · {fixed(at_once, 2)} ops at once"
    assert measurement.op_seconds == pytest.approx(seconds)
    assert measurement.ops_at_once == pytest.approx(at_once)
    assert all(f"{label} {value}" in prof.text() for label, value in told.items())


def test_tables_and_charts_add_up_to_the_op_time(prof: Capture, screen: Screen) -> None:
    op_time = head(screen)["op time"].partition(" · ")[0]
    for tab, column in (("scope", "total time"), ("graph", "total time"), ("op", "cumulative")):
        table(screen, tab, column)
        first = screen.rows.first.locator("[role=rowheader]").get_attribute("title") or ""
        expect(screen.cell(first, column)).to_have_text(op_time)
        expect(screen.root.get_by_role("heading", name="Time by op type")).to_contain_text(f"· {op_time}")
        view = prof.view(tab)
        assert written_seconds(int(view.grand_total["micros"][0]) / view.time_scale / 1e6) == op_time


def test_bars_of_op_types_are_their_own_time(prof: Capture, screen: Screen) -> None:
    """Cumulative totals are nobody's cost: as bars they made the second op type look like all but the first."""
    table(screen, "op", "cumulative")
    view = prof.view("op", order_by="micros")
    for name, own in list(zip(view.names, view.own["micros"].tolist(), strict=True))[:3]:
        meter = screen.cell(name, "cumulative").locator(".meter")
        part = f"{fixed(100 * own / int(view.grand_total['micros'][0]), 2)}%"
        assert part_of(meter) == (part, part)


def part_of(meter: Locator) -> tuple[str, str]:
    """How long the darker part of a bar is, and the bar."""
    own, total = (
        str(meter.evaluate(f"bar => bar.style.getPropertyValue('--{each}-part')")) for each in ("own", "total")
    )
    return own, total


def test_the_timeline_names_the_same_ops_at_once(prof: Capture, screen: Screen) -> None:
    at_once = head(screen)["op time"].partition(" · ")[2]
    screen.look_at("timeline")
    canvas = screen.root.get_by_role("region", name="timeline").locator("canvas[role=img]")
    expect(canvas).to_have_attribute("aria-label", re.compile(rf"^timeline of .* · {re.escape(at_once)} · "))


def test_advice_names_the_shares_of_the_tables(prof: Capture, screen: Screen) -> None:
    screen.look_at("advise")
    told = screen.root.get_by_role("tabpanel").inner_text()
    found = re.search(r"top 1 operation type: (.+?), .*\((\d+\.\d+)%\)", told)
    assert found, told
    table(screen, "op", "cumulative")
    screen.grid.get_by_role("button", name="own").click()
    share = float(screen.cell(found[1], "share").inner_text().removesuffix(" %"))
    assert share == pytest.approx(float(found[2]), abs=0.06)


def test_the_head_line_follows_the_steps_chosen(
    prof: Capture, open_file: Opening, page_of: Callable[[Capture], Path]
) -> None:
    screen, profile = open_file(page_of(prof)).look_at("scope"), prof.profile
    kinds = list(dict.fromkeys(profile.step_names))
    choices: list[tuple[dict[str, Any], str, list[int]]]
    choices = [({"run_name_regexes": [re.escape(name)], "step": -1}, name, profile.steps_named(name)) for name in kinds]
    choices += [({"step": profile.steps[step]}, "", [step]) for step in range(0, len(profile.steps), 7)]
    for options, kind, steps in choices:
        if len(kinds) == 1 and kind:
            continue
        value = str(options["run_name_regexes"][0]) if kind else f"={options['step']}"
        screen.choice("step").select_option(value)
        wanted = told_of(profile, steps)
        screen.until(lambda: head(screen).get("op time", ""), wanted)
        op_time = wanted.partition(" · ")[0]
        expect(screen.cell("_TFProfRoot", "total time")).to_have_text(op_time)
        told = " · ".join(f"{label} {value}" for label, value in head(screen).items())
        assert prof.text("scope", **options).splitlines()[0] == told


def test_the_head_line_follows_the_graph_chosen(
    captured: Callable[[str], Capture], open_file: Opening, page_of: Callable[[Capture], Path]
) -> None:
    prof = captured("graphs")
    screen = open_file(page_of(prof))
    shown = [prof.profile, *(each for each in prof.profiles if each is not prof.profile)]
    assert len(shown) == 2
    for number, profile in enumerate(shown):
        screen.choice("graph").select_option(str(number))
        wanted = told_of(profile, profile.steps_named(profile.main_kind))
        screen.until(lambda: head(screen).get("op time", ""), wanted)
        assert head(screen)["shown"].startswith(f"{profile.main_kind}, ")


def test_code_and_selection_say_what_they_have_of_the_op_time(prof: Capture, screen: Screen) -> None:
    """The time with lines and the time without add up to the op time, and shares are parts of the op time."""
    if not prof.profile.has_traces:
        return  # eager ops have no lines
    profile = prof.profile
    view, code = prof.view("scope"), prof.view("code")
    unit = view.time_scale * 1e6
    whole, lines = (int(each.grand_total["micros"][0]) for each in (view, code))
    table(screen, "code", "FLOP")
    expect(screen.cell("_TFProfRoot", "total time")).to_have_text(written_seconds(lines / unit))
    share = f"{fixed(100 * lines / whole, 1)} %"
    expect(screen.cell("_TFProfRoot", "share")).to_have_text(share)
    told = f"no line is known of {written_seconds((whole - lines) / unit)} of {written_seconds(whole / unit)}"
    said = screen.root.locator(".left-out")
    if whole > lines:  # what to do about it may follow
        expect(said).to_have_text(re.compile(rf"^{re.escape(told)}( \(most ran one by one: .*\))?$"))
    else:
        expect(said).to_have_count(0)
    screen.row("_TFProfRoot").click()
    selection = screen.root.get_by_role("region", name="selection")
    of_lines = f" · {written_seconds(lines / unit)} in rows shown" if whole > lines else ""
    expect(selection).to_contain_text(f"{written_seconds(whole / unit)} · 100.0 % of all{of_lines}")
    table(screen, "scope", "nodes")
    expect(screen.cell("_TFProfRoot", "nodes")).to_have_text(f"{len(profile.nodes):,}")
    expect(selection).to_contain_text(f"{len(profile.nodes):,} graph nodes")


def test_the_peak_of_what_is_selected_is_that_of_the_memory_tab(prof: Capture, screen: Screen) -> None:
    """Selecting all says what was alive at the peak; adding the peaks of ops up gave many times as much."""
    screen.look_at("memory")
    peaks = re.findall(r"peak (\S+ \S+) at", screen.root.get_by_role("tabpanel").inner_text())
    screen.look_at("scope").row("_TFProfRoot").click()
    selection = screen.root.get_by_role("region", name="selection")
    expect(selection).to_contain_text("op types")
    if len(peaks) == 1:
        expect(selection).to_contain_text(f"{peaks[0]} at the step's peak")
    else:
        assert not peaks, "ops of one device"
        expect(selection).not_to_contain_text("peak")


def test_a_gradient_shows_the_forward_line_first(
    captured: Callable[[str], Capture], open_file: Opening, page_of: Callable[[Capture], Path]
) -> None:
    prof = captured("functions")
    screen = open_file(page_of(prof))
    gradient = next(name for name in prof.view("scope").names if name.startswith("gradient_tape/") and "MatMul" in name)
    screen.look_at("scope").unfold_all()
    screen.row(gradient).click()
    lines = screen.root.get_by_role("region", name="selection").locator("figure.code pre")
    expect(lines).to_have_text([re.compile(r"loss = tf\.reduce_mean\(.*"), re.compile(r"w\.assign_sub\(.*gradient\(")])


def test_a_line_that_is_reached_in_two_ways_is_selected_as_a_whole(open_profile: Opening) -> None:
    sketch = """
        a = MatMul() 40us | train.py:1:main > layers.py:5:dense
        b = MatMul() 10us | train.py:2:main > layers.py:5:dense
    """
    screen = open_profile(profile_of(sketch), view="code")
    table(screen, "code", "total time")
    expect(screen.cell("train.py:1:main", "total time")).to_have_text("40 µs")
    screen.unfold_all()
    screen.row("layers.py:5:dense").first.click()
    selection = screen.root.get_by_role("region", name="selection")
    expect(selection).to_contain_text("2 rows of this name, together:")
    expect(selection).to_contain_text("50 µs · 100.0 % of all")
