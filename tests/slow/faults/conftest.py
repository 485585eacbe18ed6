"""Faults that meet a profiler, each injected by a test: files are whole or absent, hooks gone, the user's run his own.

The fixture below looks after each test of the folder whether TensorFlow, Keras and Python are as they were.

| fault | injected in |
|---|---|
| disk full, read-only directory | `test_disk.py` |
| a kernel that is killed in mid-dump | `test_killed.py` |
| a capture that is interrupted | `test_interrupted.py`, `test_random_signals.py` |
| a second profiler, before, during and after | `test_second_profiler.py` |
| a session closed, a device lost during a run | `test_lost.py` |
| a graph changed between runs | `test_changed_graph.py` |
| a thread that outlives the cell | `test_threads.py` |
| fork | `test_fork.py` |
| a clock that steps back | `test_clock.py` |
| an error of the package's own | `test_own_errors.py` |
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.capturing.models import Model
from tests.slow.faults.hooks import hooks


@pytest.fixture(autouse=True)
def _hooks_are_removed() -> Iterator[None]:
    before = hooks()
    yield
    assert hooks() == before


@pytest.fixture
def model() -> Model:
    return Model()
