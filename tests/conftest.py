"""What the tests of all folders share: one running native tfprof to compare with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.oracle.native import NativeTfprof


@pytest.fixture(scope="session")
def native() -> Iterator[NativeTfprof]:
    with NativeTfprof() as started:
        yield started
