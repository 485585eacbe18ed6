"""Reads what devices sent each other."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tfprof_widget.lib.arrays import ABSENT, LARGEST_INTEGER, NANOS_A_MICRO, Indices
from tfprof_widget.lib.messages import ProfileProto
from tfprof_widget.profiles.tables import Transfers

RECEIVED = "RecvTensor"
"""What TensorFlow calls a tensor that one task got from another."""

MOST_BYTES = 2**40
MOST_NANOS = 2**51
"""A tensor of more than a terabyte, or one that took a month, was damaged: sums of them would not fit 64 bits."""

_SIZE_AND_RATE = re.compile(r"(?:\[[^\]]*\] )*")
_EDGE = re.compile(r"\Aedge_\d+_(?=.)")
_RECEIVE = re.compile(r" = (_(?:Host)?Recv)\((?P<tensor>[^@()]*?) @(?P<source>[^)]*)")
_COPY = re.compile(r"(MEMCPY_?(H2D|HtoD|D2H|DtoH|P2P|PtoP))", re.IGNORECASE)
_BYTES = re.compile(r"\bbytes[:=] ?(\d{1,18})\b|\b(\d{1,18}) bytes\b", re.IGNORECASE)
_LINE = re.compile(r"(?P<device>.*?)/(?P<line>memcpy|stream:all|stream:\d+)", re.IGNORECASE)


class Transfer(NamedTuple):
    """A tensor that a device got from another: when it asked for it (or the sending began), and until when it came."""

    kind: str
    source: str
    target: str
    tensor: str
    start_nanos: int
    duration_nanos: int
    bytes: int

    @property
    def is_sound(self) -> bool:
        """Whether it can have been so."""
        return (
            0 < self.start_nanos <= LARGEST_INTEGER - MOST_NANOS
            and 0 <= self.duration_nanos <= MOST_NANOS
            and 0 <= self.bytes <= MOST_BYTES
        )


@dataclass(frozen=True)
class TransferRows:
    """The transfers of all runs, row after row in flat lists, with the texts in them once.

    >>> rows = TransferRows()
    >>> rows.add(3, [Transfer("RecvTensor", "/job:ps/task:0", "/job:worker/task:0", "w", 5000, 2000, 64)])
    >>> table = rows.joined(("b", "w"), (3,))
    >>> table.devices[table.source[0]], table.tensors[table.tensor[0]], table.node.tolist(), table.bytes.tolist()
    ('/job:ps/task:0', 'w', [1], [64])
    """

    devices: dict[str, int] = field(default_factory=dict)
    tensors: dict[str, int] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)
    rows: list[tuple[int, ...]] = field(default_factory=list)

    def add(self, step: int, transfers: Iterable[Transfer]) -> None:
        """Add the transfers of one run; a step is the number that it has in the program."""
        for each in transfers:
            self.rows.append(
                (
                    step,
                    self.kinds.setdefault(each.kind, len(self.kinds)),
                    self.devices.setdefault(each.source, len(self.devices)),
                    self.devices.setdefault(each.target, len(self.devices)),
                    self.tensors.setdefault(each.tensor, len(self.tensors)),
                    *(each.start_nanos, each.duration_nanos, each.bytes),
                )
            )

    def joined(self, names: Sequence[str], steps: Sequence[int]) -> Transfers:
        """The table of them, for a profile with nodes of these names and these steps, both in order."""
        if not self.rows:
            return Transfers.none()
        step, kind, source, target, tensor, start, duration, size = np.array(self.rows, np.int64).T
        node = nodes_of(self.tensors, names)
        return Transfers(
            devices=tuple(self.devices),
            tensors=tuple(self.tensors),
            kinds=tuple(self.kinds),
            step=_indices(np.searchsorted(steps, step)),
            kind=_indices(kind),
            source=_indices(source),
            target=_indices(target),
            tensor=_indices(tensor),
            node=_indices(node[tensor]),
            start_nanos=start,
            duration_nanos=duration,
            bytes=size,
        )


def nodes_of(tensors: Iterable[str], names: Sequence[str]) -> Indices:
    """The nodes that made the tensors, which have their names.

    >>> nodes_of(["w", "x"], ("b", "w")).tolist()
    [1, -1]
    """
    return np.array([_place(name, names) for name in tensors], np.int32)


def stored_transfers(profile: ProfileProto) -> Iterator[tuple[int, Transfer]]:
    """The transfers that a saved profile tells of, with their steps; what cannot have been so is left out.

    >>> from tfprof_widget.lib.messages import ProfileProto
    >>> list(stored_transfers(ProfileProto(transfers=[{"step": 1, "bytes": -1, "start_nanos": 5}])))
    []
    """
    for each in profile.transfers:
        transfer = Transfer(
            *(each.kind, each.source, each.target, each.tensor), each.start_nanos, each.duration_nanos, each.bytes
        )
        if transfer.is_sound:
            yield each.step, transfer


def _place(name: str, names: Sequence[str]) -> int:
    place = bisect_left(names, name)
    return place if place < len(names) and names[place] == name else ABSENT


def _indices(values: Any) -> Indices:
    return np.asarray(values, np.int32)


def read_transfer(stat: Any, device: str, has_copies: bool) -> Transfer | None:
    """The transfer that an execution is, if it is one and not too damaged; `has_copies` says whether its line has them.

    Of a RecvTensor the start is when its source began to send it, if that is later than when its target asked for it.

    >>> from tfprof_widget.lib.messages import SealedRun
    >>> device = SealedRun().step_stats.dev_stats.add(device="/job:worker/task:0/device:CPU:0")
    >>> label = "[64B] [1.0Gb/s] edge_22_dense/read from /job:ps/task:1/device:CPU:0 to /job:worker/task:0/device:CPU:0"
    >>> stat = device.node_stats.add(
    ...     node_name="RecvTensor", timeline_label=label, all_start_micros=5, op_end_rel_micros=2
    ... )
    >>> stat.output.add().tensor_description.allocation_description.requested_bytes = 64
    >>> read = read_transfer(stat, device.device, has_copies=False)
    >>> read.tensor, read.source, read.duration_nanos, read.bytes
    ('dense/read', '/job:ps/task:1/device:cpu:0', 2000, 64)
    """
    ends = _ends(stat, device, has_copies)
    return None if ends is None else _timed(stat, *ends)


def _ends(stat: Any, device: str, has_copies: bool) -> tuple[str, str, str, str] | None:
    """The kind of a transfer, its source, its target and its tensor; None for what is no transfer."""
    if stat.node_name == RECEIVED:
        tensor, source = _received(stat.timeline_label)
        return RECEIVED, source, device, tensor
    if has_copies:
        copy = _COPY.search(stat.node_name) or _COPY.search(stat.timeline_label)
        return None if copy is None else _copied(copy, stat.node_name, device)
    # Cheap to tell before the regex is tried, which runs over every label.
    if "Recv(" in stat.timeline_label:
        receive = _RECEIVE.search(stat.timeline_label)
        if receive is not None:
            return receive[1], receive["source"], device, _EDGE.sub("", receive["tensor"], count=1)
    return None


def _received(label: str) -> tuple[str, str]:
    """The tensor and the source that a label tells: `[0.8MB] [5.3Gb/s] edge_22_NAME from SOURCE to TARGET`."""
    told = _SIZE_AND_RATE.sub("", label, count=1) if label.startswith("[") else label
    tensor, named, ends = told.rpartition(" from ")
    if not named:
        return told, ""
    return _EDGE.sub("", tensor, count=1), ends.partition(" to ")[0]


def _copied(copy: re.Match[str], name: str, line: str) -> tuple[str, str, str, str]:
    """A copy between host and accelerator, or between two accelerators, of which only the one is told."""
    found = _LINE.fullmatch(line)
    device = found["device"] if found is not None else line
    host = f"{device.rpartition('/')[0]}/device:cpu:0"
    direction = copy[2].lower().replace("to", "2")
    source, target = {"h2d": (host, device), "d2h": (device, host)}.get(direction, ("", device))
    return f"MEMCPY{direction[0].upper()}to{direction[2].upper()}", source, target, name.partition(":")[0]


def copying_lines(devices: Iterable[str]) -> set[str]:
    """Of the lines of each accelerator those to read copies from: they repeat each other's.

    >>> copying_lines(["/device:GPU:0/stream:14", "/device:GPU:0/memcpy"])
    {'/device:GPU:0/memcpy'}
    """
    found: dict[str, dict[str, list[str]]] = {}
    for name in devices:
        line = _LINE.fullmatch(name)
        if line is not None:
            kind = line["line"].lower()
            found.setdefault(line["device"], {}).setdefault(kind if kind in _BEST else "stream", []).append(name)
    return {name for lines in found.values() for name in next(lines[kind] for kind in _BEST if kind in lines)}


_BEST = ("memcpy", "stream:all", "stream")


def _timed(stat: Any, kind: str, source: str, target: str, tensor: str) -> Transfer | None:
    start = stat.all_start_nanos if stat.all_start_nanos > 0 else stat.all_start_micros * NANOS_A_MICRO
    duration = stat.op_end_rel_nanos if stat.op_end_rel_nanos > 0 else stat.op_end_rel_micros * NANOS_A_MICRO
    transfer = Transfer(kind, _lower(source), _lower(target), tensor, start, max(duration, 0), _size(stat))
    return transfer if transfer.is_sound else None


def _size(stat: Any) -> int:
    sizes = [output.tensor_description.allocation_description for output in stat.output]
    told = _BYTES.search(stat.timeline_label) if not sizes else None
    if told is not None:
        return int(told[1] or told[2])
    return sum(max(each.requested_bytes, each.allocated_bytes) for each in sizes)


def _lower(device: str) -> str:
    """As executions' devices are: in lower case, as far as that is ASCII."""
    return device.lower() if device.isascii() else device.encode().lower().decode()
