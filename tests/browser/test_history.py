"""The tab "history": runs as dots, the sentence on two groups of them, the table, and what it says without a kernel."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Opening
from tests.browser.screen import Screen
from tests.browser.test_accessibility import AXE, violations
from tests.browser.test_policy import hosting
from tests.comparing.runs import Maker
from tests.widget.test_history import Course
from tfprof_widget.analysis.comparing.compared import ComparedRuns
from tfprof_widget.demo import demo_profile
from tfprof_widget.lib.static_files import static_bytes
from tfprof_widget.profiles.kept_run import KeptRun
from tfprof_widget.widget.history import ShownHistory
from tfprof_widget.widget.report import report
from tfprof_widget.widget.shown import Shown
from tfprof_widget.widget.traits import TfprofWidget

BEFORE, AFTER = "model = build(width=64)\nmodel.fit(x, y)", "model = build(width=96)\nmodel.fit(x, y)"
Show = Callable[..., Screen]

# A page in which the test is the kernel: `sent` is what the widget says, `tell` what it hears.
HOST = """
const values = VALUES;
const part = name => fetch(`${name}.js.gz`).then(answer => answer.arrayBuffer()).then(each => new Uint8Array(each));
const listeners = new Set();
window.sent = [];
window.tell = message => [...listeners].forEach(listener => listener(message, []));
const model = {
  get: name => values[name], set(name, value) { values[name] = value; }, save_changes() {},
  on(event, listener) { if (event === "msg:custom") listeners.add(listener); },
  off(event, listener) { listeners.delete(listener); },
  send(message) { window.sent.push(message); },
};
(await import("./widget.js")).default.render({
  model, el: document.getElementById("host"),
  assets: async () => (
    {panels: await part("panels"), carried: await part("carried"), charts: await part("charts"), page: ""}),
});
"""


def runs(factor: float = 1.0, slower: int = 17) -> list[KeptRun]:
    """Three runs of some code, and three of other code, by a factor slower."""
    made = Maker(60, of_run=0.005, of_op=0.01)
    return [*made.runs(3, source=BEFORE), *made.runs(3, source=AFTER, factor=factor, ops={slower: 2.0})]


@pytest.fixture
def show(open_file: Opening, tmp_path: Path) -> Show:
    """Opens a page with the history of some runs."""

    def opened(history: ShownHistory, *, graphs: bool = True, **context: object) -> Screen:
        shown = replace(Shown.of_profile(demo_profile(), view="history"), history=history)
        shown = shown if graphs else replace(shown, graphs=())
        (tmp_path / "page.html").write_text(report(shown), encoding="utf-8")
        screen = open_file(tmp_path / "page.html", **context)
        expect(screen.root.get_by_role("list", name="runs").or_(screen.root.get_by_text("No runs"))).to_be_visible()
        return screen

    return opened


@pytest.mark.parametrize(("factor", "answer"), [(1.3, "slower"), (0.7, "faster"), (1.0, "no difference seen")])
def test_the_sentence(show: Show, factor: float, answer: str) -> None:
    sentence = show(ShownHistory.of(runs(factor))).root.get_by_role("heading", name="From In[1] … In[3]")
    expect(sentence).to_contain_text("to In[4] … In[6]")
    expect(sentence.locator("strong").last).to_contain_text(answer)


def test_the_sentence_with_the_roles_swapped(show: Show) -> None:
    made = runs(1.3)
    screen = show(ShownHistory.of([*made[3:], *made[:3]]))
    expect(screen.root.get_by_role("heading", name="From In[4] … In[6]").locator("strong").last).to_contain_text(
        "faster"
    )


def test_the_sentence_where_nothing_can_be_told(show: Show) -> None:
    made = [replace(run, step_seconds=run.step_seconds[:3]) for run in (runs()[0], runs()[3])]
    strong = show(ShownHistory.of(made)).root.get_by_role("heading", name="From In[1]").locator("strong").last
    expect(strong).to_have_text("it cannot be told")


def test_the_runs_and_the_table(show: Show) -> None:
    made = runs(1.3)
    screen = show(ShownHistory.of(made))
    dots = screen.root.get_by_role("list", name="runs").get_by_role("button")
    expect(dots).to_have_count(6)
    expect(dots.first).to_have_attribute("aria-pressed", "true")
    expect(dots.first).to_have_accessible_name(re.compile(r"In\[1\].*60 steps.*before$"))
    expect(dots.last).to_have_accessible_name(re.compile(r"In\[6\].*after$"))
    table = screen.root.get_by_role("table")
    name = made[0].ops.names[17]
    row = table.get_by_role("row").filter(has=screen.page.get_by_role("rowheader", name=name, exact=True))
    expect(row.get_by_role("cell").nth(3)).to_have_text("slower")
    expect(row.get_by_role("cell").last).to_have_text("name")
    screen.root.get_by_role("combobox", name="by", exact=True).select_option("layers")
    expect(table.get_by_role("columnheader").first).to_have_text("layers")
    expect(table.get_by_role("rowheader")).to_have_count(6)


def test_what_changed_in_the_code(show: Show) -> None:
    screen = show(ShownHistory.of(runs()))
    screen.root.get_by_text("What changed in the code").click()
    expect(screen.root.get_by_text("-model = build(width=64)")).to_be_visible()
    expect(screen.root.get_by_text("+model = build(width=96)")).to_be_visible()
    screen.root.get_by_text("Run both again, in turns").click()
    expect(screen.root.get_by_text("%%tfprof --against In[3]")).to_be_visible()


def test_a_race_in_the_kernel(chromium: Browser, tmp_path: Path) -> None:
    made = Maker(40, of_run=0.01)
    code = [*made.runs(3, source="fit()"), *made.runs(3, source="fit(2)")]
    history = ShownHistory.of(code, rerun=Course().rerun)
    widget = TfprofWidget(Shown("race", (), "history", history=history))
    values = {name: value for name, value in widget.get_state().items() if not name.startswith(("_esm", "_assets"))}
    (tmp_path / "host.js").write_text(HOST.replace("VALUES", json.dumps(values, default=str)), encoding="utf-8")
    (tmp_path / "index.html").write_text('<div id="host"></div><script type="module" src="host.js"></script>')
    for name in ("widget.js", "panels.js.gz", "carried.js.gz", "charts.js.gz"):
        (tmp_path / name).write_bytes(static_bytes(name))
    with hosting(tmp_path, "") as host, closing(chromium.new_context()) as context:
        page = context.new_page()
        page.goto(f"{host.address}/index.html")
        screen = Screen(page)
        expect(screen.root.get_by_role("list", name="runs")).to_be_visible()
        screen.root.get_by_role("button", name="Run both again, in turns").click()
        bar = screen.root.get_by_role("progressbar", name="the race")
        stop = screen.root.get_by_role("button", name="Stop")
        expect(bar).to_be_visible()
        tell(page, {"answer": "race", "share": 0.4, "rounds": 3})
        expect(bar).to_have_js_property("value", 0.4)
        expect(screen.root.get_by_role("status").filter(has_text="3 rounds run")).to_be_visible()
        stop.click()
        expect(stop).to_be_disabled()
        asked = page.evaluate("() => window.sent")
        assert asked == [{"request": "race", "before": [0, 1, 2], "after": [3, 4, 5]}, {"request": "stop race"}]
        told: list[Any] = []
        race = history.race(asked[0]["before"], asked[0]["after"], told.append)
        while not race.is_over:
            race.run_block()
        tell(page, told[-1])
        answer = screen.root.get_by_role("heading", name="From In[3] to In[6] a call became")
        expect(answer.locator("strong").last).to_contain_text("slower")
        expect(screen.root.get_by_text("In[3] and In[6] ran in turns")).to_be_visible()
        expect(bar).to_have_count(0)
        expect(screen.root.get_by_role("button", name="Run both again, in turns")).to_be_visible()


def tell(page: Page, message: dict[str, Any]) -> None:
    """What the kernel says."""
    page.evaluate("message => window.tell(message)", message)


def test_other_groups_need_the_kernel_and_those_that_were_saved_do_not(show: Show) -> None:
    screen = show(ShownHistory.of(runs(1.3)))
    screen.root.get_by_role("combobox", name="before", exact=True).select_option(label="In[2]")
    expect(screen.root.get_by_role("alert")).to_contain_text("needs a kernel")
    screen.root.get_by_role("combobox", name="before", exact=True).select_option(label="In[1] to In[3], 3 runs")
    expect(screen.root.get_by_role("heading", name="From In[1] … In[3]")).to_be_visible()


def test_a_cell_that_ran_once(show: Show) -> None:
    expect(show(ShownHistory.of(runs()[:1])).root.get_by_text("This cell ran once in this kernel.")).to_be_visible()


def test_a_comparison_without_a_profile(show: Show) -> None:
    made = runs(1.3)
    screen = show(ShownHistory.of_comparison(ComparedRuns(made[:3], made[3:])), graphs=False)
    expect(screen.root.get_by_role("heading", name="From In[1] … In[3]")).to_be_visible()
    expect(screen.root.get_by_role("tab")).to_have_count(0)


def test_a_profile_without_runs_has_no_such_tab(demo: Screen) -> None:
    expect(demo.tab("history")).to_have_count(0)


@pytest.mark.parametrize("width", [1280, 320])
def test_axe_finds_nothing(show: Show, width: int) -> None:
    screen = show(ShownHistory.of(runs(1.3)), viewport={"width": width, "height": 900})
    screen.root.get_by_text("What changed in the code").click()
    screen.page.evaluate(AXE.read_text(encoding="utf-8"))
    assert violations(screen.page) == []
