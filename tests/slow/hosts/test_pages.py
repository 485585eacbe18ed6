"""A saved result has its sliders, tabs and charts on the pages that programs make of notebooks, without a network."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.screen import Screen
from tests.slow.hosts.programs import only_in_full, ran

pytestmark = [only_in_full, pytest.mark.timeout(900)]

CONFIGURED = {
    "book": {
        "_config.yml": "title: A book\nexecute:\n  execute_notebooks: 'off'\n",
        "_toc.yml": "format: jb-book\nroot: executed\n",
    },
    "myst-nb": {
        "conf.py": 'project = "a page"\nextensions = ["myst_nb"]\nnb_execution_mode = "off"\n',
        "index.rst": "Pages\n=====\n\n.. toctree::\n\n   executed\n",
    },
    "nbsphinx": {
        "conf.py": 'project = "a page"\nextensions = ["nbsphinx"]\nnbsphinx_execute = "never"\n',
        "index.rst": "Pages\n=====\n\n.. toctree::\n\n   executed\n",
    },
}
Opening = Callable[[Path], Page]


@pytest.fixture
def opened(chromium: Browser) -> Iterator[Opening]:
    """Opens a page that reaches nobody: what themes fetch of others is refused, and so would be what results fetch."""
    with ExitStack() as contexts:

        def of_file(file: Path) -> Page:
            context = chromium.new_context(viewport={"width": 1300, "height": 900}, reduced_motion="reduce")
            contexts.callback(context.close)
            context.route(lambda address: address.startswith("http"), lambda route: route.abort())
            page = context.new_page()
            page.goto(file.as_uri(), wait_until="domcontentloaded")
            return page

        yield of_file


def results(page: Page) -> list[Screen]:
    """The results on a page, each painted."""
    blocks = page.locator("[data-tfprof]")
    return [Screen(page, blocks.nth(index)).until_ready() for index in range(blocks.count())]


def works(page: Page) -> None:
    """Both results are live, the first with its charts, rows and tabs, the second with its timeline."""
    first, second = results(page)
    first.until(lambda: first.marks("Time by op type")[:2], ["MatMul", "Relu"])
    expect(first.root).to_contain_text("digits")
    first.look_at("scope")
    first.until(lambda: first.names()[:2], ["_TFProfRoot", "gradients"])
    if not first.number("min_micros").is_visible():  # the theme leaves little room
        first.root.get_by_role("button", name="Filters").click()
    first.look_at("op").type_number("min_micros", "100")
    first.until(first.names, ["MatMul", "Relu", "ApplyGradientDescent"])
    expect(second.tab("timeline")).to_have_attribute("aria-selected", "true")
    expect(second.root.locator("canvas").first).to_be_visible()


def test_papermill_saves_results_with_a_picture_markdown_and_text(executed: Path) -> None:
    outputs = [
        output["data"]
        for cell in json.loads(executed.read_text(encoding="utf-8"))["cells"]
        for output in cell.get("outputs", [])
        if "data-tfprof=" in "".join(output.get("data", {}).get("text/html", ""))
    ]
    assert [set(each) for each in outputs] == [{"image/png", "text/html", "text/markdown", "text/plain"}] * 2
    assert "".join(outputs[0]["text/plain"]).startswith("digits · nodes 81")


def test_jupytext_writes_the_script_that_it_was(source: Path, executed: Path, tmp_path: Path) -> None:
    for notebook in (source, executed):
        ran("jupytext", "--to", "py:percent", "--opt", "notebook_metadata_filter=-all", notebook,
            "--output", tmp_path / f"{notebook.stem}.py", cwd=tmp_path)  # fmt: skip
    script = (tmp_path / "report.py").read_text(encoding="utf-8")
    assert 'w = demo_profile().widget("op", title=title)\nw\n' in script
    assert "data-tfprof" not in (tmp_path / "executed.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("template", ["lab", "classic", "basic"])
def test_nbconvert_to_html(template: str, executed: Path, opened: Opening, tmp_path: Path) -> None:
    words = ("--to", "html", "--template", template, "--output-dir", str(tmp_path))
    ran("jupyter-nbconvert", *words, executed, cwd=tmp_path)
    works(opened(tmp_path / "executed.html"))


def test_nbconvert_to_slides(executed: Path, opened: Opening, tmp_path: Path) -> None:
    """Without the network there is no reveal.js, so that all slides stand below each other."""
    ran("jupyter-nbconvert", "--to", "slides", "--output-dir", tmp_path, executed, cwd=tmp_path)
    page = opened(tmp_path / "executed.slides.html")
    assert len(results(page)) == 2


@pytest.mark.parametrize("program", CONFIGURED)
def test_books_and_pages_of_sphinx(program: str, executed: Path, opened: Opening, tmp_path: Path) -> None:
    for name, text in CONFIGURED[program].items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "executed.ipynb").write_bytes(executed.read_bytes())
    if program == "book":
        ran("jupyter-book", "build", ".", cwd=tmp_path)
        works(opened(tmp_path / "_build" / "html" / "executed.html"))
    else:
        ran("sphinx-build", "-q", "-b", "html", ".", "html", cwd=tmp_path)
        works(opened(tmp_path / "html" / "executed.html"))
