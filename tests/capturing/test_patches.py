"""Patches come off in any order, and leave the very function that was there."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from itertools import permutations
from typing import Any

import pytest

from tfprof_widget.capturing.hooks import Patch


class Session:
    def run(self) -> str:
        """Run."""
        return "run"


@pytest.fixture
def original() -> Any:
    return vars(Session)["run"]


def marked(mark: str) -> Callable[[Any], Callable[..., str]]:
    return lambda original: lambda session: f"{mark} {original(session)}"


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_patches_come_off_in_any_order(original: Any, order: tuple[int, ...]) -> None:
    patches = [Patch(Session, "run", marked(mark)) for mark in "abc"]
    assert Session().run() == "c b a run"
    for number in order[:-1]:
        patches[number].undo()
        assert vars(Session)["run"] is not original
    patches[order[-1]].undo()
    assert vars(Session)["run"] is original


def test_undoing_twice_is_undoing_once(original: Any) -> None:
    outer, inner = (Patch(Session, "run", marked(mark)) for mark in "ab")
    inner.undo()
    inner.undo()
    assert Session().run() == "a run"
    outer.undo()
    assert vars(Session)["run"] is original


def test_wrapper_of_another_package_is_left(original: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It carries our mark, for it took over all attributes."""
    patch = Patch(Session, "run", marked("ours"))

    @wraps(vars(Session)["run"])
    def theirs(session: Session) -> str:
        return f"theirs {patch.replaced(session)}"

    monkeypatch.setattr(Session, "run", theirs)
    patch.undo()
    assert vars(Session)["run"] is theirs
    monkeypatch.undo()
    patch.undo()
    assert vars(Session)["run"] is original


def test_missing_function_is_an_error() -> None:
    with pytest.raises(KeyError, match="walk"):
        Patch(Session, "walk", marked("a"))
