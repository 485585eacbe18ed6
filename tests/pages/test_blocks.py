"""Every block of code that people read runs, page by page, as it is written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.forked import forked
from tests.pages import session
from tests.pages.markdown import GIVEN, ROOT, blocks, pages
from tests.pages.session import LANGUAGES, SHOWN
from tests.slow.share import share

PAGES = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in pages()}
RUN = [language for language in LANGUAGES if language not in (GIVEN, *SHOWN)]
RUNNING = [name for name, page in PAGES.items() if {block.language for block in blocks(page)} - {GIVEN, *SHOWN}]
LONG = frozenset({"docs/engines.md"})
"""It starts a cluster of engines, as `notebooks/engines.ipynb` does, which each `make test` runs."""


def test_pages_have_code() -> None:
    assert {"README.md", "docs/advise.md", "docs/command-line.md", "docs/developing.md"} <= set(RUNNING)


def test_every_block_is_in_a_language() -> None:
    for name, page in PAGES.items():
        strange = [block for block in blocks(page) if block.language not in LANGUAGES]
        assert not strange, f"{name}: write what runs as {', '.join(RUN)} and what does not as {', '.join(SHOWN)}"
        assert page.count("```") == 2 * sum(block.language != GIVEN for block in blocks(page)), name


@pytest.mark.parametrize("name", [name for name in RUNNING if name not in share(frozenset(), LONG)])
def test_the_blocks_of_a_page_run(name: str, tmp_path: Path) -> None:
    ended, said = run(name, tmp_path)
    assert ended == 0, said
    assert said.count(f"--- {name}, line ") == len(list(blocks(PAGES[name])))


@pytest.mark.parametrize(
    ("page", "told"),
    [
        ("```python\n1 / 0\n```\n", "ZeroDivisionError"),
        ("```python\nprofile.view('op', min_micro=1)\n```\n", "did you mean 'min_micros'"),
        ("```ipython\n%%tfprof --alll\n1\n```\n", "there is no option --alll"),
        ("```ipython\n%%tfprof\n1\n```\n", "AssertionError: Nothing was captured"),
        ("```sh\nmake no-such-target\n```\n", "no-such-target"),
        ("```sh\ntfprof demo\ntfprof scop profile_100\n```\n", "scop"),
        ('```sh\npip install "tfprof-widget[no-such-extra]"\n```\n', "there is no extra no-such-extra"),
        ("```sh\npip install tensorboard\n```\n", "tensorboard is not tfprof-widget"),
        ("```ruby\n1\n```\n", "a block in 'ruby'"),
    ],
)
def test_a_block_that_fails_is_told(page: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(page, encoding="utf-8")
    ended, said = run(str(tmp_path / "page.md"), tmp_path)
    assert ended not in (0, None)
    assert told in said


SECONDS = 250


def run(page: str, folder: Path) -> tuple[int | None, str]:
    """Run a page of the repository, or another one, in a folder: its exit code, if it ended, and its words."""
    said = folder / "said.txt"
    process = forked(run_page, page, folder, said)
    process.join(SECONDS)
    ended = process.exitcode
    if ended is None:
        process.kill()
        process.join()
    return ended, said.read_text(encoding="utf-8")


def run_page(page: str, folder: Path, said: Path) -> None:
    """In a process of its own, to which nothing is typed: run a page as a program would."""
    os.chdir(folder)
    with said.open("wb") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    os.environ["PYTHONPATH"] = str(ROOT)
    session.main(page)
