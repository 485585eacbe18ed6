"""A cell that takes long, in JupyterLab or Notebook 7: it and jobs are seen while it runs, then its result there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
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
from tests.jobs_told import TRAINING, write_task
from tests.slow.share import share
from tfprof_widget.demo import demo_profile
from tfprof_widget.ingest.files.jobs import REQUESTS, SNAPSHOT

MILLISECONDS_TO_START = 120_000
NOTEBOOK = "training.ipynb"
STEPS = 40
WATCH = """jobs = tfprof.watch("jobs")
jobs"""
LONG = f"""%%tfprof --all
import pathlib, time
print("before")
for _ in range({STEPS}):
    session.run(loss, {{image: np.ones((64, 64))}})
while not pathlib.Path("go on").exists():
    time.sleep(0.05)
"""


@pytest.fixture(scope="module", params=share(["lab", "notebook"], ["notebook"]))
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NotebookServer]:
    with notebook_server(request.param, tmp_path_factory.mktemp("live")) as started:
        yield started


@pytest.fixture(scope="module")
def notebook(chromium: Browser, server: NotebookServer) -> Iterator[Page]:
    write_notebook(server.folder / NOTEBOOK, (SESSION, WATCH, LONG))
    told = write_task(server.folder / "jobs", "train", "worker-0")
    demo_profile().save(told / SNAPSHOT)
    words = "ValueError: no data (train.py:7)"
    write_task(server.folder / "jobs", "train", "worker-1", status="failed", exit_code=1, last_words=words)
    with watched_page(chromium, server.address, OWN_COMPLAINTS) as page:
        server.open(page, NOTEBOOK)
        yield page


@pytest.fixture
def running_page(notebook: Page, server: NotebookServer) -> Page:
    """The notebook, whose long cell has told of all its steps, and waits."""
    (server.folder / "go on").unlink(missing_ok=True)
    run_all(notebook)
    expect(live_view(notebook)).to_contain_text(f"{STEPS} steps of loss", timeout=MILLISECONDS_TO_START)
    return notebook


def live_view(page: Page) -> Locator:
    return page.locator("[data-tfprof-live] .live")


def result(page: Page) -> Locator:
    return page.locator("[data-tfprof-live] [data-ready=true]").filter(has=page.get_by_role("tablist"))


def kept_block(path: Path) -> str:
    """What the last cell of a saved notebook keeps for readers without scripts."""
    outputs = json.loads(path.read_text(encoding="utf-8"))["cells"][-1]["outputs"]
    (html,) = ["".join(each["data"]["text/html"]) for each in outputs if "text/html" in each.get("data", {})]
    return html


def test_numbers_come_while_the_kernel_sleeps_and_the_result_takes_their_place(
    running_page: Page, server: NotebookServer
) -> None:
    page, path = running_page, server.folder / NOTEBOOK
    live = live_view(page)
    expect(live.get_by_role("status")).to_have_text("running")
    expect(live.get_by_role("list", name="so far")).to_contain_text(f"{STEPS} steps")
    expect(live.get_by_role("img")).to_have_attribute("aria-label", re.compile(f"the last {STEPS - 1} steps: "))
    expect(live.get_by_role("region", name="costliest op types so far")).to_contain_text("MatMul")
    for kept in page.locator("[data-tfprof]").all():
        expect(kept).to_be_hidden()
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    assert f"{STEPS} steps of loss" in kept_block(path)
    expect(page.get_by_text("[*]:", exact=True)).to_be_visible()
    above = live.bounding_box()
    (server.folder / "go on").touch()
    expect(result(page)).to_be_visible(timeout=MILLISECONDS_TO_START)
    expect(live).to_have_count(0)
    found = result(page).bounding_box()
    assert above is not None
    assert found is not None
    assert abs(found["y"] - above["y"]) < 60
    save(page)
    assert "data-part=" in kept_block(path)


def test_jobs_are_told_of_while_a_cell_runs_until_that_is_interrupted(
    running_page: Page, server: NotebookServer
) -> None:
    page = running_page
    jobs = page.locator("[data-tfprof-live] .jobs")
    expect(jobs.get_by_role("status")).to_have_text("1 running, 1 failed")
    worker = jobs.get_by_role("row").filter(has_text="worker-0")
    expect(worker).to_contain_text("312")
    expect(worker).to_contain_text("125 ms +25 %")
    expect(worker.get_by_role("img", name=re.compile("steps 40 %"))).to_be_visible()
    expect(jobs.get_by_role("row").filter(has_text="worker-1")).to_contain_text(
        "failed (1): ValueError: no data (train.py:7)"
    )
    write_task(server.folder / "jobs", "train", "worker-0", replace(TRAINING, steps=313))
    expect(worker).to_contain_text("313")

    page.evaluate(f"() => ({KERNEL}).interrupt()")
    expect(result(page)).to_contain_text(f"{STEPS} of {STEPS}", timeout=MILLISECONDS_TO_START)
    expect(page.get_by_text("KeyboardInterrupt").first).to_be_visible()
    expect(live_view(page)).to_have_count(0)

    jobs.get_by_role("button", name="trace 5 steps").click()
    expect(jobs).to_contain_text("train was asked to trace 5 steps")
    (request,) = (server.folder / "jobs" / "train" / REQUESTS).iterdir()
    assert json.loads(request.read_text(encoding="utf-8"))["steps"] == 5
    jobs.get_by_role("button", name="worker-0").click()
    opened = jobs.get_by_role("region", name="profile of train/worker-0")
    expect(opened.get_by_role("tab", name="overview")).to_be_visible(timeout=MILLISECONDS_TO_START)
    opened.get_by_role("button", name="close").click()
    expect(opened).to_have_count(0)
