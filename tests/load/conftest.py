"""Load: many runs, many widgets, many captures one after the other; longer ones where `make soak` asks for them."""

from __future__ import annotations

import pytest

from tests.capturing.models import Model


@pytest.fixture
def model() -> Model:
    return Model()
