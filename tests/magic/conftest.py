"""A capture that tells what became of it, and a shell whose magic uses it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

from tests.magic.shells import new_shell
from tests.notebooks.stand_in import CONTEXT, StandIn, stand_in_module


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    monkeypatch.setitem(sys.modules, CONTEXT, stand_in_module(stand_in))
    return stand_in


@pytest.fixture
def shell(stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    with new_shell() as shell:
        yield shell
