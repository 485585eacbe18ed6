"""Times views with changed options: never the same options twice, so that nothing is found ready-made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

from tests.bench import native
from tests.bench.finding import Finding, of_medians
from tests.bench.recordings import recording
from tfprof_widget.options import ORDERS, TIMINGS, VIEWS
from tfprof_widget.profiles import Profile

LEAST_RATIO = {"scope": 30, "graph": 60, "op": 60, "code": 30}
ROUNDS = 5
NODES_A_ROUND = 20_000

Options = dict[str, Any]

# The options of `ProfileOptionBuilder.time_and_memory()`.
TIME_AND_MEMORY: Options = {
    "min_micros": 1,
    "min_bytes": 1,
    "order_by": "micros",
    "select": ["micros", "bytes", "peak_bytes", "residual_bytes", "output_bytes"],
}
CHANGES: dict[str, Callable[[int], Options]] = {
    "other thresholds": lambda number: {"min_micros": 1 + number, "min_bytes": number % 7, "max_depth": 90 - number % 80},
    "other order": lambda number: {"order_by": ORDERS[number % len(ORDERS)], "min_bytes": number},
    "all rows, other order": lambda number: {
        "order_by": ORDERS[number % len(ORDERS)],
        "min_micros": 0,
        "min_bytes": 0,
        "max_depth": 1000 + number,
    },
    "other regexes": lambda number: {
        "hide_name_regexes": [f".*/[a-z]*_{number}/.*", "_SOURCE"],
        "show_name_regexes": [f".*[a-z{number}]"],
    },
}


def findings(nodes: int) -> list[Finding]:
    """The findings on all views; to be called in a process of its own, which native is loaded into."""
    recorded = recording(nodes)
    native.read(recorded)
    profile = Profile.from_protos(recorded.graph, recorded.run_meta, recorded.op_log)
    return [finding for view in VIEWS for finding in _of_view(view, nodes, profile)]


def _of_view(view: str, nodes: int, profile: Profile) -> Iterator[Finding]:
    native.view(view, native.serialized(TIME_AND_MEMORY))
    for timing in TIMINGS:
        profile.view(view, timing=timing)
    for change, changed in CHANGES.items():
        measured = _measure(view, nodes, profile, changed)
        for timing in TIMINGS:
            what = f"{view} view, {change}, timing={timing}"
            yield of_medians(what, nodes, measured["native"], measured[timing], LEAST_RATIO[view])


def _measure(view: str, nodes: int, profile: Profile, changed: Callable[[int], Options]) -> dict[str, list[float]]:
    """Seconds of each view; several rounds, in each of which everyone has his turn."""
    turns = max(1, NODES_A_ROUND // nodes)
    seconds: dict[str, list[float]] = {"native": [], **{timing: [] for timing in TIMINGS}}
    for first in range(0, ROUNDS * turns, turns):
        chosen = [TIME_AND_MEMORY | changed(number) for number in range(first, first + turns)]
        for options in [native.serialized(each) for each in chosen]:
            seconds["native"].append(_seconds(lambda options=options: native.view(view, options)))
        for shift, timing in enumerate(TIMINGS, start=1):
            # Other regexes for each timing: their matches are kept.
            for number in range(first, first + turns):
                options = TIME_AND_MEMORY | changed(number + shift * ROUNDS * turns) | {"timing": timing}
                seconds[timing].append(_seconds(lambda options=options: len(profile.view(view, **options))))
    return seconds


def _seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start
