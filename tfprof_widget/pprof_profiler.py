"""Offers TensorFlow's `pprof_profiler`: what one run measured as a profile for pprof for each device."""

from __future__ import annotations

import gzip
import os
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tfprof_widget.ingest.live.stacks import read_traces
from tfprof_widget.lib.errors import ProfileWarning
from tfprof_widget.lib.messages import as_message, message_class
from tfprof_widget.lib.safely import write_whole
from tfprof_widget.lib.urls import is_url, joined
from tfprof_widget.output.pprof import PprofTables, SampleFrame
from tfprof_widget.profiles.tables import CodeStacks

NOT_NODES = ("_SOURCE", "_SINK")
# The functions of TensorFlow in which an op is made: what they call is the same for all ops.
MAKES_OPS = ("apply_op", "_apply_op_helper")


def get_profiles(graph: Any, run_metadata: Any) -> dict[str, Any]:
    """A pprof message for each device on which nodes of a tf.Graph ran.

    Each node is a sample: how often it ran, its time with its waiting and its time of computing, and its stack. Times
    are nanoseconds where the run has them; older versions of TensorFlow recorded microseconds only, which stay so, as
    natively.

    >>> from tfprof_widget.demo import recorded
    >>> get_profiles(None, b"")
    {}
    """
    run: Any = as_message(run_metadata, "RunMetadata", "run_metadata")
    devices = run.step_stats.dev_stats
    ran = {stats.node_name for device in devices for stats in device.node_stats}
    operations = [each for each in (graph.get_operations() if graph is not None else ()) if each.name in ran]
    traces = read_traces(operations)
    place = {operation.name: number for number, operation in enumerate(operations)}
    found = {}
    for number, device in enumerate(devices, 1):
        nodes = [stats for stats in device.node_stats if stats.node_name not in NOT_NODES]
        known = [stats for stats in nodes if stats.node_name in place and len(traces.stack)]
        if not known:
            warnings.warn(
                f"not enough data to create a profile of {device.device}: no node of the graph ran there; give the "
                "graph whose run it was",
                ProfileWarning,
                stacklevel=2,
            )
            continue
        of_node = {stats.node_name: operations[place[stats.node_name]].type for stats in known}
        about = f"Device {number} of {len(devices)}: {device.device}"
        found[device.device] = _message(known, of_node, place, traces, about)
    return found


def profile(graph: Any, run_metadata: Any, output_dir: str | os.PathLike[str] | None = None) -> list[str]:
    """Write the profile of each device to a gzipped file in `output_dir`; returns the files' names.

    Without an `output_dir` the profiles are printed.

    >>> profile(None, b"", "/tmp")
    []
    """
    written = []
    for device, message in get_profiles(graph, run_metadata).items():
        if not output_dir:
            sys.stdout.write(f"No output directory specified, printing to stdout instead.\n{message}\n")
            continue
        if not is_url(output_dir):
            Path(output_dir).mkdir(parents=True, exist_ok=True)
        name = device.strip("/").replace("/", "_").replace(":", "_")
        path = joined(output_dir, f"{name}_{time.strftime('%Y%m%d%H%M%S')}.pb.gz")
        sys.stdout.write(f"Writing profile to {path}...\n")
        write_whole(path, gzip.compress(message.SerializeToString(), mtime=0))
        written.append(path)
    return written


def _message(ran: Iterable[Any], types: dict[str, str], place: dict[str, int], traces: CodeStacks, about: str) -> Any:
    message = message_class("Profile")()
    tables = PprofTables(message)
    samples: dict[str, Any] = {}
    for stats in ran:
        name = stats.node_name
        if name not in samples:
            frames = _frames(traces, int(traces.stack[place[name]]))
            samples[name] = message.sample.add(location_id=[tables.location(frame) for frame in frames], value=[0] * 3)
            for key, text in (("node_name", name), ("op_type", types[name])):
                samples[name].label.add(key=tables.string(key), str=tables.string(text))
        for column, value in enumerate((1, *_times(stats))):
            samples[name].value[column] += value
    for name, unit in (("count", "count"), ("all_time", "nanoseconds"), ("op_time", "nanoseconds")):
        message.sample_type.add(type=tables.string(name), unit=tables.string(unit))
    message.comment.append(tables.string(about))
    message.string_table.extend(tables.strings)
    return message


def _times(stats: Any) -> tuple[int, int]:
    if stats.all_end_rel_nanos:
        return stats.all_end_rel_nanos, stats.op_end_rel_nanos - stats.op_start_rel_nanos
    return stats.all_end_rel_micros, stats.op_end_rel_micros - stats.op_start_rel_micros


def _frames(traces: CodeStacks, stack: int) -> Sequence[SampleFrame]:
    """The frames of a stack, innermost first, from the one that has the op made."""
    if stack < 0:
        return ()
    numbers = traces.stacks[stack].tolist()
    names = [traces.strings[traces.function[frame]] for frame in numbers]
    making = [at for at, name in enumerate(names) if name in MAKES_OPS]
    return [
        SampleFrame(traces.strings[traces.file[frame]], int(traces.line[frame]), names[at], 0)
        for at, frame in reversed(list(enumerate(numbers[: making[0]] if making else numbers)))
    ]
