"""One notebook with results, written as text, made a notebook by jupytext, and run by papermill."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.watched import launched
from tests.slow.hosts.programs import ran

SOURCE = """
# %% [markdown]
# # A report

# %% tags=["parameters"]
title = "letters"

# %%
from ipywidgets import Label
from tfprof_widget.demo import demo_profile

w = demo_profile().widget("op", title=title)
w

# %%
w.chart

# %%
demo_profile().widget("timeline", title="when ops ran")

# %%
heard = Label("nothing yet")
w.observe(lambda change: setattr(heard, "value", f"heard {change.new}"), "view")
heard
"""


@pytest.fixture(scope="package")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The notebook before it is run, as jupytext makes it of a script."""
    folder = tmp_path_factory.mktemp("source")
    (folder / "report.py").write_text(SOURCE, encoding="utf-8")
    ran("jupytext", "--to", "ipynb", "--set-kernel", "python3", "report.py", cwd=folder)
    return folder / "report.ipynb"


@pytest.fixture(scope="package")
def executed(source: Path) -> Path:
    """The notebook as papermill ran it, with another title."""
    ran("papermill", source, "executed.ipynb", "-p", "title", "digits", cwd=source.parent)
    return source.parent / "executed.ipynb"


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = launched(playwright)
        yield browser
        browser.close()
