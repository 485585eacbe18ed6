"""Times views with changed options: never the same options twice, so that nothing is found ready-made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.bench import children, native
from tests.bench.finding import Finding, of_medians
from tests.bench.gauges import seconds
from tests.bench.recordings import recording
from tfprof_widget.options import ORDERS, TIMINGS, VIEWS
from tfprof_widget.profiles import Profile

LEAST_RATIO = {"scope": 30, "graph": 60, "op": 60, "code": 30}
ROUNDS = 5
NODES_A_ROUND, MOST_TURNS = 20_000, 20

Options = dict[str, Any]

# The options of `ProfileOptionBuilder.time_and_memory()`.
TIME_AND_MEMORY: Options = {
    "min_micros": 1,
    "min_bytes": 1,
    "order_by": "micros",
    "select": ["micros", "bytes", "peak_bytes", "residual_bytes", "output_bytes"],
}


def _thresholds(number: int, _: str) -> Options:
    return {"min_micros": 1 + number, "min_bytes": number % 7, "max_depth": 90 - number % 80}


def _order(number: int, _: str) -> Options:
    return {"order_by": ORDERS[number % len(ORDERS)], "min_bytes": number}


def _all_rows(number: int, _: str) -> Options:
    return {"order_by": ORDERS[number % len(ORDERS)], "min_micros": 0, "min_bytes": 0, "max_depth": 1000 + number}


def _regexes(number: int, who: str) -> Options:
    """The matches of a regex are kept, so each who asks has his own."""
    return {"hide_name_regexes": [f".*/[a-z]*_{number}/({who})?.*"], "show_name_regexes": [f".*([a-z0-9]|{who})"]}


CHANGES: dict[str, Callable[[int, str], Options]] = {
    "other thresholds": _thresholds,
    "other order": _order,
    "all rows, other order": _all_rows,
    "other regexes": _regexes,
}


def findings(nodes: int) -> list[Finding]:
    """The findings on all views; to be called in a process of its own."""
    recorded = recording(nodes)
    profile = Profile.from_protos(recorded.graph, recorded.run_meta, recorded.op_log)
    with children.Child() as child:
        child.call(native.read, nodes)
        return [finding for view in VIEWS for finding in _of_view(view, nodes, profile, child)]


def _of_view(view: str, nodes: int, profile: Profile, child: children.Child) -> Iterator[Finding]:
    child.call(native.view, view, [TIME_AND_MEMORY])
    for timing in TIMINGS:
        profile.view(view, timing=timing)
    for change, changed in CHANGES.items():
        taken: dict[str, list[float]] = {"native": [], **{timing: [] for timing in TIMINGS}}
        for turns in _rounds(nodes):
            for who, seconds_taken in taken.items():
                options = [TIME_AND_MEMORY | changed(turn, who) for turn in turns]
                if who == "native":
                    seconds_taken.extend(child.call(native.view, view, options))
                else:
                    seconds_taken.extend(_show(profile, view, [each | {"timing": who} for each in options]))
        for timing in TIMINGS:
            what = f"{view} view, {change}, timing={timing}"
            yield of_medians(what, nodes, taken["native"], taken[timing], LEAST_RATIO[view])


def _rounds(nodes: int) -> list[range]:
    """Several rounds, in each of which everyone has his turns, which are more for small graphs."""
    turns = min(max(1, NODES_A_ROUND // nodes), MOST_TURNS)
    return [range(first, first + turns) for first in range(0, ROUNDS * turns, turns)]


def _show(profile: Profile, view: str, options: list[Options]) -> list[float]:
    return [seconds(profile.view, view, **each) for each in options]
