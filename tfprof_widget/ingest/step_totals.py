"""Adds executions up by node and step."""

from __future__ import annotations

import numpy as np

from tfprof_widget.ingest.devices import accelerator_streams, canonical
from tfprof_widget.integers import LARGEST_INTEGER, check_sum
from tfprof_widget.tables import Executions, Flags, Integers, StepTotals


def counted_micros(executions: Executions) -> Integers:
    """How long each execution took as native counts: whole microseconds, and one for less."""
    return np.where(executions.duration_micros == 0, 1, executions.duration_micros)


def add_up(executions: Executions, devices: tuple[str, ...]) -> StepTotals:
    """The sums over the executions of each node in each step, by node and then step.

    An execution on an accelerator's stream adds accelerator time; one on the node's own device adds
    CPU time and a run; on other devices it adds nothing. Without a start it adds nothing either.
    """
    steps = int(executions.step.max(initial=0)) + 1
    keys, group = np.unique(executions.node.astype(np.int64) * steps + executions.step, return_inverse=True)
    started = executions.start_micros > 0
    on_stream = accelerator_streams(devices)
    is_stream = on_stream[executions.device] & started
    is_run = (canonical(devices) & ~on_stream)[executions.device] & started
    micros = counted_micros(executions)

    def total(values: Integers, counted: Flags) -> Integers:
        check_sum("run_meta", values[counted])
        sums = np.zeros(len(keys), np.int64)
        np.add.at(sums, group[counted], values[counted])
        return sums

    first = np.full(len(keys), LARGEST_INTEGER)
    np.minimum.at(first, group[started], executions.start_micros[started])
    first[first == LARGEST_INTEGER] = 0
    last = np.zeros(len(keys), np.int64)
    np.maximum.at(last, group[started], (executions.start_micros + micros)[started])
    memory = executions.counts_memory
    return StepTotals(
        node=(keys // steps).astype(np.int32),
        step=(keys % steps).astype(np.int32),
        start_micros=first,
        end_micros=last,
        accelerator_nanos=total(executions.duration_nanos, is_stream),
        cpu_nanos=total(executions.duration_nanos, is_run),
        accelerator_micros=total(micros, is_stream),
        cpu_micros=total(micros, is_run),
        run_count=total(np.ones(len(group), np.int64), is_run),
        requested_bytes=total(executions.requested_bytes, memory),
        peak_bytes=total(executions.peak_bytes, memory),
        residual_bytes=total(executions.residual_bytes, memory),
        output_bytes=total(executions.output_bytes, memory),
    )
