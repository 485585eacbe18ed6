"""Reads the transfers of tensors between devices."""

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
"""TensorFlow's name for a tensor that one task got from another."""

MOST_BYTES = 2**40
MOST_NANOS = 2**51
"""A record of more than a terabyte or a month is damaged: sums of such records would not fit 64 bits."""

_SIZE_AND_RATE = re.compile(r"(?:\[[^\]]*\] )*")
_EDGE = re.compile(r"\Aedge_\d+_(?=.)")
_RECEIVE = re.compile(r" = (_(?:Host)?Recv)\((?P<tensor>[^@()]*?) @(?P<source>[^)]*)")
_COPY = re.compile(r"(MEMCPY_?(H2D|HtoD|D2H|DtoH|P2P|PtoP))", re.IGNORECASE)
_BYTES = re.compile(r"\bbytes[:=] ?(\d{1,18})\b|\b(\d{1,18}) bytes\b", re.IGNORECASE)
_LINE = re.compile(r"(?P<device>.*?)/(?P<line>memcpy|stream:all|stream:\d+)", re.IGNORECASE)


class Transfer(NamedTuple):
    """A tensor that a device got from another, from when it was asked for (or sending began) until it came."""

    kind: str
    source: str
    target: str
    tensor: str
    start_nanos: int
    duration_nanos: int
    bytes: int

    @property
    def is_sound(self) -> bool:
        """Whether times and bytes are plausible."""
        return bool(are_sound(self.start_nanos, self.duration_nanos, self.bytes))


def are_sound(start_nanos: Any, duration_nanos: Any, size: Any) -> Any:
    """Whether the times and bytes of a transfer are plausible, or of several, given as arrays.

    >>> are_sound(np.array([0, 5]), np.array([1, 1]), 64).tolist()
    [False, True]
    """
    are_times = (start_nanos > 0) & (start_nanos <= LARGEST_INTEGER - MOST_NANOS)
    are_durations = (duration_nanos >= 0) & (duration_nanos <= MOST_NANOS)
    return are_times & are_durations & (size >= 0) & (size <= MOST_BYTES)


@dataclass(frozen=True)
class TransferRows:
    """The transfers of all runs as rows in flat lists; each text is stored once.

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
        """Add the transfers of one run; `step` is the step's number in the program."""
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
        """The table of transfers, for a profile with these node names and these steps, both sorted."""
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
    """The nodes that made the tensors: a tensor is named after its node.

    >>> nodes_of(["w", "x"], ("b", "w")).tolist()
    [1, -1]
    """
    return np.array([_place(name, names) for name in tensors], np.int32)


def stored_transfers(profile: ProfileProto) -> Iterator[tuple[int, Transfer]]:
    """The transfers in a saved profile, with their steps; implausible ones are left out.

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
    """The transfer that an execution records, if it is a plausible one; `has_copies`: its line records copies.

    A RecvTensor starts when its source began to send it, if that is after its target asked for it.

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
    """The kind, source, target and tensor of a transfer; None for any other execution."""
    if stat.node_name == RECEIVED:
        tensor, source = _received(stat.timeline_label)
        return RECEIVED, source, device, tensor
    if has_copies:
        copy = _COPY.search(stat.node_name) or _COPY.search(stat.timeline_label)
        return None if copy is None else _copied(copy, stat.node_name, device)
    # A cheap test before the regex, because every label comes here.
    if "Recv(" in stat.timeline_label:
        receive = _RECEIVE.search(stat.timeline_label)
        if receive is not None:
            return receive[1], receive["source"], device, _EDGE.sub("", receive["tensor"], count=1)
    return None


def _received(label: str) -> tuple[str, str]:
    """The tensor and the source in a label: `[0.8MB] [5.3Gb/s] edge_22_NAME from SOURCE to TARGET`."""
    told = _SIZE_AND_RATE.sub("", label, count=1) if label.startswith("[") else label
    tensor, named, ends = told.rpartition(" from ")
    if not named:
        return told, ""
    return _EDGE.sub("", tensor, count=1), ends.partition(" to ")[0]


def _copied(copy: re.Match[str], name: str, line: str) -> tuple[str, str, str, str]:
    """A copy between host and accelerator, or between two accelerators, of which only one is recorded."""
    found = _LINE.fullmatch(line)
    device = found["device"] if found is not None else line
    host = f"{device.rpartition('/')[0]}/device:cpu:0"
    direction = copy[2].lower().replace("to", "2")
    source, target = {"h2d": (host, device), "d2h": (device, host)}.get(direction, ("", device))
    return f"MEMCPY{direction[0].upper()}to{direction[2].upper()}", source, target, name.partition(":")[0]


def copying_lines(devices: Iterable[str]) -> set[str]:
    """The lines from which to read copies, one for each accelerator: its lines repeat one another's copies.

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
    """A device in lower case (ASCII letters only), as executions have it."""
    return device.lower() if device.isascii() else device.encode().lower().decode()
