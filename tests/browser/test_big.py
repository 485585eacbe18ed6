"""A profile that is too large for the browser: the page says what it lacks, and a kernel brings it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.bench.big import big_profile
from tests.browser.conftest import Opening
from tests.browser.moves import act_at_once
from tests.browser.notebook_server import bring_back, notebook_server, run, running, value, write_notebook
from tests.browser.notebook_server import run_all as run_all_cells
from tests.browser.screen import Screen
from tests.browser.test_jupyter import OWN_COMPLAINTS
from tests.browser.watched import watched_page
from tfprof_widget.widget.cut import cut

NODES, STEPS = 128_000, 3
"""More nodes than the 100,000 that the browser takes, and of its 200,000 executions more than half in each step."""

SMALLER = 10
"""The notebook's profile and the limits of its widget are so many times smaller: each test has it cut anew."""

CELL = f"""
from tests.bench.big import big_profile
from tfprof_widget.widget.cut import cut
from tfprof_widget.widget.cut_plan import BROWSER
vars(BROWSER).update({{name: most // {SMALLER} for name, most in vars(BROWSER).items()}})
profile = big_profile({NODES // SMALLER}, {STEPS})
small = cut(profile).profile.nodes.names
w = profile.widget()
w
"""
AT_FIRST = """
from tfprof_widget.widget.cut_plan import Wanted
from tfprof_widget.widget.traits import _send_rows
w.step, w.selection, w.show_name_regexes, w.view = -1, [], ['.*'], 'scope'
_send_rows(w, 0, Wanted())
"""


@pytest.fixture(scope="module")
def notebook(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A notebook that shows the profile."""
    with notebook_server("lab", tmp_path_factory.mktemp("lab")) as server:
        write_notebook(server.folder / "big.ipynb", [CELL])
        with watched_page(chromium, server.address, OWN_COMPLAINTS) as page:
            server.open(page, "big.ipynb")
            run_all_cells(page)
            Screen(page, page.locator("[data-tfprof-live]")).until_ready()
            yield page


@pytest.fixture
def widget(notebook: Page) -> Screen:
    """The widget as it was at first, whatever the kernel answered before."""
    screen = Screen(notebook, notebook.locator("[data-tfprof-live]"))
    bring_back(notebook, screen, AT_FIRST, lambda: screen.tab("scope").get_attribute("aria-selected") == "true")
    return screen


def notes_of(screen: Screen) -> str:
    """What the head says of what is not here."""
    return screen.root.get_by_role("list", name="notes").inner_text()


def test_the_head_says_how_much_is_here(widget: Screen) -> None:
    assert notes_of(widget).startswith("12,800 nodes: the ")
    kept = "31,200 executions: 10,400 are here, all of step 0; choose a step to see its executions"
    assert kept in notes_of(widget)


def test_the_total_is_that_of_all_nodes(notebook: Page, widget: Screen) -> None:
    micros = value(notebook, "v = profile.view('scope')\nint(v.total['micros'][0]) / v.time_scale")
    assert widget.cell("_TFProfRoot", "total time").get_attribute("title") is not None
    told = widget.cell("_TFProfRoot", "total time").get_attribute("title") or ""
    assert f"{micros:,.3f}".rstrip("0").rstrip(".") in told


def by_button(widget: Screen, _: str) -> None:
    """Open the selected row."""
    widget.root.get_by_role("button", name="Show them").click()


def by_double_click(widget: Screen, row: str) -> None:
    """Open a row."""
    widget.row(row).dblclick()


def by_enter(widget: Screen, row: str) -> None:
    """Open a row, which is selected first."""
    widget.row(row).click()
    widget.grid.press("Enter")


def by_enter_at_once(widget: Screen, _: str) -> None:
    """Open a row with the key that comes right after the click that selects it."""
    widget.root.get_by_role("button", name="clear the selection").click()
    expect(widget.root.get_by_role("button", name="Show them")).to_have_count(0)
    act_at_once(widget, ("[role=row].active", "click", ""), ("[role=treegrid]", "press", "Enter"))


@pytest.mark.parametrize("open_row", [by_button, by_double_click, by_enter, by_enter_at_once])
def test_what_is_put_together_is_shown_when_asked_for(
    notebook: Page, widget: Screen, open_row: Callable[[Screen, str], None]
) -> None:
    """The nodes of one row, of which the kernel's own columns have the names."""
    row = value(notebook, "next(name for name in small if name.endswith(' more MatMul)'))")
    scope = row.rpartition("/")[0]
    run(notebook, f"w.selection = [{row!r}]")
    expect(widget.row(row)).to_be_visible()
    open_row(widget, row)
    widget.until(lambda: value(notebook, "w.selection"), [scope])
    expect(widget.row(scope)).to_have_attribute("aria-expanded", "true")
    inside = value(notebook, f"[name for name in profile.nodes.names if name.startswith({scope + '/'!r})]")
    below = {"/".join(name.split("/")[: scope.count("/") + 2]) for name in inside}
    widget.until(lambda: below <= set(widget.names()), True)
    expect(widget.row(row)).to_have_count(0)


def test_a_step_that_is_chosen_brings_its_executions(notebook: Page, widget: Screen) -> None:
    run(notebook, "w.step = 1")
    widget.until(lambda: "10,400 are here, all of step 1" in notes_of(widget), True)
    widget.look_at("timeline")
    expect(widget.root.get_by_role("listbox", name="slices")).to_be_visible()


def test_nodes_whose_names_match_are_brought(notebook: Page, widget: Screen) -> None:
    """A node that is among those put together."""
    name = value(notebook, "kept = set(small)\nnext(name for name in profile.nodes.names if name not in kept)")
    widget.type_regexes("show_name_regexes", name)
    widget.until(lambda: name in widget.names(), True)


def test_a_busy_kernel_is_waited_for(notebook: Page, widget: Screen) -> None:
    with running(notebook):
        widget.choice("step").select_option(index=3)  # the first is the mean of all
        expect(widget.root.get_by_text("asking the kernel …")).to_be_visible()
    widget.until(lambda: "all of step 2" in notes_of(widget), True)
    expect(widget.root.get_by_text("asking the kernel …")).to_have_count(0)


def test_a_page_says_that_the_rest_needs_a_kernel(open_profile: Opening) -> None:
    profile = big_profile(NODES, 1)
    screen = open_profile(profile)
    expect(
        screen.root.get_by_text("The nodes of joined rows are not in this page, and it has no kernel.")
    ).to_be_visible()
    row = next(name for name in cut(profile).profile.nodes.names if name.endswith(" more MatMul)"))
    screen.root.get_by_role("searchbox").fill(row)
    screen.row(row).click()
    expect(screen.root.get_by_text("profile.widget(start_name_regexes=")).to_be_visible()
