"""One browser for all tests of the folder, and the pages that they open in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.page import model_profile
from tests.browser.screen import Screen
from tests.browser.watched import launched, watched_page
from tfprof_widget.api.profile import Profile
from tfprof_widget.demo import demo_profile
from tfprof_widget.widget.report import report
from tfprof_widget.widget.shown import Shown

Opening = Callable[..., Screen]


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """The browser; not for the whole session, since while Playwright runs there can be no other event loop."""
    with sync_playwright() as playwright:
        browser = launched(playwright)
        yield browser
        browser.close()


@contextmanager
def opening(chromium: Browser) -> Iterator[Opening]:
    """Opens pages from files; at the end they must have asked nobody for anything and must not have complained."""
    with ExitStack() as pages:

        def opened(file: Path, **context: Any) -> Screen:
            page = pages.enter_context(watched_page(chromium, **context))
            page.goto(file.as_uri())
            return Screen(page).until_ready()

        yield opened


@pytest.fixture
def open_file(chromium: Browser) -> Iterator[Opening]:
    """Opens a page from a file for one test."""
    with opening(chromium) as opened:
        yield opened


@pytest.fixture
def open_profile(open_file: Opening, tmp_path: Path) -> Opening:
    """Opens the standalone page of a profile."""

    def opened(profile: Profile, title: str = "", view: str = "scope", **context: Any) -> Screen:
        return open_file(written(tmp_path / "page.html", profile, title, view), **context)

    return opened


@pytest.fixture(scope="package")
def demo_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The standalone page of the shipped demo."""
    return written(tmp_path_factory.mktemp("demo") / "demo.html", demo_profile(), "demo")


@pytest.fixture
def demo(open_file: Opening, demo_file: Path) -> Screen:
    """The page of the demo, opened."""
    return open_file(demo_file)


@pytest.fixture(scope="package")
def model() -> Profile:
    """The profile of a session run of a graph of 2,000 nodes."""
    return model_profile(2000)


@pytest.fixture(scope="package")
def model_file(model: Profile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its standalone page."""
    return written(tmp_path_factory.mktemp("model") / "model.html", model, "model")


def written(file: Path, profile: Profile, title: str = "", view: str = "scope") -> Path:
    """A profile's page in a file."""
    file.write_text(report(Shown.of_profile(profile, view=view, title=title)), encoding="utf-8")
    return file
