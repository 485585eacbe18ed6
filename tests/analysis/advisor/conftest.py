"""The native tfprof that the checkers are held against."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.oracle.native import NativeTfprof


@pytest.fixture(scope="module")
def native() -> Iterator[NativeTfprof]:
    with NativeTfprof() as started:
        yield started
