"""Adds executions up by node and step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import pairwise

import numpy as np

from tfprof_widget.ingest.devices import accelerator_streams, canonical
from tfprof_widget.ingest.packing import held_once
from tfprof_widget.integers import LARGEST_INTEGER, check_sum
from tfprof_widget.tables import ABSENT, Executions, Flags, Indices, Integers, StepTotals


def counted_micros(executions: Executions) -> Integers:
    """How long each execution took as native counts: whole microseconds, and one for less."""
    return np.where(executions.duration_micros == 0, 1, executions.duration_micros)


def add_up(executions: Executions, devices: tuple[str, ...]) -> StepTotals:
    """The sums over the executions of each node in each step, by node and then step.

    An execution on an accelerator's stream adds accelerator time; one on the node's own device adds
    CPU time and a run; on other devices it adds nothing. Without a start it adds nothing either.

    It goes step by step, for all steps at once would take several times the memory of what comes of it.
    """
    steps_seen = np.zeros(int(executions.node.max(initial=ABSENT)) + 1, np.int64)
    for _, of_step in _by_step(executions):
        ran = np.zeros(len(steps_seen), np.bool_)
        ran[of_step.node] = True
        steps_seen += ran
    place = np.cumsum(steps_seen) - steps_seen  # of each node in the next step that it is seen in
    columns = {name: np.zeros(int(steps_seen.sum()), np.int64) for name in _COLUMNS}
    for step, of_step in _by_step(executions):
        nodes, sums = _of_step(of_step, devices)
        places = place[nodes]
        for name, values in {"node": nodes, "step": np.full(len(nodes), step), **sums}.items():
            if values.any():  # what is never written to takes no memory
                columns[name][places] = values
        place[nodes] += 1
    for name in columns.keys() - _NO_SUMS:
        check_sum("run_meta", columns[name])
    return _held(columns)


_COLUMNS = tuple(column.name for column in fields(StepTotals))
_NO_SUMS = {"node", "step", "start_micros", "end_micros"}


def _held(columns: dict[str, Integers]) -> StepTotals:
    node, step = columns.pop("node").astype(np.int32), columns.pop("step").astype(np.int32)
    return StepTotals(node, step, **{name: held_once(values) for name, values in columns.items()})


def _by_step(executions: Executions) -> Iterator[tuple[int, Executions]]:
    """The executions of each step, in ascending order of the steps."""
    bounds = np.flatnonzero(np.diff(executions.step, prepend=ABSENT, append=ABSENT)).tolist()
    pieces: dict[int, list[slice]] = {}
    for first, end in pairwise(bounds):
        pieces.setdefault(int(executions.step[first]), []).append(slice(first, end))
    for step, of_step in sorted(pieces.items()):
        yield step, _taken(executions, of_step)


def _taken(executions: Executions, pieces: list[slice]) -> Executions:
    columns = {column.name: getattr(executions, column.name) for column in fields(Executions)}
    if len(pieces) == 1:
        return Executions(**{name: values[pieces[0]] for name, values in columns.items()})
    return Executions(**{name: np.concatenate([values[piece] for piece in pieces]) for name, values in columns.items()})


def _of_step(executions: Executions, devices: tuple[str, ...]) -> tuple[Indices, Mapping[str, Integers]]:
    """The nodes of some executions, ascending, and the sums over the executions of each."""
    order = np.argsort(executions.node, kind="stable")
    node = executions.node[order]
    first = np.flatnonzero(np.diff(node, prepend=ABSENT))
    started = executions.start_micros > 0
    on_stream = accelerator_streams(devices)
    is_stream = on_stream[executions.device] & started
    is_run = (canonical(devices) & ~on_stream)[executions.device] & started
    memory = executions.counts_memory
    micros = counted_micros(executions)

    def total(values: Integers, counted: Flags) -> Integers:
        counting = np.where(counted, values, 0)
        check_sum("run_meta", counting)
        sums: Integers = np.add.reduceat(counting[order], first)
        return sums

    start = np.where(started, executions.start_micros, LARGEST_INTEGER)
    earliest = np.minimum.reduceat(start[order], first)
    end = np.where(started, executions.start_micros + micros, 0)
    return node[first], {
        "start_micros": np.where(earliest == LARGEST_INTEGER, 0, earliest),
        "end_micros": np.maximum(np.maximum.reduceat(end[order], first), 0),
        "accelerator_nanos": total(executions.duration_nanos, is_stream),
        "cpu_nanos": total(executions.duration_nanos, is_run),
        "accelerator_micros": total(micros, is_stream),
        "cpu_micros": total(micros, is_run),
        "run_count": total(np.ones(len(order), np.int64), is_run),
        "requested_bytes": total(executions.requested_bytes, memory),
        "peak_bytes": total(executions.peak_bytes, memory),
        "residual_bytes": total(executions.residual_bytes, memory),
        "output_bytes": total(executions.output_bytes, memory),
    }
