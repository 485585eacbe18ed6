"""Tells which ops cost most so far while a capture goes on: it looks at a traced run now and then, and then rests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any

from google.protobuf.message import DecodeError

from tfprof_widget.ingest.devices import accelerator_streams, canonical
from tfprof_widget.ingest.run_metadata import may_be_node, op_of_label
from tfprof_widget.integers import NANOS_A_MICRO
from tfprof_widget.messages import SealedRun

# Looking may take this share of the time, whatever the size of the graph.
SHARE = 0.02


@dataclass(frozen=True, slots=True)
class TracedRun:
    """A run that was traced: its graph (a tf.Graph), its RunMetadata, and whether it was the first of its kind."""

    graph: Any
    metadata: bytes
    warm_up: bool


class CostliestOps:
    """The mean costs of op types over the traced runs that were looked at; warm-ups count until others come.

    >>> run = SealedRun()
    >>> device = run.step_stats.dev_stats.add(device="/job:a/device:CPU:0")
    >>> _ = device.node_stats.add(node_name="loss", op_end_rel_nanos=500)
    >>> ops = CostliestOps(lambda: 0.0)
    >>> ops.ran(TracedRun(None, run.SerializeToString(), warm_up=False))
    >>> ops.costliest(3)
    [('loss', 5e-07)]
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._looking = Lock()
        self._latest: TracedRun | None = None
        self._nanos: Counter[str] = Counter()
        self._runs = 0
        self._are_warm_ups = True
        self._op_types: dict[tuple[int, str], str] = {}
        self._rests_until = float("-inf")

    def ran(self, run: TracedRun) -> None:
        """Take note of the latest run: no more than this is done where the runs are waited for."""
        latest = self._latest
        if latest is None or latest.warm_up or not run.warm_up:
            self._latest = run

    def costliest(self, limit: int) -> list[tuple[str, float]]:
        """The op types that cost most, and the seconds that each took a run; looks at the latest run if it may."""
        with self._looking:
            started = self._clock()
            if started >= self._rests_until and self._latest is not None:
                run, self._latest = self._latest, None
                self._look(run)
                self._rests_until = started + (self._clock() - started) / SHARE
            return [(op, nanos / 1e9 / self._runs) for op, nanos in self._nanos.most_common(limit)]

    def _look(self, run: TracedRun) -> None:
        if run.warm_up and not self._are_warm_ups:
            return
        try:
            devices = SealedRun.FromString(run.metadata).step_stats.dev_stats
        except DecodeError:  # the result will tell of it
            return
        if not devices:
            return
        if self._are_warm_ups and not run.warm_up:
            self._are_warm_ups = False
            self._nanos.clear()
            self._runs = 0
        self._runs += 1
        names = [device.device.lower() for device in devices]
        counts = canonical(names) | accelerator_streams(names)
        for device, is_counted in zip(devices, counts.tolist(), strict=True):
            for execution in device.node_stats if is_counted else ():
                name = execution.node_name.partition(":")[0]
                if may_be_node(name):
                    nanos = execution.op_end_rel_nanos or execution.op_end_rel_micros * NANOS_A_MICRO
                    self._nanos[self._op_type(run.graph, name, execution.timeline_label)] += nanos

    def _op_type(self, graph: Any, name: str, label: str) -> str:
        """A node's op; as in a profile, where the graph lacks it the op that ran, else its name."""
        key = id(graph), name
        if key not in self._op_types:
            self._op_types[key] = op_of_label(label) or name
            with suppress(Exception):
                self._op_types[key] = graph.get_operation_by_name(name).type
        return self._op_types[key]
