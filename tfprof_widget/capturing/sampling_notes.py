"""Says what sampling left out, slowed, or recorded in part."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from tfprof_widget.capturing.recording import KindOfRun
from tfprof_widget.capturing.sampling import Adaptive, Policy
from tfprof_widget.lib.text import written_percent, written_seconds
from tfprof_widget.profiles.data import FIRST

UNNOTICED_SECONDS = 0.1
"""Tracing may cost more than asked for without a note, as long as it costs less than this."""


def note_on_cost(policy: Policy, overhead: float, untraced_seconds: float) -> str | None:
    """A note that tracing cost noticeably more than the user asked for; None if it did not.

    >>> note_on_cost(Adaptive(0.1), 9.0, 9.0), note_on_cost(Adaptive(0.1, allowance=0.0), 0.9, 9.0)
    (None, None)
    """
    if not isinstance(policy, Adaptive) or policy.allowance or overhead < UNNOTICED_SECONDS:
        return None
    if overhead <= policy.overhead * untraced_seconds:
        return None
    return (
        f"tracing cost {written_seconds(overhead)}, more than the {written_percent(policy.overhead)} asked for: "
        "two steps of the costliest kind are always recorded; in a longer cell their share is smaller"
    )


UNTOLD = 0.2
"""So large a share of the cell is not left out without a word."""


def notes_on_untraced(kinds: Iterable[KindOfRun], wall_seconds: float, of_cell: Collection[str] = ()) -> Iterator[str]:
    """Names the kinds of runs that took much of the cell and of which nothing or only the first run was recorded.

    If kinds `of_cell` are named, the others only waited in threads of their own, as those of queue runners do.

    >>> traced = KindOfRun("g", 1, 1, 0.0, 0.0, 0.1)
    >>> list(notes_on_untraced([KindOfRun("f", 1, 0, 0.0, 0.0, 0.9), traced], wall_seconds=1.0))
    ['f took 90 % of the cell, and no run of it was recorded: to record it, trace all runs (--all, or trace_all=True)']
    """
    kinds = tuple(kinds)
    if not any(runs.traced for runs in kinds):
        return  # then a note says why there are none
    for runs in kinds:
        if not runs.seen or not runs.seconds > UNTOLD * wall_seconds > 0 or (of_cell and runs.name not in of_cell):
            continue
        share = written_percent(min(runs.seconds / wall_seconds, 1.0), 0)
        if not runs.traced:
            yield (
                f"{runs.name} took {share} of the cell, and no run of it was recorded: "
                "to record it, trace all runs (--all, or trace_all=True)"
            )
        elif runs.has_only_first:
            yield (
                f"{runs.name} took {share} of the cell, and of its {runs.seen:,} runs only the first was recorded, "
                "which also sets up: to record others, trace all runs (--all, or trace_all=True)"
            )


SLOWED = 1.5
"""A note says that tracing slowed the runs if traced runs took at least so many times as long as others."""

SLOWED_OP = 10e-6
"""Tracing adds a few microseconds to an op; what is slower by more than this for each op has another cause."""


def note_on_slow_runs(runs: KindOfRun, executions: float) -> str | None:
    """A note that runs took much longer while they were traced; None if they did not.

    `executions` is how many ops a run executes: if these are few, it was not tracing that slowed the run.

    >>> slowed = KindOfRun("train", 9, 2, 3.0, 2.0, 8.0, untraced=6)
    >>> note_on_slow_runs(slowed, 200_000)
    'traced runs of train took 1 s, others 500 ms: tracing slows small ops, whose times and gaps are too long here'
    >>> note_on_slow_runs(slowed, 20).partition(": ")[2]
    'ops took longer here than in most runs; early runs are slow, and so are runs beside other processes'
    >>> note_on_slow_runs(KindOfRun("train", 9, 2, 3.0, 1.4, 8.0, untraced=6), 200_000)
    """
    traced, others = runs.traced_run_seconds, runs.run_seconds
    if not runs.untraced or not runs.traced_seconds or traced < SLOWED * others:
        return None
    slow, usual = written_seconds(traced), written_seconds(others)
    if traced - others < SLOWED_OP * executions:
        return (
            f"traced runs of {runs.name} took {slow}, others {usual}: "
            "tracing slows small ops, whose times and gaps are too long here"
        )
    return (
        f"traced runs of {runs.name} took {slow}, others {usual}: ops took longer here than in most runs; "
        "early runs are slow, and so are runs beside other processes"
    )


WORTH_TELLING = 0.1
"""The head line tells a first run with the building of its function, which a note tells of if it took this share."""


def note_on_parts(shown: Iterable[tuple[KindOfRun, str]]) -> str | None:
    """A note on the kinds whose steps were recorded in part, and how much of them; None if none were.

    For each kind the name of the steps that stand for it is given.

    >>> from dataclasses import replace
    >>> runs = KindOfRun("f", 1, 1, 0.0, 0.0, 2.0, first_part_seconds=0.1, first_parted_seconds=2.0)
    >>> first = "f (warm-up, in part)"
    >>> note_on_parts([(runs, first), (replace(runs, warm_up_seconds=3.0), first)]).partition(" were")[0]
    'of the first run of f 100 ms of 2 s, of the first run of f 100 ms of the 2 s after its function was built'
    >>> note_on_parts([(runs, "f")])
    """
    found = [told for runs, steps in shown if (told := _told_of_part(runs, steps))]
    if not found:
        return None
    return (
        f"{', '.join(found)} were recorded: loops may run more ops than could be recorded at the allowed cost; "
        "to record runs whole, trace all (--all, or trace_all=True)"
    )


def _told_of_part(runs: KindOfRun, steps: str) -> str:
    part, whole = runs.part_of(steps)
    if not part:
        return ""
    which, of_it = runs.name, written_seconds(whole)
    if steps.endswith(FIRST):
        which = f"the first run of {runs.name}"
        if whole < (1 - WORTH_TELLING) * runs.seconds_of(steps):
            of_it = f"the {of_it} after its function was built"
    return f"of {which} {written_seconds(part)} of {of_it}"
