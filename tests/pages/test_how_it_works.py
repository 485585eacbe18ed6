"""The way that docs/how-it-works.md tells is the one that a real session run and a real Keras step take."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfprof_widget
from tests.pages.markdown import ROOT
from tfprof_widget.api.result import Capture
from tfprof_widget.capturing import trace_store, windows

PAGE = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
STATION = r"`((?:tfprof_widget|js)/[\w/]+\.\w+)` \(`([\w.]+)`\) \w+s .*\.$"
NUMBERED = re.findall(rf"^\d+\. {STATION}", PAGE, re.MULTILINE)
OF_KERAS = re.findall(rf"^- {STATION}", PAGE, re.MULTILINE)
MOST_LINES = 25
PACKAGE = Path(tfprof_widget.__file__).parent

# What a session run enters too, and no line tells of. Whoever adds a module to the way puts it on the page or here.
ASIDE = {
    "lib": "serves every room",
    "profiles": "defines the tables",
    "ingest/parts": "defines what readers give",
    "engine": "computes the head line and the evidence of the advice",
    "analysis": "computes the advice, of which `shown` tells",
    "output": "writes shapes and numbers as text",
    "capturing/function_hooks": "tells that a session runs, to functions",
    "capturing/function_source": "finds that no function ran",
    "capturing/windows": "finds that no window is open",
    "capturing/called_functions": "keeps no function and no pipeline, for none was called",
    "capturing/servers": "finds no servers of a coordinator",
    "capturing/kept_code": "keeps the code that stacks are made of",
    "capturing/cell_log": "notes when runs began and ended",
    "capturing/models": "finds that no model ran",
    "capturing/python_sampler": "looks at Python between runs",
    "capturing/time_hooks": "hooks what takes time beside runs",
    "capturing/recording": "defines what a capture gets",
    "capturing/tallies": "counts and times runs for `sampling`",
    "capturing/sampling_notes": "notes what was not traced, and what that means",
    "ingest/live/captures": "does the reading for `stacks`",
    "ingest/live/functions": "finds that no function ran",
    "ingest/xspace/events": "finds no trace of a function",
    "ingest/xspace/resolve": "finds no trace of a function",
    "ingest/xspace/threads": "names threads by what they do",
    "ingest/flops/alike": "finds executions that `counting` may count together",
    "ingest/flops/fused": "names kernels by the ops that they are made of",
    "ingest/flops/moved": "counts the bytes that ops move, for the roofline",
    "ingest/flops/node_reader": "reads for `counting`",
    "ingest/flops/operation": "describes ops for `counting`",
    "ingest/flops/products": "counts for `counting`",
    "ingest/flops/registry": "finds formulas for `counting`",
    "widget/replay_columns": "chooses for `wire` what the browser replays steps by",
    "api/captured": "makes the profiles for `result`",
    "api/history": "keeps what a comparison needs, and finds that no earlier run is kept",
    "capturing/surroundings": "notes what a time depends on",
    "api/profile": "gives the profile its methods",
    "api/view": "gives views theirs",
    "charts/moments": "puts times by one clock for `wire`",
    "widget/history": "finds that there is no history to show",
    "widget/cut_tables": "does the cutting for `cut`",
}


class Followed:
    """The functions of the package that were called, in the order of their first calls.

    What counts is a call of a function that a module defines, in the thread that opened the capture, from the moment
    the user's own run begins. A module that is only imported was not entered; a method's inner function counts as the
    method, and making an object as its class.
    """

    def __init__(self) -> None:
        self.functions: dict[tuple[str, str], None] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and "tfprof_widget" in frame.f_code.co_filename:
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(PACKAGE) and frame.f_code.co_name != "<module>":
                name = frame.f_code.co_qualname.partition(".<locals>")[0].removesuffix(".__init__")
                self.functions.setdefault((path.relative_to(PACKAGE.parent).as_posix(), name))

    @contextmanager
    def to_the_end_of(self, opened: Any) -> Iterator[Capture]:
        """A capture, followed from within its block until the widget is made."""
        before = sys.getprofile()
        try:
            with opened as capture:
                sys.setprofile(self)
                yield capture
            capture.widget()
        finally:
            sys.setprofile(before)

    def order(self, stations: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Those of some functions that were called, in the order of their first calls."""
        return [each for each in self.functions if each in stations]

    def unexplained(self, stations: list[tuple[str, str]]) -> list[str]:
        """The modules entered of which neither a station nor ASIDE tells."""
        told = {path.removeprefix("tfprof_widget/").removesuffix(".py") for path, _ in stations}
        entered = {path.removeprefix("tfprof_widget/").removesuffix(".py") for path, _ in self.functions}
        return sorted(
            module for module in entered - told if not any(f"{module}/".startswith(f"{each}/") for each in ASIDE)
        )


@pytest.fixture(autouse=True)
def no_clock_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace may be read sooner where that costs little, and a window that has been open for long is closed."""
    monkeypatch.setattr(trace_store, "READING_SHARE", 0.0)
    for limit in ("MOST_SECONDS", "FULL_SECONDS", "EAGER_SECONDS"):
        monkeypatch.setattr(windows, limit, 1000.0)


def run_session(followed: Followed) -> None:
    tf1 = tf.compat.v1
    with tf.Graph().as_default(), tf1.Session() as session:
        batch = tf1.placeholder(tf.float32, [None, 16])
        product = batch @ tf.ones([16, 16])
        with followed.to_the_end_of(tfprof_widget.capture()):
            session.run(product, {batch: np.ones([8, 16])})


def run_keras(followed: Followed) -> None:
    model = keras.Sequential([keras.Input([8]), keras.layers.Dense(4)])
    model.compile("sgd", "mse")
    with followed.to_the_end_of(tfprof_widget.capture()):
        model.fit(np.ones([64, 8]), np.zeros([64, 4]), epochs=2, verbose=0)


def follow(program: Callable[[Followed], None]) -> Followed:
    program(Followed())  # what a first time imports and makes once is no part of the way
    program(followed := Followed())
    return followed


def test_a_session_run_takes_the_way_of_the_page() -> None:
    followed, stations = follow(run_session), [each for each in NUMBERED if each[0].endswith(".py")]
    assert followed.order(stations) == stations
    assert followed.unexplained(stations) == []


def test_a_keras_step_takes_the_other_way() -> None:
    assert follow(run_keras).order(OF_KERAS) == OF_KERAS


def test_the_way_is_short_and_a_module_has_one_line() -> None:
    assert len(NUMBERED) == len(re.findall(r"^\d+\. ", PAGE, re.MULTILINE)) <= MOST_LINES
    paths = [path for path, _ in NUMBERED + OF_KERAS]
    assert len(set(paths)) == len(paths)


def test_the_browsers_part_ends_it_with_functions_that_are_there() -> None:
    written = [path.startswith("js/") for path, _ in NUMBERED]
    assert written == sorted(written)
    for path, name in NUMBERED:
        if path.startswith("js/"):
            declared = rf"^export (?:function|class) {name}\b"
            assert re.search(declared, (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), f"{path}: {name}"
