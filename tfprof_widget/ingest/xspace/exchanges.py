"""Finds exchanges between devices: receives, collectives and copies."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfprof_widget.ingest.parts.names import HOST, ExecutedNames, without_body_numbers
from tfprof_widget.ingest.parts.nodes import NodeTable
from tfprof_widget.ingest.parts.transfers import Transfer
from tfprof_widget.ingest.xspace.events import HOST_PLANE
from tfprof_widget.ingest.xspace.kernels import Copy
from tfprof_widget.ingest.xspace.space import ReadPlane, profile_started, read_space
from tfprof_widget.ingest.xspace.wire import NumberCodes
from tfprof_widget.lib.arrays import Integers, numbered
from tfprof_widget.lib.messages import AttrValue, SealedAttribute, SealedGraph

# The bytes of TensorFlow's types by their numbers; strings and resources have none.
_WIDTHS: Mapping[int, int] = {
    **dict.fromkeys((4, 6, 10, 11, 12), 1),  # uint8, int8, bool, qint8, quint8
    **dict.fromkeys((5, 14, 17, 19), 2),  # int16, bfloat16, uint16, half
    **dict.fromkeys((1, 3, 13, 22), 4),  # float, int32, qint32, uint32
    **dict.fromkeys((2, 8, 9, 23), 8),  # double, complex64, int64, uint64
    18: 16,  # complex128
}
_TYPE = ("T", "dtype", "Tout", "DstT", "out_type")


def tensor_sizes(
    names: Iterable[str], columns: NodeTable, shapes: Sequence[tuple[int, ...]], graph: SealedGraph
) -> dict[str, int]:
    """The bytes of the outputs of these nodes, as far as they are known."""
    wanted = frozenset(names)
    widths = {node.name: _width(node.attr) for node in graph.node if node.name in wanted}
    found = {}
    for name, outputs in zip(columns.names, columns.output_shapes, strict=True):
        shape = shapes[outputs[0]] if name in wanted and outputs and outputs[0] >= 0 else ()
        if shape and min(shape) >= 0 and widths.get(name):
            found[name] = math.prod(shape) * widths[name]
    return found


def _width(attributes: Iterable[bytes]) -> int:
    """The bytes of one element, 0 if they are not known."""
    types = {}
    for sealed in attributes:
        entry = SealedAttribute.FromString(sealed)
        if entry.key in _TYPE:
            types[entry.key] = AttrValue.FromString(entry.value).type
    return next((_WIDTHS.get(types[key], 0) for key in _TYPE if key in types), 0)


class Exchange(NamedTuple):
    """A tensor that a device got, or a collective that it took part in; `name` is the executed one."""

    kind: str
    name: str
    source: str
    target: str
    start: int
    end: int


_ASKED, _CAME = "ExecutorState::ProcessAsync::Start", "ExecutorState::ProcessAsync::Done"
_COLLECTIVE = re.compile(r"Collective\w+|Nccl\w+", re.ASCII)
_SEND = re.compile(r"(?P<name>[^:]{1,4096})/_(?P<number>\d{1,9}):_(?:Host)?Send", re.ASCII)
_RECEIVES = frozenset({"_Recv", "_HostRecv"})
_KEY_PARTS = 5


class _End(NamedTuple):
    """When a waiting op began or ended, and in which run of an executor."""

    kind: str
    name: str
    run: int
    at: int


def read_exchanges(xspace: Any, profiling_started: int = 0) -> Iterator[Exchange]:
    """The receives and collectives in an XSpace of which beginning and end were recorded."""
    space = read_space(xspace)
    origin = profile_started(space.message, profiling_started)
    for plane in space.planes:
        if not plane.name.startswith(HOST_PLANE):
            continue
        asked: dict[tuple[str, str, int], deque[int]] = {}
        for begun in sorted(_ends(plane, _ASKED, origin), key=lambda end: end.at):
            asked.setdefault(begun[:3], deque()).append(begun.at)
        if not asked:
            continue
        sends, groups = dict(_sends(plane)), dict(_groups(plane))
        for ended in sorted(_ends(plane, _CAME, origin), key=lambda end: end.at):
            begins = asked.get(ended[:3])
            source, target, name = sends.get(ended.name, ("", "", ""))
            if not begins or begins[0] > ended.at or (ended.kind in _RECEIVES and not source):
                continue
            source, name = source or groups.get(ended.name, "collective"), name or ended.name
            yield Exchange(ended.kind, name, source, target, begins.popleft(), ended.at)


def named_transfers(
    exchanges: Sequence[tuple[int, Exchange | Copy]],
    names: ExecutedNames,
    sizes: Callable[[Iterable[str]], Mapping[str, int]],
) -> Iterator[tuple[int, Transfer]]:
    """The exchanges as a profile has them, by step, with the nodes that made the tensors and the known bytes."""
    nodes = {name: _node(name, names) for name in {each.name for _, each in exchanges}}
    known = sizes(nodes.values()) if nodes else {}
    for step, each in exchanges:
        node = nodes[each.name]
        if isinstance(each, Copy):
            yield step, each.as_transfer(node)
            continue
        ends = each.source.lower(), (each.target or HOST).lower()
        transfer = Transfer(each.kind, *ends, node, each.start, each.end - each.start, known.get(node, 0))
        if transfer.is_sound:
            yield step, transfer


def _node(name: str, names: ExecutedNames) -> str:
    key = without_body_numbers(name)
    return names.node("", key) or names.unknown(key)


def _ends(plane: ReadPlane, which: str, origin: int) -> Iterator[_End]:
    """The beginnings, or the ends, of the ops that wait for other devices."""
    rows = _rows(plane, {key for key, name in plane.names.items() if name == which})
    if not len(rows):
        return
    (kind, kinds), (name, known) = (plane.events.values(stat, rows) for stat in ("kernel_type", "name"))
    waits = [str(each) in _RECEIVES or _COLLECTIVE.fullmatch(str(each)) is not None for each in kinds]
    texts = [*map(str, known), ""]
    kept = np.flatnonzero(np.array([*waits, False], np.bool_)[kind])
    run, start = plane.events.numbers("step_id")[rows], plane.start_nanos(origin)[rows]
    for row in kept.tolist():
        yield _End(str(kinds[kind[row]]), texts[name[row]], int(run[row]), int(start[row]))


def _sends(plane: ReadPlane) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """The source device, the target device and the sending op of each receive, by its name."""
    sends = {key: found for key, name in plane.names.items() if (found := _SEND.fullmatch(name)) is not None}
    rows = _rows(plane, sends.keys())
    (route, routes), (sender, senders) = (plane.events.values(stat, rows) for stat in ("key", "from"))
    metadata = plane.events.metadata[rows]
    for row in np.sort(numbered(metadata, route, sender)[0]).tolist():
        found = sends[int(metadata[row])]
        parts = str(routes[route[row]]).split(";") if route[row] >= 0 else []
        if len(parts) == _KEY_PARTS:
            received = f"{found['name']}/_{int(found['number']) + 1}"
            yield received, (parts[0], parts[2], str(senders[sender[row]]) if sender[row] >= 0 else found["name"])


def _groups(plane: ReadPlane) -> Iterator[tuple[str, str]]:
    """The group of devices of each collective, by its name."""
    keys = {key for key, name in plane.names.items() if _COLLECTIVE.fullmatch(name.rpartition(":")[2]) is not None}
    rows = _rows(plane, keys)
    rows = rows[plane.events.has_number("group_key")[rows]]
    metadata, group = plane.events.metadata[rows].tolist(), plane.events.numbers("group_key")[rows].tolist()
    for name, number in dict.fromkeys(zip(metadata, group, strict=True)):
        yield plane.names[name].rpartition(":")[0], f"collective group {number}"


def _rows(plane: ReadPlane, keys: Collection[int]) -> Integers:
    """The rows of the events with these names."""
    return np.flatnonzero(NumberCodes(dict.fromkeys(keys, 0)).of(plane.events.metadata) >= 0)
