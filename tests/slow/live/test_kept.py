"""What a notebook keeps of a cell that never ended: its kernel was killed, or it was saved while the cell ran."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.notebook_server import NotebookServer, notebook_server, run_all, write_notebook
from tests.browser.test_jupyter import OWN_COMPLAINTS, SESSION
from tests.browser.test_live import LONG, MILLISECONDS_TO_START, STEPS, live_view
from tests.browser.watched import launched, watched_page
from tests.slow.share import share

pytestmark = pytest.mark.skipif(share(False, True), reason="it kills kernels: make test-slow")
NOTEBOOK, COPY = "killed.ipynb", "copy.ipynb"
NUMBER = "import os\nfrom pathlib import Path\nPath('kernel').write_text(str(os.getpid()))\n"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = launched(playwright)
        yield browser
        browser.close()


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NotebookServer]:
    with notebook_server("lab", tmp_path_factory.mktemp("live")) as started:
        yield started


@pytest.fixture
def page(chromium: Browser, server: NotebookServer) -> Iterator[Page]:
    """A notebook whose long cell has told of all its steps, and waits; what the dead kernel causes is not looked at."""
    write_notebook(server.folder / NOTEBOOK, (NUMBER + SESSION, LONG))
    context = chromium.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    server.open(page, NOTEBOOK)
    run_all(page)
    expect(live_view(page)).to_contain_text(f"{STEPS} steps of loss", timeout=MILLISECONDS_TO_START)
    yield page
    (server.folder / "go on").touch()  # a server waits for its kernels at its end
    context.close()


def test_a_notebook_saved_midway_and_opened_again_has_the_last_state(
    page: Page, chromium: Browser, server: NotebookServer
) -> None:
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    shutil.copy(server.folder / NOTEBOOK, server.folder / COPY)
    with watched_page(chromium, server.address, OWN_COMPLAINTS) as later:
        server.open_without_kernel(later, COPY)
        kept = later.locator("[data-tfprof]")
        expect(kept).to_contain_text(f"{STEPS} steps of loss", timeout=MILLISECONDS_TO_START)
        expect(kept).to_be_visible()
        expect(kept.get_by_role("list", name="the cell so far")).to_contain_text(f"{STEPS} steps")


def test_a_killed_kernel_leaves_what_it_told_last(page: Page, server: NotebookServer) -> None:
    os.kill(int((server.folder / "kernel").read_text()), signal.SIGKILL)
    live = live_view(page)
    expect(live).to_contain_text(re.compile("Nothing was heard for|The kernel is gone"), timeout=MILLISECONDS_TO_START)
    expect(live).to_contain_text(f"{STEPS} steps of loss")
    expect(live.get_by_role("list", name="so far")).to_contain_text(f"{STEPS} steps")
