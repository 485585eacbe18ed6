"""The code of a page: which modules a slider move goes through, and that each bundle is parsed once for all widgets."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, CDPSession, Page, expect

from tests.browser.conftest import Opening
from tests.browser.screen import Screen
from tests.browser.watched import watched_page
from tests.packaging.commands import ROOT, run
from tfprof_widget.demo import demo_profile
from tfprof_widget.lib.static_files import static_bytes
from tfprof_widget.widget import report
from tfprof_widget.widget.report import block
from tfprof_widget.widget.shown import Shown

# What stands for each line of the page's list: a function or method of the module, as esbuild writes it unminified.
CALLED = {
    "ui/slider.tsx": "onInput: (event) => ",
    "ui/fields.tsx": "function setOption(",
    "state/store.ts": "set(changes) {",
    "data/options.ts": "function checkOptions(",
    "engine/evaluate.ts": "function evaluate(",
    "engine/tree_view.ts": "function treeView(",
    "engine/display.ts": "function visiblePlaces(",
    "engine/order.ts": "function ordered(",
    "engine/view.ts": "constructor(shown",
    "state/table.ts": "reading(view) {",
    "state/listing.ts": "function listingOf(",
    "views/table/table.tsx": "function Grid(",
    "views/table/rows.tsx": "function TableRow(",
}
# The order of all rows is kept where no row is without the ones above it: then nothing is ordered anew.
KEPT = "engine/order.ts"
LARGE = 400_000
RESULTS = 5
RUNS = 20
MOST_GROWTH_BYTES = 10_000_000
# What a saved result has, as a widget's own code and model are made of it.
SAVED = """
  const block = document.querySelector("[data-tfprof]");
  const bytes = part => Uint8Array.from(
    atob(block.querySelector(`[data-part="${part}"]`).textContent), character => character.charCodeAt(0));
  const unpacked = part => new Response(
    new Blob([bytes(part)]).stream().pipeThrough(new DecompressionStream("gzip")));
  const [source, state] = [await (await unpacked("widget")).text(), await (await unpacked("state")).json()];
  const imported = async () => {
    const address = URL.createObjectURL(new Blob([source], {type: "text/javascript"}));
    const {default: widget} = await import(address);
    URL.revokeObjectURL(address);
    return widget;
  };
  const modelled = async traits => {
    const columns = new Uint8Array(await (await unpacked("columns-0")).arrayBuffer());
    const values = {...state.traits, _graphs: [{...state.graphs[0], columns}], ...traits};
    return {get: name => values[name], set() {}, save_changes() {}, on() {}, off() {}};
  };
"""
# What a notebook does when a cell runs again: it imports the widget's code anew, draws, and takes the old output away.
RUN_AGAIN = f"""async runs => {{{SAVED}
  for (let run = 0; run < runs; run++) {{
    const model = await modelled({{}});
    const widget = await imported();
    const el = document.body.appendChild(document.createElement("div"));
    const assets = async () => (
      {{panels: bytes("panels"), carried: bytes("carried"), charts: bytes("charts"), page: ""}});
    const leave = widget.render({{model, el, assets}});
    while (!el.firstChild.shadowRoot.querySelector(".hits [role=option]")) await new Promise(requestAnimationFrame);
    leave();
    el.remove();
  }}
}}"""
# A widget whose kernel sends the panels late: whether it is ready before that, and how much it shows once it is.
LATE = f"""async ([view, wanted]) => {{{SAVED}
  for (const symbol of Object.getOwnPropertySymbols(globalThis)) {{
    if (symbol.description.startsWith("tfprof ")) delete globalThis[symbol];
  }}
  const frame = () => new Promise(requestAnimationFrame);
  const el = document.body.appendChild(document.createElement("div"));
  let send;
  const assets = () => new Promise(resolve => send = resolve);
  (await imported()).render({{model: await modelled({{view}}), el, assets}});
  const root = el.firstChild.shadowRoot.querySelector(".tfprof");
  for (let frames = 0; frames < 10; frames++) await frame();
  const before = root.hasAttribute("data-ready");
  const shown = new Promise(resolve => new MutationObserver(() => {{
    if (root.hasAttribute("data-ready")) resolve(root.querySelectorAll(wanted).length);
  }}).observe(root, {{attributes: true}}));
  send({{panels: bytes("panels"), carried: bytes("carried"), charts: bytes("charts"), page: ""}});
  return [before, await shown];
}}"""


def documented() -> list[str]:
    """The modules of a slider move, as docs/how-it-works.md lists them."""
    text = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    part = text.partition("A slider moves")[2].partition("```text\n")[2].partition("```")[0]
    return [line.split()[0] for line in part.splitlines()]


@pytest.fixture
def readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The bundles as they were written, with the name of each module before its code."""
    folder = tmp_path / "static"
    run("node", "js/build.mjs", str(folder), "--readable", cwd=ROOT)

    def from_folder(name: str) -> bytes:
        return (folder / name).read_bytes()

    report._assets.cache_clear()
    report.code_version.cache_clear()
    monkeypatch.setattr(report, "static_bytes", from_folder)
    yield
    report._assets.cache_clear()
    report.code_version.cache_clear()


def sources(session: CDPSession) -> dict[str, str]:
    """The scripts of a page by their numbers."""
    found: dict[str, str] = {}
    session.on("Debugger.scriptParsed", lambda script: found.update({script["scriptId"]: ""}))
    session.send("Debugger.enable")
    return {number: session.send("Debugger.getScriptSource", {"scriptId": number})["scriptSource"] for number in found}


def place_of(module: str, source: str) -> dict[str, int] | None:
    """Where a breakpoint goes: into an arrow function of one line, else to the line below an opening."""
    lines = source.splitlines()
    marks = [index for index, line in enumerate(lines) if line.strip() == f"// js/src/{module}"]
    if not marks:
        return None
    opening = CALLED[module]
    index = next(index for index in range(marks[0], len(lines)) if lines[index].lstrip().startswith(opening))
    if opening.endswith("=> "):
        return {"lineNumber": index, "columnNumber": lines[index].index(opening) + len(opening)}
    return {"lineNumber": index + 1}


def draws(screen: Screen) -> None:
    """Wait until the charts are there."""
    screen.until(lambda: screen.marks("Time by op type")[:1], ["MatMul"])


def follow(page: Page) -> None:
    """Note each call, in `window.route`, by breakpoints that never stop."""
    session = page.context.new_cdp_session(page)
    scripts = sources(session)
    for module in CALLED:
        (location,) = [
            {"scriptId": number, **place} for number, source in scripts.items() if (place := place_of(module, source))
        ]
        note = f"((window.route ??= []).push({module!r}), false)"
        session.send("Debugger.setBreakpoint", {"location": location, "condition": note})


@pytest.mark.usefixtures("readable")
def test_a_slider_move_goes_through_the_modules_that_the_page_lists(open_profile: Opening) -> None:
    screen = open_profile(demo_profile())
    expect(screen.slider("min_micros")).to_be_visible()
    draws(screen)
    follow(screen.page)
    screen.slider("min_micros").press("ArrowRight")
    screen.until(lambda: screen.page.evaluate("() => window.route?.includes('views/table/rows.tsx')"), True)
    called: list[str] = screen.page.evaluate("() => window.route")
    first = list(dict.fromkeys(called))
    listed = list(dict.fromkeys(documented()))
    assert set(listed) == set(CALLED)
    assert [module for module in first if module in listed] == [
        module for module in listed if module != KEPT or module in first
    ]


def parsed(session: CDPSession) -> list[dict[str, Any]]:
    """What is told of each script that is parsed from now on."""
    told: list[dict[str, Any]] = []
    session.on("Debugger.scriptParsed", lambda script: told.append(script))
    session.send("Debugger.enable")
    return told


def written(path: Path, *blocks: str) -> Path:
    path.write_text(f"<!doctype html><meta charset=utf-8>{''.join(blocks)}", encoding="utf-8")
    return path


def test_five_results_on_a_page_parse_what_comes_later_once(chromium: Browser, tmp_path: Path) -> None:
    exhibit = Shown.of_profile(demo_profile(), view="scope")
    file = written(tmp_path / "page.html", *(block(exhibit) for _ in range(RESULTS)))
    with watched_page(chromium) as page:
        told = parsed(page.context.new_cdp_session(page))
        page.goto(file.as_uri())
        for index in range(RESULTS):
            screen = Screen(page, page.locator("[data-tfprof]").nth(index)).until_ready()
            draws(screen)
    lengths = [script["length"] for script in told if script["url"].startswith("blob:")]
    widget = len(static_bytes("widget.js").decode())
    assert sum(length > LARGE for length in lengths) == 1
    assert lengths.count(widget) == RESULTS
    assert sum(widget < length <= LARGE for length in lengths) == 1
    assert lengths.count(len(gzip.decompress(static_bytes("carried.js.gz")).decode())) == 1


def test_a_cell_that_runs_again_and_again_leaves_little(open_profile: Opening) -> None:
    page = open_profile(demo_profile()).page
    session = page.context.new_cdp_session(page)

    def held() -> int:
        for _ in range(3):
            session.send("HeapProfiler.collectGarbage")
        return int(session.send("Runtime.getHeapUsage")["usedSize"])

    page.evaluate(RUN_AGAIN, 1)
    first = held()
    page.evaluate(RUN_AGAIN, RUNS - 1)
    assert held() - first <= MOST_GROWTH_BYTES


@pytest.mark.parametrize(
    ("view", "wanted", "count"),
    [
        ("scope", "[role=row][aria-level]", 20),
        ("op", "[role=row][aria-level]", 20),
        ("overview", ".layers tbody tr", 7),
    ],
)
def test_a_widget_is_ready_once_the_panel_of_its_tab_is_there(demo: Screen, view: str, wanted: str, count: int) -> None:
    before, shown = demo.page.evaluate(LATE, [view, wanted])
    assert not before
    assert shown >= count


def test_charts_lie_once_in_a_notebook(chromium: Browser, tmp_path: Path) -> None:
    exhibit = Shown.of_profile(demo_profile(), view="scope")
    alone, whole = block(exhibit, is_carrier=False), block(exhibit)
    with watched_page(chromium) as page:
        page.goto(written(tmp_path / "both.html", alone, whole).as_uri())
        for index in range(2):
            screen = Screen(page, page.locator("[data-tfprof]").nth(index)).until_ready()
            draws(screen)


def test_a_result_without_charts_stands_alone_and_gets_them_when_they_come(chromium: Browser, tmp_path: Path) -> None:
    exhibit = Shown.of_profile(demo_profile(), view="scope")
    alone, whole = block(exhibit, is_carrier=False), block(exhibit)
    with watched_page(chromium) as page:
        page.goto(written(tmp_path / "alone.html", alone).as_uri())
        screen = Screen(page, page.locator("[data-tfprof]").first).until_ready()
        expect(screen.root.get_by_text("run the cell again to see it").first).to_be_visible()
        expect(screen.root.get_by_role("table", name="Time by op type")).to_contain_text("MatMul")
        screen.type_regexes("show_name_regexes", ".*Relu")
        screen.until(lambda: any(name.endswith("Relu") for name in screen.names()), True)
        screen.look_at("timeline")
        expect(screen.root.get_by_role("listbox").first).to_be_attached()
        screen.look_at("op")
        screen.type_regexes("show_name_regexes", ".*")
        # As a notebook draws a cell that is scrolled to.
        page.evaluate(
            """html => {
              const drawn = document.createRange().createContextualFragment(html);
              document.body.append(drawn);
            }""",
            whole,
        )
        draws(screen)
        assert not re.search("run the cell again", screen.root.inner_text())


def test_a_result_without_the_picture_of_the_graph_shows_the_tree_until_it_comes(
    chromium: Browser, tmp_path: Path
) -> None:
    exhibit = Shown.of_profile(demo_profile(), view="scope")
    alone, whole = block(exhibit, is_carrier=False), block(exhibit)
    with watched_page(chromium) as page:
        page.goto(written(tmp_path / "alone.html", alone).as_uri())
        screen = Screen(page, page.locator("[data-tfprof]").first).until_ready()
        screen.tab("graph").click()
        boxes = screen.root.get_by_role("listbox", name="boxes")
        word = screen.root.get_by_text("The picture of the graph cannot be shown: its code is in another result")
        expect(word).to_contain_text("run the cell again to see it")
        screen.until(lambda: len(screen.names()) > 1, True)
        screen.type_regexes("show_name_regexes", ".*Relu")
        screen.until(lambda: any(name.endswith("Relu") for name in screen.names()), True)
        expect(screen.root.get_by_role("button", name="Export")).to_be_disabled()
        expect(boxes).to_have_count(0)
        page.evaluate(
            """html => {
              const drawn = document.createRange().createContextualFragment(html);
              document.body.append(drawn);
            }""",
            whole,
        )
        expect(boxes).to_have_count(1)
        expect(word).to_have_count(0)
        expect(screen.root.get_by_role("button", name="Export")).to_be_enabled()


def test_a_picture_of_the_graph_needs_no_charts(chromium: Browser, tmp_path: Path) -> None:
    exhibit = Shown.of_profile(demo_profile(), view="advise")
    with watched_page(chromium) as page:
        told = parsed(page.context.new_cdp_session(page))
        page.goto(written(tmp_path / "page.html", block(exhibit)).as_uri())
        screen = Screen(page, page.locator("[data-tfprof]").first).until_ready()
        screen.tab("graph").click()
        expect(screen.root.get_by_role("listbox", name="boxes")).to_have_count(1)
        screen.until_painted()
    assert not [script for script in told if script["url"].startswith("blob:") and script["length"] > LARGE]
