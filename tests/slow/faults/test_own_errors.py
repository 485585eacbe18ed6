"""An error of the package's own: the user's result and exception are his all the same, and no hook is left."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tests.capturing.models import THREE, Model
from tfprof_widget.api import capture, result
from tfprof_widget.capturing import hooks
from tfprof_widget.capturing.function_hooks import ModelSteps
from tfprof_widget.capturing.function_source import FunctionSource
from tfprof_widget.capturing.models import UsedModels
from tfprof_widget.capturing.session_source import SessionSource
from tfprof_widget.profile_context import GraphProfiles

PLACES = [
    (SessionSource, "recorded"),
    (FunctionSource, "recorded"),
    (FunctionSource, "take_models"),
    (UsedModels, "variables"),
    (ModelSteps, "undo"),
    (capture, "joined"),
    (capture, "_explained"),
    (result, "op_time"),
]
IDS = [name for _, name in PLACES]


def raises_after(run: Callable[[], Any], error: Exception) -> None:
    run()
    raise error


def broken(*_: Any, **__: Any) -> Any:
    raise ZeroDivisionError("broken on purpose")


@pytest.mark.parametrize(("owner", "name"), PLACES, ids=IDS)
def test_the_block_ends_as_it_would_without(
    model: Model, owner: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, square, own = model.session(), tf.function(tf.square), KeyError("the user's own")
    with monkeypatch.context() as breaking:
        breaking.setattr(owner, name, broken)
        with tfprof.capture(trace_all=True) as prof:
            results = session.run(model.loss, {model.x: THREE}), float(square(tf.constant(3.0)))
        assert results == (3.0, 9.0)
        with pytest.raises(KeyError) as caught, tfprof.capture(trace_all=True):
            raises_after(lambda: session.run(model.loss, {model.x: THREE}), own)
    assert caught.value is own
    assert own.__context__ is None
    assert isinstance(prof.text(), str)
    with tfprof.capture(trace_all=True) as prof:
        session.run(model.loss, {model.x: THREE})
    assert prof.measurement.runs_traced == 1


@pytest.mark.parametrize("name", ["add", "dump", "dump_rest"])
def test_the_loop_ends_as_it_would_without(
    model: Model, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, own = model.session(), KeyError("the user's own")
    monkeypatch.setattr(GraphProfiles, name, broken)

    def loop() -> None:
        with tfprof.ProfileContext(tmp_path, trace_steps=[0], dump_steps=[0, 5]):
            assert session.run(model.loss, {model.x: THREE}) == 3.0
            raise own

    with pytest.warns(tfprof.ProfileWarning, match="broken on purpose"), pytest.raises(KeyError) as caught:
        loop()
    assert caught.value is own
    assert list(tmp_path.iterdir()) == [] or name == "dump_rest"


def test_a_function_that_was_taken_away_meanwhile_stays_away(monkeypatch: pytest.MonkeyPatch) -> None:
    class Session:
        def run(self) -> str:
            return "ran"

    run = vars(Session)["run"]
    patch = context_patch(Session)
    del Session.run
    patch.undo()
    assert not hasattr(Session, "run")
    Session.run = run  # type: ignore[method-assign]
    assert Session().run() == "ran"


def context_patch(owner: Any) -> Any:
    from tfprof_widget.capturing.hooks import Patch

    def replace(original: Callable[..., str]) -> Callable[..., str]:
        return lambda session: original(session)

    return Patch(owner, "run", replace)


def test_a_list_of_importers_that_was_replaced_meanwhile_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    others = list(sys.meta_path)
    with hooks.when_imported("no_such_module_yet", lambda _: None):
        waiting: Any = sys.meta_path[0]
        sys.meta_path.remove(waiting)
        monkeypatch.setattr(sys, "meta_path", others)
        assert waiting.find_spec("no_such_module_yet", None) is None
    assert sys.meta_path is others
