"""Says at the end of a loop, in plain sentences, what was asked for and could not be had."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tfprof_widget.profile_context.schedule import WARM_UP_STEPS, Schedule

NO_SESSION = (
    "no session ran in this ProfileContext, so there is nothing in it; "
    "for functions, Keras and eager code use `with tfprof_widget.capture()`"
)
TOO_FEW = (
    f"without trace_steps the first {WARM_UP_STEPS + 1} runs are never traced, and no more of them came; "
    "give trace_steps, as range(10)"
)


def shortcomings(
    schedule: Schedule, untraceable: Iterable[str], shown: Iterable[int], dumps: Iterable[str]
) -> Iterator[str]:
    """What is to be said; `shown` are the steps that views were asked for at, `dumps` the files written at the end.

    >>> list(shortcomings(Schedule([3], [5]), [], [], []))[0]
    'no session ran in this ProfileContext, so there is nothing in it; for functions, Keras ...
    """
    yield from (f"some runs were not traced: {reason}" for reason in untraceable)
    if not schedule.steps:
        yield NO_SESSION
        return
    if schedule.is_automatic and not schedule.traced:
        yield TOO_FEW
    elif schedule.trace_steps and not schedule.traced:
        yield f"{_ended(schedule)} before any step that was to be traced: {_list(schedule.trace_steps)}"
    missed = schedule.missed(schedule.dump_steps)
    if missed and not schedule.dumps_rest:
        written = ", ".join(dumps)
        rest = f"what was traced is in {written}" if written else "nothing was traced that is not in an earlier file"
        yield f"{_ended(schedule)} before the profile was to be dumped at {_list(missed)}; {rest}"
    unshown = schedule.missed(shown)
    if unshown:
        yield f"{_ended(schedule)} before a view was to be shown at {_list(unshown)}"


def _ended(schedule: Schedule) -> str:
    return f"the loop ended with step {schedule.steps - 1},"


def _list(steps: Iterable[int]) -> str:
    """Some steps, the first few by name.

    >>> _list(range(10, 100))
    'steps 10, 11, 12 … and 87 more'
    """
    first = sorted(set(steps))
    word = "step" if len(first) == 1 else "steps"
    more = f" … and {len(first) - 3} more" if len(first) > 4 else ""
    return f"{word} {', '.join(map(str, first[: 3 if more else 4]))}{more}"
