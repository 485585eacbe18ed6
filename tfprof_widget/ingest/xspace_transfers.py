"""Reads from an XSpace what devices of a process sent each other, and in which collectives it took part.

A receive is recorded from when it was asked for until the tensor was there, without a size and without the other end.
That end is in the send, whose name has the number before: `x/_6` sends what `x/_7` receives. A collective names its
group, but no device.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tfprof_widget.ingest.transfers import Transfer
from tfprof_widget.ingest.xspace_columns import Exchange
from tfprof_widget.ingest.xspace_events import HOST_PLANE, PICOS_A_NANO, absolute_nanos, profile_started, read_stats
from tfprof_widget.ingest.xspace_names import ExecutedNames, executed_key
from tfprof_widget.ingest.xspace_runs import HOST

if TYPE_CHECKING:
    from tfprof_widget.messages import XEvent, XPlane, XSpace

_ASKED, _CAME = "ExecutorState::ProcessAsync::Start", "ExecutorState::ProcessAsync::Done"
_COLLECTIVE = re.compile(r"Collective\w+|Nccl\w+", re.ASCII)
_SEND = re.compile(r"(?P<name>[^:]{1,4096})/_(?P<number>\d{1,9}):_(?:Host)?Send", re.ASCII)
_RECEIVES = frozenset({"_Recv", "_HostRecv"})
_KEY_PARTS = 5


class _End(NamedTuple):
    """When an op that waits began or ended, in which run of an executor."""

    kind: str
    name: str
    run: int
    at: int


def read_exchanges(space: XSpace, profiling_started: int = 0) -> Iterator[Exchange]:
    """The receives and collectives in an XSpace, as far as both their ends were recorded.

    >>> from tfprof_widget.messages import XSpace
    >>> list(read_exchanges(XSpace()))
    []
    """
    origin = profile_started(space, profiling_started)
    for plane in space.planes:
        if not plane.name.startswith(HOST_PLANE):
            continue
        names = {key: each.name for key, each in plane.event_metadata.items()}
        sends = dict(_sends(plane, names))
        groups = dict(_groups(plane, names))
        asked: dict[tuple[str, str, int], deque[int]] = {}
        for begun in sorted(_ends(plane, names, _ASKED, origin), key=lambda end: end.at):
            asked.setdefault(begun[:3], deque()).append(begun.at)
        for ended in sorted(_ends(plane, names, _CAME, origin), key=lambda end: end.at):
            begins = asked.get(ended[:3])
            source, target, name = sends.get(ended.name, ("", "", ""))
            if not begins or begins[0] > ended.at or (ended.kind in _RECEIVES and not source):
                continue
            source, name = source or groups.get(ended.name, "collective"), name or ended.name
            yield Exchange(ended.kind, name, source, target, begins.popleft(), ended.at)


def named_transfers(
    exchanges: Sequence[tuple[int, Exchange]],
    names: ExecutedNames,
    sizes: Callable[[Iterable[str]], Mapping[str, int]],
) -> Iterator[tuple[int, Transfer]]:
    """The same by step as a profile has them, with the nodes whose tensors they are and the bytes that are known."""
    nodes = {name: _node(name, names) for name in {each.name for _, each in exchanges}}
    known = sizes(nodes.values()) if nodes else {}
    for step, each in exchanges:
        node = nodes[each.name]
        ends = each.source.lower(), (each.target or HOST).lower()
        transfer = Transfer(each.kind, *ends, node, each.start, each.end - each.start, known.get(node, 0))
        if transfer.is_sound:
            yield step, transfer


def _node(name: str, names: ExecutedNames) -> str:
    key = executed_key(name)
    return names.node("", key) or names.unknown(key)


def _ends(plane: XPlane, names: dict[int, str], which: str, origin: int) -> Iterator[_End]:
    """The beginnings, or the ends, of the ops that wait for others."""
    for event, base in _events(plane, names, origin, lambda name: name == which):
        stats = read_stats(plane, event.stats)
        kind, run = str(stats.get("kernel_type", "")), stats.get("step_id", 0)
        if (kind in _RECEIVES or _COLLECTIVE.fullmatch(kind)) and isinstance(run, int):
            yield _End(kind, str(stats.get("name", "")), run, base + event.offset_ps // PICOS_A_NANO)


def _sends(plane: XPlane, names: dict[int, str]) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """By the name of each receive, the device that it is from, that which it is for, and the op whose tensor it is."""
    for event, _ in _events(plane, names, 0, lambda name: _SEND.fullmatch(name) is not None):
        found = _SEND.fullmatch(names[event.metadata_id])
        stats = read_stats(plane, event.stats)
        parts = str(stats.get("key", "")).split(";")
        if found is not None and len(parts) == _KEY_PARTS:
            received = f"{found['name']}/_{int(found['number']) + 1}"
            yield received, (parts[0], parts[2], str(stats.get("from", found["name"])))


def _groups(plane: XPlane, names: dict[int, str]) -> Iterator[tuple[str, str]]:
    """The group of devices that each collective is of, by its name."""
    for event, _ in _events(plane, names, 0, lambda name: _COLLECTIVE.fullmatch(name.rpartition(":")[2]) is not None):
        group = read_stats(plane, event.stats).get("group_key")
        if isinstance(group, int):
            yield names[event.metadata_id].rpartition(":")[0], f"collective group {group}"


def _events(plane: XPlane, names: dict[int, str], origin: int, wanted: Any) -> Iterator[tuple[XEvent, int]]:
    """The events with a wanted name, each with the time that its own counts from."""
    keys = {key for key, name in names.items() if wanted(name)}
    for line in plane.lines if keys else ():
        base = absolute_nanos(line.timestamp_ns, origin)
        yield from ((event, base) for event in _of(line.events, keys))


def _of(events: Iterable[XEvent], keys: set[int]) -> Iterator[XEvent]:
    return (event for event in events if event.metadata_id in keys)
