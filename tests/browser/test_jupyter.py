"""A day in JupyterLab and in Notebook 7: profile a session's runs and a Keras fit, look, leave, and look again.

In `make test` that of JupyterLab, as both draw alike; Notebook 7 is where `test_live.py` looks on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Opening
from tests.browser.moves import moved
from tests.browser.notebook_server import (
    NotebookServer,
    bring_back,
    is_busy,
    notebook_server,
    run,
    run_all,
    running,
    save,
    value,
    write_notebook,
)
from tests.browser.screen import KNOB, Screen
from tests.browser.watched import watched_page
from tests.slow.share import share

# What JupyterLab 4.6 and Notebook 7.6 themselves complain of when they start, and when a kernel is restarted.
OWN_COMPLAINTS = frozenset(
    {
        "[yjs#509] Not same Y.Doc",
        "Connection lost, reconnecting in 0 seconds.",
        "Cannot read properties of undefined (reading 'schema')",
        "Menu entry for command 'filemenu:close-and-cleanup' is duplicated.",
        "Menu entry for command 'debugger:show-panel' is duplicated.",
        "Menu entry for command 'toc:show-panel' is duplicated.",
    }
)
SECONDS_TO_RUN = 120
SESSION = """
import numpy as np
import tensorflow as tf
import tfprof_widget as tfprof
%load_ext tfprof_widget
tf1 = tf.compat.v1
with tf.Graph().as_default() as graph:
    image = tf1.placeholder(tf.float32, [64, 64], name="image")
    with tf1.name_scope("layer1"):
        hidden = tf.nn.relu(tf.matmul(image, image), name="relu")
    loss = tf.reduce_sum(hidden, name="loss")
session = tf1.Session(graph=graph)
"""
RUNS = """%%tfprof --all --out cap
for _ in range(5):
    session.run(loss, {image: np.ones((64, 64))})
"""
FIT = """%%tfprof --all
import keras
network = keras.Sequential([keras.layers.Input([8]), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
network.compile("sgd", "mse")
history = network.fit(np.ones((64, 8)), np.ones((64, 1)), batch_size=8, epochs=1, verbose=0)
"""
CELLS = (
    SESSION,
    RUNS,
    "w = cap.widget()\nw",
    "w",
    "from ipywidgets import VBox\nother = tfprof.last().widget()\nVBox([other])",
    FIT,
)
OF_THE_MAGIC, FIRST, SECOND, BOXED, OF_THE_FIT = range(5)


@pytest.fixture(scope="module", params=share(["lab", "notebook"], ["lab"]))
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NotebookServer]:
    with notebook_server(request.param, tmp_path_factory.mktemp(request.param)) as started:
        yield started


@pytest.fixture(scope="module")
def notebook(chromium: Browser, server: NotebookServer) -> Iterator[Page]:
    """A notebook whose cells have all run."""
    write_notebook(server.folder / "training.ipynb", CELLS)
    with watched_page(chromium, server.address, OWN_COMPLAINTS, permissions=[], accept_downloads=True) as page:
        server.open(page, "training.ipynb")
        run_all(page)
        live = page.locator("[data-tfprof-live] [data-ready=true]")
        expect(live).to_have_count(5, timeout=1000 * SECONDS_TO_RUN)
        yield page


def screen_of(page: Page, index: int) -> Screen:
    """One of the live widgets, in the order of their cells."""
    return Screen(page, page.locator("[data-tfprof-live]").nth(index)).until_ready()


@pytest.fixture
def widget(notebook: Page) -> Screen:
    """The widget `w`, as it was at first."""
    screen = screen_of(notebook, FIRST)
    at_first = "w.view, w.min_micros, w.max_depth, w.order_by, w.selection = 'scope', 0, 100, 'micros', []"

    def is_back() -> bool:
        fields = [screen.number(name).input_value() for name in ("min_micros", "max_depth")]
        return screen.tab("scope").get_attribute("aria-selected") == "true" and fields == ["0", "100"]

    bring_back(notebook, screen, at_first, is_back)
    return screen


def test_the_saved_result_steps_aside_for_the_live_one(notebook: Page) -> None:
    screen_of(notebook, OF_THE_MAGIC)
    saved = notebook.locator("[data-tfprof]")
    expect(saved).to_have_count(4)
    for each in saved.all():
        expect(each).to_be_hidden()
    # Both hosts name their cells, so one cell's result has the charts for all.
    expect(saved.locator('[data-part="charts"]')).to_have_count(1)


def test_the_magic_shows_what_it_captured(notebook: Page) -> None:
    """Five runs, each of one product, one ReLU and one sum."""
    notebook.set_viewport_size({"width": 1700, "height": 900})  # beside filters and charts, room for all columns
    screen = screen_of(notebook, OF_THE_MAGIC).look_at("op")
    for op in ("MatMul", "Relu", "Sum"):
        expect(screen.cell(op, "runs")).to_have_text("1")
    steps = screen.root.get_by_role("combobox", name="step").locator("option")
    expect(steps.filter(has_text="· loss")).to_have_count(5)
    screen.look_at("timeline")
    expect(screen.root.get_by_role("listbox", name="slices")).to_be_visible()


@pytest.mark.parametrize("view", ["scope", "graph", "op", "code"])
def test_views_are_switched_and_python_knows(notebook: Page, widget: Screen, view: str) -> None:
    widget.look_at(view)
    widget.until(lambda: value(notebook, "w.view"), view)
    names = value(notebook, "w.current().names")
    if view != "op":
        widget.unfold_all()
    widget.until(lambda: widget.names()[:8], names[:8])


def test_the_code_view_shows_the_line_of_the_cell(widget: Screen) -> None:
    widget.look_at("code")
    expect(widget.grid).to_contain_text("hidden = tf.nn.relu(tf.matmul(image, image)")


def test_a_slider_is_dragged_and_rows_chart_and_kernel_follow(notebook: Page, widget: Screen) -> None:
    widget.look_at("op")
    before = widget.names()
    widget.until(lambda: len(widget.marks("Time by op type")) >= 3, True)
    widget.drag("min_micros", 0, 0.8)
    widget.until(lambda: value(notebook, "w.current().names") == widget.names() != before, True)
    names = widget.names()
    assert 0 < len(names) < len(before)
    widget.until(lambda: widget.marks("Time by op type"), names)
    assert value(notebook, "w.to_dataframe()['name'].tolist()") == names


def test_python_moves_the_page(notebook: Page, widget: Screen) -> None:
    run(notebook, "w.view, w.max_depth, w.order_by = 'op', 2, 'name'")
    expect(widget.tab("op")).to_have_attribute("aria-selected", "true")
    expect(widget.number("max_depth")).to_have_value("2")
    widget.until(widget.names, value(notebook, "w.current().names"))
    run(notebook, "w.order_by = 'micros'; w.selection = ['MatMul']")
    expect(widget.row("MatMul")).to_have_attribute("aria-selected", "true")
    widget.row("MatMul").click(modifiers=["Control"])
    widget.until(lambda: value(notebook, "w.selection"), [])


def test_400_moves_of_a_slider_end_alike_in_page_and_kernel(notebook: Page, widget: Screen) -> None:
    widget.look_at("op")
    micros = moved(widget, "min_micros", 0.6)
    widget.until(lambda: value(notebook, "w.min_micros"), micros)
    widget.until(widget.names, value(notebook, "w.current().names"))
    run(notebook, "for micros in [*range(400), 3]:\n    w.min_micros = micros")
    expect(widget.number("min_micros")).to_have_attribute("aria-valuenow", "3")
    widget.until(widget.names, value(notebook, "w.current().names"))


def test_views_change_while_a_cell_runs(notebook: Page, widget: Screen) -> None:
    run(notebook, "w.view, w.max_depth = 'op', 1")
    wanted = value(notebook, "w.current().names")
    run(notebook, "w.view, w.max_depth = 'scope', 100")
    expect(widget.tab("scope")).to_have_attribute("aria-selected", "true")
    with running(notebook):
        for view in ("op", "code", "op"):
            widget.look_at(view)
        assert widget.names() != wanted
        widget.type_number("max_depth", "1")
        widget.until(widget.names, wanted)
        assert is_busy(notebook)
    widget.until(lambda: value(notebook, "[w.view, w.max_depth]"), ["op", 1])


def test_two_displays_are_one_widget(notebook: Page, widget: Screen) -> None:
    second = screen_of(notebook, SECOND)
    widget.look_at("op").type_number("max_depth", "1")
    expect(second.tab("op")).to_have_attribute("aria-selected", "true")
    second.until(lambda: value(notebook, "w.view, w.max_depth"), ["op", 1])
    second.until(second.names, value(notebook, "w.current().names"))
    second.type_number("max_depth", "2")
    expect(widget.number("max_depth")).to_have_value("2")


def test_widgets_are_apart_and_fit_into_boxes(notebook: Page, widget: Screen) -> None:
    boxed = screen_of(notebook, BOXED)
    boxed.look_at("code")
    notebook.wait_for_timeout(300)
    assert value(notebook, "w.view, other.view") == ["scope", "code"]
    expect(widget.tab("scope")).to_have_attribute("aria-selected", "true")
    run(notebook, "from ipywidgets import link\nlinked = link((w, 'min_bytes'), (other, 'min_bytes'))")
    widget.type_number("min_bytes", "7")
    expect(boxed.number("min_bytes")).to_have_value("7")
    run(notebook, "linked.unlink(); w.min_bytes = other.min_bytes = 0")


def test_a_keras_fit_shows_its_steps(notebook: Page) -> None:
    """64 examples in batches of 8 are eight steps, each with the gradient of one ReLU."""
    screen = screen_of(notebook, OF_THE_FIT).look_at("op")
    expect(screen.root.get_by_text("8 of 8")).to_be_visible()
    expect(screen.cell("ReluGrad", "runs")).to_have_text("1")


def test_keys_inside_do_nothing_to_cells(notebook: Page, widget: Screen) -> None:
    """Twice `d` deletes a cell in command mode, which a click into its output brings about."""
    cells = notebook.locator(".jp-Notebook .jp-Cell")
    widget.slider("min_micros").click(position={"x": KNOB, "y": 4})
    mode = "() => window.jupyterapp.shell.currentWidget.content.mode"
    assert notebook.evaluate(mode) == "command"
    for focused in (widget.slider("min_micros"), widget.tab("scope"), widget.grid, widget.choice("order_by")):
        focused.focus()
        for key in ("d", "d", "b", "a"):
            notebook.keyboard.press(key)
    notebook.wait_for_timeout(300)
    expect(cells).to_have_count(len(CELLS))


def test_the_exported_page_lives_by_itself(widget: Screen, open_file: Opening, tmp_path: Path) -> None:
    widget.look_at("op").type_number("max_depth", "2")
    exported = tmp_path / "exported.html"
    exported.write_bytes(widget.export("Everything as one page"))
    screen = open_file(exported)
    expect(screen.tab("op")).to_have_attribute("aria-selected", "true")
    screen.until(screen.names, widget.names())
    screen.slider("max_depth").press("Home")
    screen.until(screen.names, widget.names()[:2])
    screen.until(lambda: screen.marks("Time by op type"), widget.names()[:2])


def test_a_restarted_kernel_leaves_the_result(notebook: Page, widget: Screen) -> None:
    notebook.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    widget.look_at("op").type_number("max_depth", "2")
    expect(widget.rows).to_have_count(3)  # tfprof counts a level more than asked for
    expect(widget.chart("Time by op type").locator("svg")).to_be_visible()


MODEL = """
from tests.browser.page import model_profile
profile = model_profile(2000)
profile.widget("scope", title="two thousand nodes")
"""


def test_a_notebook_reopened_without_a_kernel_shows_its_result(chromium: Browser, server: NotebookServer) -> None:
    file = server.folder / "model.ipynb"
    write_notebook(file, [MODEL])
    with watched_page(chromium, server.address, OWN_COMPLAINTS) as page:
        server.open(page, file.name)
        run_all(page)
        expect(page.locator("[data-tfprof-live] [data-ready=true]")).to_have_count(1, timeout=1000 * SECONDS_TO_RUN)
        status = screen_of(page, 0).status.inner_text()
        save(page)
    assert file.stat().st_size < 1_000_000
    assert "widgets" not in json.loads(file.read_text())["metadata"]
    gone = OWN_COMPLAINTS | {"Error: widget model not found"}
    with watched_page(chromium, server.address, gone) as page:
        server.open_without_kernel(page, file.name)
        screen = Screen(page, page.locator("[data-tfprof]")).until_ready()
        expect(screen.status).to_have_text(status)
        screen.look_at("op").slider("max_depth").press("Home")
        expect(screen.rows).to_have_count(2)
        screen.until(lambda: len(screen.marks("Time by op type")), 2)
        complaint = page.get_by_text("Error displaying widget")
        expect(complaint).to_have_count(
            1, timeout=1000 * SECONDS_TO_RUN
        )  # it comes when the new kernel knows no widget
        expect(complaint).to_be_hidden()
