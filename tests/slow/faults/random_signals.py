"""Ctrl-C at random moments of captures of all kinds: `python -m tests.slow.faults.random_signals COUNT SEED`.

Prints how often each kind was interrupted, and what was wrong afterwards.
"""

from __future__ import annotations

import faulthandler
import json
import re
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from traceback import extract_stack
from types import FrameType
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from IPython.core.interactiveshell import InteractiveShell

import tfprof_widget as tfprof
from tests.capturing.models import THREE, Model
from tests.slow.faults.hooks import hooks

PACKAGE = str(Path(tfprof.__file__).parent)
SECONDS = 300
"""Whatever takes longer hangs."""

MAGIC = "%%tfprof --all --quiet\n"
RUNS = 3


class Programs:
    """What is captured: each program by its name, in a block, in a ProfileContext, or in a cell under `%%tfprof`."""

    def __init__(self, directory: str) -> None:
        self._model = Model()
        self._session = self._model.session()
        self._square = tf.function(tf.square)
        self._one = tf.constant(1.0)  # once: an interrupt in `tf.constant` can crash TensorFlow 2.21
        self._keras = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3)])
        self._keras.compile(loss="mse")
        self._directory = directory
        self._shell = InteractiveShell.instance()
        self.is_told = False
        setattr(self._shell, "showtraceback", self._tell)  # noqa: B010 - mypy takes no method for a variable
        self._shell.run_line_magic("load_ext", "tfprof_widget")
        self._shell.user_ns["programs"] = self
        self.kinds: dict[str, Callable[[], object]] = {
            "script: session": lambda: self._captured(self.session),
            "script: function": lambda: self._captured(self.function),
            "script: Keras": lambda: self._captured(self.fit),
            "script: eager": lambda: self._captured(self.eager),
            "script: times only": lambda: self._captured(self.function, steps=range(10**6, 10**6 + 1)),
            "script: ProfileContext": self._in_context,
            "cell: session": lambda: self._cell("session"),
            "cell: function": lambda: self._cell("function"),
            "cell: Keras": lambda: self._cell("fit"),
            "cell: eager": lambda: self._cell("eager"),
        }

    def _tell(self, *_: Any, **__: Any) -> None:
        """Note that IPython would print the traceback of an interrupt, also of one in what it calls after a cell."""
        self.is_told |= isinstance(sys.exc_info()[1], KeyboardInterrupt)

    def session(self) -> None:
        """Runs of a session."""
        for _ in range(RUNS):
            self._session.run(self._model.loss, {self._model.x: THREE})

    def function(self) -> None:
        """Calls of a tf.function."""
        for _ in range(RUNS):
            self._square(self._one)

    def fit(self) -> None:
        """Steps of Keras."""
        self._keras.fit(np.ones((8, 4)), np.ones((8, 3)), batch_size=4, verbose=0)

    def eager(self) -> None:
        """Ops one by one."""
        for _ in range(RUNS):
            tf.square(self._one)

    def _captured(self, program: Callable[[], None], **options: Any) -> None:
        with tfprof.capture(**options or {"trace_all": True}):
            program()

    def _in_context(self) -> None:
        with tfprof.ProfileContext(self._directory, trace_steps=[0], dump_steps=[1]):
            self.session()

    def _cell(self, program: str) -> None:
        done = self._shell.run_cell(f"{MAGIC}programs.{program}()")
        error = done.error_before_exec or done.error_in_exec
        if error is not None:
            raise error


@contextmanager
def signalled(delay: float) -> Iterator[list[float]]:
    """Sends SIGINT to the main thread after some seconds, if the block lasts so long; the list tells whether it was."""
    sent: list[float] = []
    ended = threading.Event()

    def send() -> None:
        if not ended.wait(delay):
            sent.append(delay)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield sent
    finally:
        ended.set()
        sender.join()


STACK: list[str] = []
"""Where the last interrupt took effect, to tell of one that was swallowed."""


def interrupt(number: int, frame: FrameType | None) -> None:
    """What Python does at Ctrl-C; notes where that was."""
    STACK[:] = [f"{Path(each.filename).name}:{each.lineno} {each.name}" for each in extract_stack(frame)[-6:]]
    signal.default_int_handler(number, frame)


def main(count: int, seed: int) -> None:
    """Interrupt so many times; the seconds until then are random, up to what the program takes without."""
    ignored: list[str] = []
    sys.unraisablehook = lambda given: ignored.append(_frames(given.exc_value)) if _is_interrupt(given) else None
    random, interrupted, faults = Random(seed), Counter[str](), Counter[str]()
    with TemporaryDirectory() as directory:
        programs = Programs(directory)
        took: dict[str, float] = {}
        for _ in range(2):  # the second time nothing is imported or traced any more
            for kind, run in programs.kinds.items():
                started = time.perf_counter()
                run()
                took[kind] = time.perf_counter() - started
        signal.signal(signal.SIGINT, interrupt)
        before = hooks()
        while sum(interrupted.values()) < count:
            kind = min(took, key=lambda each: interrupted[each])
            ignored.clear()
            STACK.clear()
            programs.is_told = False
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            raised = False
            sent: list[float] = []
            try:
                with signalled(random.uniform(0, 1.1 * took[kind])) as sent:
                    programs.kinds[kind]()
            except KeyboardInterrupt:
                raised = True
            except Exception as error:
                faults[f"{kind}: {type(error).__name__}: {error}"[:300]] += 1
            faulthandler.cancel_dump_traceback_later()
            interrupted[kind] += bool(sent)
            is_of_others = any(PACKAGE not in each for each in ignored) or _is_called_by_bindings()
            if sent and not (raised or programs.is_told or is_of_others):
                faults[f"{kind}: an interrupt was swallowed at {' < '.join(reversed(STACK))}"] += 1
            if hooks() != before:
                faults[f"{kind}: hooks are left"] += 1
                before = hooks()
        for run in programs.kinds.values():
            run()
        if tfprof.last() is None or not tfprof.last().measurement.runs_traced:  # type: ignore[union-attr]
            faults["nothing is traced any more"] += 1
    print(json.dumps({"interrupted": interrupted, "faults": faults}))


def _is_called_by_bindings() -> bool:
    """Whether the interrupt took effect in Python that TensorFlow's C++ called, which ignores what is raised there."""
    return any(re.match(r"(gen_\w+_ops|nest)\.py:", each) for each in STACK[-2:-1])


def _is_interrupt(given: Any) -> bool:
    return isinstance(given.exc_value, KeyboardInterrupt)


def _frames(error: Any) -> str:
    """The files in which an interrupt was raised that Python ignores, as in destructors."""
    files, step = [], error.__traceback__
    while step is not None:
        files.append(step.tb_frame.f_code.co_filename)
        step = step.tb_next
    return "\n".join(files[-1:])


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
