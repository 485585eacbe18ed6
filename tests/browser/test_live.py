"""A cell that takes long, in JupyterLab: how it stands is seen while it runs, and then its result in the same place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.notebook_server import (
    KERNEL,
    NotebookServer,
    notebook_server,
    run_all,
    save,
    write_notebook,
)
from tests.browser.test_jupyter import OWN_COMPLAINTS, SESSION
from tests.browser.watched import watched_page

SECONDS_TO_START = 120
STEPS = 40
LONG = f"""%%tfprof --all
import pathlib, time
print("before")
for _ in range({STEPS}):
    session.run(loss, {{image: np.ones((64, 64))}})
while not pathlib.Path("go on").exists():
    time.sleep(0.05)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NotebookServer]:
    with notebook_server("lab", tmp_path_factory.mktemp("live")) as started:
        yield started


@pytest.fixture
def running_page(chromium: Browser, server: NotebookServer, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A notebook whose long cell has told of all its steps, and waits."""
    (server.folder / "go on").unlink(missing_ok=True)
    name = f"{request.node.name}.ipynb"
    write_notebook(server.folder / name, (SESSION, LONG))
    with watched_page(chromium, server.address, OWN_COMPLAINTS) as page:
        server.open(page, name)
        run_all(page)
        expect(live_view(page)).to_contain_text(f"{STEPS} steps of loss", timeout=1000 * SECONDS_TO_START)
        yield page


def live_view(page: Page) -> Locator:
    return page.locator("[data-tfprof-live] .live")


def kept_block(path: Path) -> str:
    """What the last cell of a saved notebook keeps for readers without scripts."""
    outputs = json.loads(path.read_text(encoding="utf-8"))["cells"][-1]["outputs"]
    (html,) = ["".join(each["data"]["text/html"]) for each in outputs if "text/html" in each.get("data", {})]
    return html


def test_numbers_come_while_the_kernel_sleeps_and_the_result_takes_their_place(
    running_page: Page, server: NotebookServer, request: pytest.FixtureRequest
) -> None:
    page, path = running_page, server.folder / f"{request.node.name}.ipynb"
    live = live_view(page)
    expect(live.get_by_role("status")).to_have_text("running")
    expect(live.get_by_role("list", name="so far")).to_contain_text(f"{STEPS} steps")
    expect(live.get_by_role("img")).to_have_attribute("aria-label", re.compile(f"the last {STEPS - 1} steps: "))
    expect(live.get_by_role("region", name="costliest op types so far")).to_contain_text("MatMul")
    expect(page.locator("[data-tfprof]")).to_be_hidden()
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    assert f"{STEPS} steps of loss" in kept_block(path)
    expect(page.get_by_text("[*]:", exact=True)).to_be_visible()
    above = live.bounding_box()
    (server.folder / "go on").touch()
    result = page.locator("[data-tfprof-live] [data-ready=true]").filter(has=page.get_by_role("tablist"))
    expect(result).to_be_visible(timeout=1000 * SECONDS_TO_START)
    expect(live).to_have_count(0)
    found = result.bounding_box()
    assert above is not None
    assert found is not None
    assert abs(found["y"] - above["y"]) < 60
    save(page)
    assert "data-part=" in kept_block(path)


def test_an_interrupted_cell_shows_what_ran_until_then(running_page: Page) -> None:
    page = running_page
    page.evaluate(f"() => ({KERNEL}).interrupt()")
    result = page.locator("[data-tfprof-live] [data-ready=true]").filter(has=page.get_by_role("tablist"))
    expect(result).to_contain_text(f"{STEPS} of {STEPS}", timeout=1000 * SECONDS_TO_START)
    expect(page.get_by_text("KeyboardInterrupt").first).to_be_visible()
    expect(live_view(page)).to_have_count(0)
