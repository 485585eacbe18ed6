"""What the tests of all folders share: what makes every run of them alike, and a native tfprof to compare with."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests.slow.share import share

if TYPE_CHECKING:
    from tests.oracle.native import NativeTfprof

LAST = 3000
"""So many characters of a process's standard error are shown."""

SHARING = ("tests/notebooks/", "tests/packaging/", "tests/parallel/")
"""Folders with a fixture that takes long to set up, and which all their tests share."""

FIRST = ("tests/browser/", *SHARING, "tests/pages/", "tests/slow/", "tests/analysis/cluster/", "tests/cli/")
"""Folders that take longest, which are begun with: so that at the end no worker waits long for the other."""

# The same examples in every run, however slow the machine; `pytest --hypothesis-profile=default` looks for new ones.
settings.register_profile(
    "same",
    derandomize=True,
    deadline=None,
    max_examples=share(200, 50),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("same")


def pytest_configure() -> None:
    """Make a worker of pytest-xdist, and what a shell starts in the background, like a pytest at a terminal.

    The first puts the repository on the path of all processes, so that an installed wheel would not be imported; the
    other ignores Ctrl-C, and so would the tests of interrupts.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        others = os.environ.pop("PYTHONPATH", "").partition(os.pathsep)[2]
        if others:
            os.environ["PYTHONPATH"] = others
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker a file at a time, or a folder whose tests share a browser, a kernel, a cluster or a build."""
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False  # the order is that of `pytest_collection_modifyitems`
    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = file_or_folder
    return scheduler


def file_or_folder(test: str) -> str:
    """The tests that a worker gets together with this one.

    >>> file_or_folder("tests/parallel/test_runs.py::test_a"), file_or_folder("tests/test_demo.py::test_a")
    ('tests/parallel/', 'tests/test_demo.py')
    """
    return next((folder for folder in SHARING if test.startswith(folder)), test.partition("::")[0])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the tests for workers of pytest-xdist: folders that take longest first, then the files with most tests."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        scopes = [file_or_folder(item.nodeid) for item in items]
        sizes = Counter(scopes)
        order = sorted(range(len(items)), key=lambda at: (rank(scopes[at]), -sizes[scopes[at]], scopes[at], at))
        items[:] = [items[at] for at in order]


def rank(scope: str) -> int:
    """The place of a file or folder among those that are begun with.

    >>> rank("tests/browser/test_tree.py") < rank("tests/parallel/") < rank("tests/test_demo.py")
    True
    """
    return next((place for place, folder in enumerate(FIRST) if scope.startswith(folder)), len(FIRST))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the last words of a process that ended otherwise than it should."""
    report = yield
    error = call.excinfo.value if call.excinfo is not None else None
    if isinstance(error, subprocess.CalledProcessError | subprocess.TimeoutExpired) and error.stderr:
        words = error.stderr if isinstance(error.stderr, str) else error.stderr.decode(errors="replace")
        report.sections.append(("Standard error of the process", words[-LAST:]))
    return report


@pytest.fixture(autouse=True, scope="module")
def _old_objects_are_no_garbage() -> None:
    """Keep the collector from looking through TensorFlow and all tests again and again, for half a second each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def native() -> Iterator[NativeTfprof]:
    from tests.oracle.native import NativeTfprof  # imports TensorFlow, which `make matrix` also leaves out

    with NativeTfprof() as started:
        yield started
