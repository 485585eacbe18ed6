"""Times views with changed options: never the same options twice, so that nothing is found ready-made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.bench import children, native
from tests.bench.finding import Finding, of_medians
from tests.bench.gauges import seconds
from tests.bench.recordings import recording
from tests.bench.target import TimesLess
from tfprof_widget.api.profile import Profile
from tfprof_widget.profiles.options import ORDERS, TIMINGS

TARGETS = {"scope": TimesLess(30), "graph": TimesLess(60), "op": TimesLess(60), "code": TimesLess(30)}
SESSIONS = 5
LARGE = 50_000

Options = dict[str, Any]

# The options of `ProfileOptionBuilder.time_and_memory()`.
TIME_AND_MEMORY: Options = {
    "min_micros": 1,
    "min_bytes": 1,
    "order_by": "micros",
    "select": ["micros", "bytes", "peak_bytes", "residual_bytes", "output_bytes"],
}
ALL_ROWS: Options = {"min_micros": 0, "min_bytes": 0}

# What is changed at each turn.
CHANGES: dict[str, Callable[[int], Options]] = {
    "other thresholds": lambda turn: {"min_micros": 1 + turn, "min_bytes": turn % 7, "max_depth": 90 - turn},
    "other order": lambda turn: {"order_by": ORDERS[turn], "min_bytes": turn},
    "other order, all rows": lambda turn: {"order_by": ORDERS[turn], **ALL_ROWS},
    "other depth, all rows": lambda turn: {**ALL_ROWS, "max_depth": 5 + turn},
    "other literal regex": lambda turn: {"hide_name_regexes": [f".*tower_{turn}/.*"]},
    "other regex": lambda turn: {"show_name_regexes": [f".*tower_[0-9]*{turn}/[a-z].*"]},
}


def findings(nodes: int) -> list[Finding]:
    """The findings on all views; to be called in a process of its own."""
    recorded = recording(nodes)
    profile = Profile.from_protos(recorded.graph, recorded.run_meta, recorded.op_log)
    with children.Child() as child:
        child.call(native.read, nodes)
        return [finding for view in TARGETS for finding in _of_view(view, nodes, profile, child)]


def _of_view(view: str, nodes: int, profile: Profile, child: children.Child) -> Iterator[Finding]:
    for change, changed in CHANGES.items():
        taken: dict[str, list[float]] = {"native": [], **{timing: [] for timing in TIMINGS}}
        for rounds in _sessions(nodes):
            fresh = {timing: _with_trees_only(profile, view, timing) for timing in TIMINGS}
            for turns in rounds:
                options = [TIME_AND_MEMORY | changed(turn) for turn in turns]
                taken["native"] += child.call(native.view, view, options)
                for timing, of_timing in fresh.items():
                    taken[timing] += [seconds(of_timing.view, view, timing=timing, **each) for each in options]
        for timing in TIMINGS:
            what = f"{view} view, {change}, timing={timing}"
            yield of_medians(what, nodes, taken["native"], taken[timing], TARGETS[view])


def _sessions(nodes: int) -> list[list[range]]:
    """Sessions of rounds of turns. No turn comes twice in a session; in a round everyone has his turns, one by one."""
    if nodes >= LARGE:
        return [[range(turn, turn + 1) for turn in range(SESSIONS)]]
    return [[range(len(ORDERS))]] * SESSIONS


def _with_trees_only(profile: Profile, view: str, timing: str) -> Profile:
    """The profile as it is before anything but one plain view was asked of it."""
    fresh = replace(profile)
    fresh.view(view, timing=timing)
    return fresh
