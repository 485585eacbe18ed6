"""Ctrl-C at every line of a capture, one after the other: the interrupt comes through, and no hook is left."""

from __future__ import annotations

import linecache
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tests.capturing.models import THREE, Model
from tests.slow.faults.hooks import hooks
from tests.slow.share import share
from tfprof_widget.api import capture

PACKAGE = Path(tfprof.__file__).parent
CAPTURING = tuple(str(PACKAGE / each) for each in ("capturing", "api", "profile_context.py"))
NEVER = range(10**6, 10**6 + 1)  # no run is traced, so that TensorFlow's profiler is not waited for at each line
EVERY = share(1, 60)


class Interrupting:
    """Presses Ctrl-C at one line of the package's capturing, and counts the lines until then."""

    def __init__(self, at: int) -> None:
        self.at, self.lines, self.place = at, 0, ""

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(CAPTURING):
            return None
        if event in ("line", "call") and not _is_out_of_reach(frame):
            self.lines += 1
            if self.lines == self.at:
                self.place = f"{Path(frame.f_code.co_filename).name}, line {frame.f_lineno}"
                signal.raise_signal(signal.SIGINT)
        return self


def _is_out_of_reach(frame: FrameType) -> bool:
    """Whether this is the end of a `with`, right before which Python lets no signal through, or may be a destructor."""
    if frame.f_code.co_name == "<genexpr>":  # which ends when it is thrown away, and Python ignores what that raises
        return True
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with ")


def interrupted(work: Callable[[], Any], at: int) -> tuple[KeyboardInterrupt | None, Interrupting]:
    """The interrupt if it came out of the work, and what pressed.

    Its traceback keeps all that was at work alive, as IPython's `sys.last_value` does.
    """
    interrupting, before = Interrupting(at), sys.gettrace()
    sys.settrace(interrupting)
    try:
        work()
    except KeyboardInterrupt as error:
        return error, interrupting
    finally:
        sys.settrace(before)
    return None, interrupting


@pytest.mark.parametrize("kind", ["untraced", "traced", "context"])
def test_an_interrupt_at_any_line_comes_through_and_leaves_no_hook(model: Model, kind: str, tmp_path: Path) -> None:
    session, square = model.session(), tf.function(tf.square)

    def untraced() -> None:
        with tfprof.capture(steps=NEVER):
            session.run(model.count)
            square(tf.constant(1.0))

    def traced() -> None:
        with tfprof.capture(trace_all=True):
            session.run(model.loss, {model.x: THREE})

    def in_context() -> None:
        with tfprof.ProfileContext(tmp_path, trace_steps=[0], dump_steps=[0]):
            session.run(model.loss, {model.x: THREE})

    work = {"untraced": untraced, "traced": traced, "context": in_context}[kind]
    work()  # TensorFlow traces the function
    before = hooks()
    raised, counting = interrupted(work, -1)
    assert not raised
    assert counting.lines > 50
    for at in range(1, counting.lines + 1, EVERY if kind == "untraced" else 3 * EVERY):
        raised, pressed = interrupted(work, at)
        assert raised or not pressed.place, f"the interrupt at {pressed.place} was lost"
        assert hooks() == before, f"hooks are left by an interrupt at {pressed.place}"
    assert {path.name for path in tmp_path.iterdir()} <= {"profile_0"}
    with tfprof.capture(trace_all=True) as prof:
        assert session.run(model.loss, {model.x: THREE}) == 3.0
    assert prof.measurement.runs_traced == 1


def test_an_interrupt_while_it_is_read_is_told_of(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    session = model.session()
    monkeypatch.setattr(capture, "joined", interrupt)
    with pytest.raises(KeyboardInterrupt), tfprof.capture() as prof:
        session.run(model.count)
    assert prof.text() == "Nothing was captured: the whole recording was lost, since reading it was interrupted."
    assert tfprof.last() is prof
