"""Times the widget in a real browser: input event to painted frame, and arrival of the data to first paint."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.bench.finding import Finding
from tests.bench.target import AtMost
from tests.browser.watched import program

SIZES = (2_000, 100_000)
MOVES = 80
# A frame of a screen with 60 Hz; at 100,000 nodes every second one may pass.
FRAME = {2_000: 0.0167, 100_000: 0.033}
WORST_FRAME = 0.1
FIRST_PAINT = {2_000: 0.3, 100_000: 1.0}
GRAPH_PAINT = {2_000: 0.05, 100_000: 0.2}
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync")

_WATCH = """
const watch = () => {
  const drawn = [...document.querySelectorAll("*")].some((each) => each.shadowRoot?.querySelector("[data-ready]"));
  if (drawn) window.tfprofDrawn = performance.now(); else requestAnimationFrame(watch);
};
requestAnimationFrame(watch);
"""
_SINCE_ARRIVAL = "() => (window.tfprofDrawn - performance.getEntriesByType('navigation')[0].responseEnd) / 1000"
# A frame is painted when a message that was sent in it arrives.
_MOVE = """
async (slider, moves) => {
  const painted = () => new Promise((resolve) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = resolve;
    port2.postMessage(0);
  }));
  const [least, most] = [Number(slider.min), Number(slider.max)];
  const taken = [];
  for (let move = 0; move < moves; move++) {
    const value = least + ((move * 7) % 41) / 41 * (most - least);
    const started = performance.now();
    slider.value = String(value);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await painted();
    taken.push((performance.now() - started) / 1000);
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
  return taken.slice(5);
}
"""

# From the click on the tab to the frame in which the canvas is painted, and from the key to the next frame.
_GRAPH = """
async (root) => {
  const painted = () => new Promise((resolve) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = resolve;
    port2.postMessage(0);
  }));
  const started = performance.now();
  root.querySelector("#tab-graph").click();
  while (!(root.querySelector(".graph canvas")?.width > 300)) await painted();
  const opened = (performance.now() - started) / 1000;
  const overlay = root.querySelector(".graph .overlay");
  const press = (key) => overlay.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  press("Home");
  await new Promise((resolve) => setTimeout(resolve, 500));
  const begun = performance.now();
  press("Enter");
  await painted();
  return [opened, (performance.now() - begun) / 1000];
}
"""


def findings(nodes: int) -> Iterator[Finding]:
    """What the page of a model of so many nodes takes; the other is a frame in which nothing happens."""
    with tempfile.TemporaryDirectory() as folder, opened(_written(nodes, Path(folder))) as page:
        first = first_paint(page)
        yield Finding("page: arrived to first paint", nodes, "s", 0.0, first, AtMost(FIRST_PAINT[nodes]))
        page.wait_for_timeout(3_000)  # the charts come after the table
        idle = idle_frame(page)
        for name in ("min_micros", "max_depth"):
            taken = moves(page, name)
            yield Finding(f"page: {name} moved", nodes, "s", idle, statistics.median(taken), AtMost(FRAME[nodes]))
            yield Finding(f"page: {name} moved, p95", nodes, "s", idle, _p95(taken), AtMost(WORST_FRAME))
        graph, box = graph_opened(page)
        yield Finding("page: picture of the graph opened", nodes, "s", idle, graph, AtMost(GRAPH_PAINT[nodes]))
        yield Finding("page: box of the graph opened", nodes, "s", idle, box, AtMost(FRAME[nodes]))


def _written(nodes: int, folder: Path) -> Path:
    from tests.bench import children

    path = folder / "page.html"
    children.call(_write, nodes, path)
    return path


def _write(nodes: int, path: Path) -> None:
    from tests.bench import model
    from tfprof_widget.api.profile import Profile
    from tfprof_widget.widget.report import report
    from tfprof_widget.widget.shown import Shown

    built = model.build(nodes)
    profile = Profile.from_protos(built.graph, model.run(built))
    path.write_text(report(Shown.of_profile(profile, title="bench")), encoding="utf-8")


def first_paint(page: Page) -> float:
    """How long after the data had arrived the widget was drawn."""
    return float(page.evaluate(_SINCE_ARRIVAL))


def moves(page: Page, option: str) -> list[float]:
    """How long each of many moves of a slider took, from the event to the frame."""
    taken: list[float] = page.get_by_role("slider", name=option, exact=True).evaluate(_MOVE, MOVES)
    return taken


def graph_opened(page: Page) -> tuple[float, float]:
    """How long the picture of the graph took to open, and then one of its boxes."""
    graph, box = page.locator(".tfprof").evaluate(_GRAPH)
    return float(graph), float(box)


@contextmanager
def opened(path: Path) -> Iterator[Page]:
    """The page in a browser, once it is drawn."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=list(FLAGS))
        try:
            page = browser.new_page(viewport={"width": 1400, "height": 800})
            page.add_init_script(_WATCH)
            page.goto(path.as_uri())
            page.wait_for_function("() => window.tfprofDrawn", timeout=60_000)
            yield page
        finally:
            browser.close()


def idle_frame(page: Page) -> float:
    """How long a frame takes in which nothing happens."""
    taken: list[float] = page.evaluate(
        """async () => {
          const taken = [];
          for (let frame = 0; frame < 30; frame++) {
            const started = performance.now();
            await new Promise((resolve) => requestAnimationFrame(resolve));
            taken.push((performance.now() - started) / 1000);
            await new Promise((resolve) => setTimeout(resolve, 20));
          }
          return taken;
        }"""
    )
    return statistics.median(taken)


def _p95(taken: Sequence[float]) -> float:
    return sorted(taken)[int(len(taken) * 0.95)]
