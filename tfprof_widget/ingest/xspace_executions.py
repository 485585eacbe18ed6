"""Finds the executions among the events of a thread: each with its own time, without what ran inside of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tfprof_widget.ingest.xspace_events import Event, Kind, Thread

_EXECUTED: frozenset[Kind] = frozenset({"op", "async op", "iterator", "eager run"})


@dataclass
class Execution:
    """One execution: what ran, and what was allocated meanwhile; `own` is its time without what ran inside.

    `input_shapes` are as TensorFlow writes them, such as `(float[2,3];int32[])`, where it told.
    """

    kind: Kind
    name: str
    op: str
    thread: Thread
    start: int
    end: int
    own: int
    input_shapes: str = ""
    memory: list[Event] = field(default_factory=list)


@dataclass
class _Open:
    """An event that has not ended yet; an eager op has no execution of its own, what runs in it is it."""

    event: Event
    execution: Execution | None


def executions(thread: Thread) -> Iterator[Execution]:
    """The executions of a thread by start; what an eager op runs of that thread's ops belongs to it.

    >>> inner = Event("op", "a/b", "Mul", 12, 3, {})
    >>> outer = Event("op", "a", "While", 10, 10, {})
    >>> [(each.name, each.own) for each in executions(Thread(0, "worker", [outer, inner]))]
    [('a', 7), ('a/b', 3)]
    """
    found: list[Execution] = []
    opened: list[_Open] = []
    for event in thread.events:
        while opened and opened[-1].event.end <= event.start and not _is_moment_within(event, opened[-1].event):
            opened.pop()
        around = next((each.execution for each in reversed(opened) if each.execution is not None), None)
        if event.kind in ("allocation", "release"):
            if around is not None:
                around.memory.append(event)
            continue
        execution = _execution(event, thread, opened, around)
        opened.append(_Open(event, execution))
        if execution is not None:
            found.append(execution)
            if around is not None:
                around.own -= min(execution.end, around.end) - execution.start
    return iter(found)


def _is_moment_within(event: Event, outer: Event) -> bool:
    """Whether an event without duration lies at the very end of another."""
    return not event.duration and event.start == outer.end and event.kind in ("allocation", "release")


def _execution(event: Event, thread: Thread, opened: Sequence[_Open], around: Execution | None) -> Execution | None:
    if event.kind not in _EXECUTED:
        return None
    name, op = event.name, event.op
    if event.kind == "eager run":
        eager = next((each.event for each in reversed(opened) if each.event.kind == "eager op"), None)
        if eager is None or eager.is_call or (around is not None and around.kind == "eager run"):
            return None
        name, op = eager.name, eager.op
    elif event.kind == "op" and around is not None and around.kind == "eager run":
        return None
    elif event.kind == "async op" and around is not None and (around.name, around.op) == (name, op):
        return None  # the start of the very op around it, which all have that are recorded in full
    return Execution(
        event.kind, name, op, thread, event.start, event.end, event.duration, str(event.stats.get("shape", ""))
    )
