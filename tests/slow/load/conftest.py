"""Load: many runs, many widgets, many captures one after the other; more of them in `make test-slow`."""

from __future__ import annotations

import pytest

from tests.capturing.models import Model


@pytest.fixture
def model() -> Model:
    return Model()
