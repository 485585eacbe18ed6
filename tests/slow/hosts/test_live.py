"""A widget is live in Voilà and in marimo: what is chosen in the browser, Python hears, and cells follow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.screen import Screen
from tests.slow.hosts.programs import only_in_full, serving

pytestmark = [only_in_full, pytest.mark.timeout(600)]

REACTIVE = """
import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo
    from tfprof_widget.demo import demo_profile

    return demo_profile, mo


@app.cell
def _(demo_profile, mo):
    w = mo.ui.anywidget(demo_profile().widget("op", title="digits"))
    w
    return (w,)


@app.cell
def _(mo, w):
    mo.md(f"heard {w.value['view']}")
    return


@app.cell
def _(w):
    w.chart
    return
"""


@contextmanager
def shown(chromium: Browser, address: str) -> Iterator[Page]:
    """A page of a server, which reaches nobody else."""
    context = chromium.new_context(viewport={"width": 1300, "height": 1400}, reduced_motion="reduce")
    foreign = lambda asked: asked.startswith("http") and not asked.startswith(address)  # noqa: E731
    context.route(foreign, lambda route: route.abort())
    page = context.new_page()
    page.goto(address, wait_until="domcontentloaded", timeout=180_000)
    yield page
    context.close()


def hears(page: Page) -> None:
    screen = Screen(page, page.locator(":has(> [data-ready=true])").first).until_ready()
    screen.until(lambda: screen.marks("Time by op type")[:2], ["MatMul", "Relu"])
    screen.look_at("scope")
    expect(page.get_by_text("heard scope", exact=True)).to_be_visible()
    screen.until(lambda: screen.names()[:2], ["_TFProfRoot", "gradients"])


def test_voila(source: Path, chromium: Browser, tmp_path: Path) -> None:
    words = (str(source), "--no-browser", "--port={port}", "--Voila.ip=127.0.0.1")
    with serving("voila", *words, cwd=tmp_path) as address, shown(chromium, address) as page:
        hears(page)
        expect(page.locator("[data-tfprof-live] [data-ready=true]")).to_have_count(2)
        expect(page.locator("img[src^='data:image/png']")).to_have_count(1)  # of w.chart


def test_marimo(chromium: Browser, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(REACTIVE, encoding="utf-8")
    words = ("run", "app.py", "--headless", "--host=127.0.0.1", "--port={port}", "--no-token")
    with serving("marimo", *words, cwd=tmp_path) as address, shown(chromium, address) as page:
        hears(page)
