"""Loads profiles of many steps, from a thousand nodes to a million, and views them: what that takes by their size."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench import children, repeated
from tests.bench.finding import Finding
from tests.bench.gauges import cost, processor_seconds
from tests.bench.target import AtMost, TimesMore
from tfprof_widget.api.profile import Profile
from tfprof_widget.profiles.options import ORDERS

SIZES = "1000,10000,100000,1000000"
STEPS = 50
ROUNDS = 3
MOST_MEMORY = 4.0
MOST_SECONDS = 0.2
# Only what loads quickly is loaded several times.
MOST_LOADING_SECONDS = 20.0
# Large tables do not fit the processor's caches, which is no matter of how the work grows.
LINEAR = 1.25
# Where the clock's grain and the first call of anything say more than the size.
NEGLIGIBLE_SECONDS = 0.02

VIEWS = ("scope", "graph", "op")
Options = dict[str, Any]
CHANGES: dict[str, Callable[[int], Options]] = {
    "threshold": lambda turn: {"min_micros": 1 + turn},
    "depth": lambda turn: {"max_depth": 3 + turn},
    "order": lambda turn: {"order_by": ORDERS[1 + turn]},
    "step": lambda turn: {"step": turn},
    "literal regex": lambda turn: {"hide_name_regexes": [f".*/clip_by_value_{turn}.*"]},
    "regex": lambda turn: {"show_name_regexes": [f".*copy_[0-9]*{turn}/[a-z].*"]},
    "types": lambda turn: {"account_type_regexes": [f"MatMul|Mul|Add.*|Sub|{turn}"]},
}


@dataclass(frozen=True)
class Scale:
    """What a profile of so many nodes and steps takes: seconds, and bytes; views with one changed option by change."""

    nodes: int
    steps: int
    executions: int
    load_seconds: float
    first_view_seconds: float
    changed_view_seconds: dict[str, float]
    column_bytes: int
    peak_bytes: int

    @property
    def slowest_change(self) -> str:
        """The change of an option after which a view takes longest."""
        return max(self.changed_view_seconds, key=self.changed_view_seconds.__getitem__)


def measured(sizes: Sequence[int], steps: int) -> list[Scale]:
    """What each size takes, in a process of its own."""
    found = []
    for nodes in sizes:
        print(f"scaling, {nodes:,} nodes, {steps} steps …", file=sys.stderr)
        with tempfile.TemporaryDirectory() as directory:
            children.call(repeated.write, Path(directory), nodes, steps)
            found.append(children.call(_measured, Path(directory), steps))
    return found


def findings(scales: Sequence[Scale]) -> Iterator[Finding]:
    """Whether time grows no faster than the size, and memory and views are within their bounds."""
    first = scales[0]
    for scale in scales:
        times = scale.nodes / first.nodes
        if times > 1:
            linear = TimesMore(LINEAR, NEGLIGIBLE_SECONDS)
            what = f"of {scale.steps} steps, beside as many times those of {first.nodes:,} nodes"
            yield Finding(f"load {what}", scale.nodes, "s", first.load_seconds * times, scale.load_seconds, linear)
            views = (first.first_view_seconds * times, scale.first_view_seconds)
            yield Finding(f"first scope view {what}", scale.nodes, "s", *views, linear)
        for change, taken in scale.changed_view_seconds.items():
            yield Finding(f"slowest view, other {change}", scale.nodes, "s", taken, taken, AtMost(MOST_SECONDS))
    largest = scales[-1]
    memory = (largest.column_bytes, largest.peak_bytes)
    yield Finding("peak memory while loading, beside columns", largest.nodes, "B", *memory, TimesMore(MOST_MEMORY))


def column_bytes(profile: Profile) -> int:
    """The bytes of the columns and names of a profile; what several columns share counts once."""
    counted: dict[int, int] = {}
    for column in fields(Profile):
        if column.name not in ("graphs", "memory"):
            _count(getattr(profile, column.name), counted)
    return sum(counted.values())


def _count(value: Any, counted: dict[int, int]) -> None:
    if isinstance(value, np.ndarray):
        while isinstance(value.base, np.ndarray):
            value = value.base
        counted[id(value)] = value.nbytes
    elif is_dataclass(value):
        for column in fields(value):
            _count(getattr(value, column.name), counted)
    elif isinstance(value, tuple):
        counted[id(value)] = sys.getsizeof(value)
        for each in value:
            if isinstance(each, str):
                counted[id(each)] = sys.getsizeof(each)


def _measured(directory: Path, steps: int) -> Scale:
    from tfprof_widget.api.profile import load

    loaded: list[Profile] = []
    load_seconds: list[float] = []

    def work() -> None:
        load_seconds.append(processor_seconds(lambda: loaded.append(load(directory))))

    taken = cost(work)
    profile = loaded.pop()
    while len(load_seconds) < ROUNDS and sum(load_seconds) < MOST_LOADING_SECONDS:
        work()
        loaded.clear()
    first = processor_seconds(profile.view, "scope")
    for view in VIEWS:
        profile.view(view)
    return Scale(
        nodes=len(profile.nodes),
        steps=steps,
        executions=len(profile.executions),
        load_seconds=statistics.median(load_seconds),
        first_view_seconds=first,
        changed_view_seconds={change: _slowest(profile, changed) for change, changed in CHANGES.items()},
        column_bytes=column_bytes(profile),
        peak_bytes=taken.grown,
    )


def _slowest(profile: Profile, changed: Callable[[int], Options]) -> float:
    """The slowest view after a change, by its median: never the same options twice."""
    turns = [changed(turn) for turn in range(min(ROUNDS, len(profile.steps)))]
    return max(
        statistics.median(processor_seconds(profile.view, view, **options) for options in turns) for view in VIEWS
    )
