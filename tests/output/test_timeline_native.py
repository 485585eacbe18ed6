"""Timelines beside native tfprof's: the same slices, durations, lanes and arrows, where native's are right."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tensorflow.core.profiler.tfprof_log_pb2 import OpLogProto

import tfprof_widget as tfprof
from tests.oracle.models import MODELS
from tests.oracle.native import NativeAnswer, NativeTfprof, Request
from tests.oracle.random_options import DEFAULTS, options_proto
from tests.oracle.random_profiles import RandomProfile, random_profile
from tests.oracle.stdout import with_stdout
from tests.output.trace_format import Event, read_trace, slices_by_thread

pytestmark = pytest.mark.filterwarnings("ignore::tfprof_widget.ProfileWarning")

PLACED = re.compile(r".*/(device:gpu|gpu|device:cpu|cpu):\d+", re.ASCII)
STREAMS = re.compile(".*stream:all.*")


@pytest.mark.parametrize("seed", range(60))
def test_a_graph_timeline_has_natives_slices_lanes_and_arrows(native: NativeTfprof, tmp_path: Path, seed: int) -> None:
    profile = random_profile(seed)
    keep_what_native_tracks(profile)
    options = some_options(Random(seed)) | {"step": 0}
    theirs = native_trace(native, profile, "graph", options, tmp_path)
    ours = our_trace(profile, "graph", options, tmp_path)
    their_lanes = lanes_by_device(theirs, "process_name")
    our_lanes = {  # native leaves out what ran elsewhere
        device: lanes
        for device, lanes in lanes_by_device(ours, "process_labels").items()
        if PLACED.fullmatch(device) or STREAMS.fullmatch(device)
    }
    assert from_the_first(our_lanes) == from_the_first(their_lanes)
    begun = first_start(their_lanes) - first_start(our_lanes)
    assert arrows(ours) == {
        (source, target, start - begun)
        for (source, target, start), from_ in causes(theirs).items()
        if min(from_) <= start
    }


@pytest.mark.parametrize("model", ["mnist", "rnn in frames", "parameter servers"])
def test_of_a_real_run_ours_has_natives_slices_and_what_starts_at_once_with_one(
    native: NativeTfprof, tmp_path: Path, model: str
) -> None:
    traced = MODELS[model]()
    profile = RandomProfile(traced.graph.as_graph_def(add_shapes=True), ((0, traced.run_meta),), OpLogProto())
    options = DEFAULTS | {"step": 0}
    theirs = by_start(lanes_by_device(native_trace(native, profile, "graph", options, tmp_path), "process_name"))
    ours = by_start(lanes_by_device(our_trace(profile, "graph", options, tmp_path), "process_labels"))
    assert set(ours) == set(theirs)
    assert all(slices <= ours[start] for start, slices in theirs.items())
    assert all(len(slices) == 1 for slices in theirs.values())


@pytest.mark.parametrize("view", ["scope", "code"])
@pytest.mark.parametrize("seed", range(60))
def test_a_tree_timeline_has_natives_slices(native: NativeTfprof, tmp_path: Path, seed: int, view: str) -> None:
    profile = random_profile(seed)
    options = some_options(Random(seed))
    theirs = native_trace(native, profile, view, options, tmp_path)
    ours = our_trace(profile, view, options, tmp_path)
    assert nested(ours) == [
        (event["name"], event["pid"], event["ts"], event["dur"]) for event in theirs if event.get("dur")
    ]


def some_options(rng: Random) -> dict[str, Any]:
    """The defaults, often with a filter or an order."""
    changes: dict[str, Any] = {
        "min_micros": rng.choice((2, 50, 1000)),
        "max_depth": rng.choice((1, 2, 3)),
        "account_type_regexes": [".*[a-m].*"],
        "hide_name_regexes": [".*[a-e]$"],
        "order_by": "micros",
    }
    return DEFAULTS | {name: changes[name] for name in rng.sample(sorted(changes), rng.choice((0, 1, 2)))}


def keep_what_native_tracks(profile: RandomProfile) -> None:
    """Only nodes that ran on a device of their own, and no two executions that start at once on a device."""
    devices = profile.steps[0][1].step_stats.dev_stats
    placed = {
        name_of(stats) for device in devices if PLACED.fullmatch(device.device.lower()) for stats in device.node_stats
    }
    if placed.isdisjoint(node.name for node in profile.graph.node):
        placed = set()  # else it were another graph's run
    taken: set[tuple[str, int]] = set()
    for device in devices:
        kept = [stats for stats in device.node_stats if name_of(stats) in placed]
        for stats in kept:
            while stats.all_start_micros and (device.device.lower(), stats.all_start_micros) in taken:
                stats.all_start_micros += 1
                stats.all_start_nanos += 1000
            taken.add((device.device.lower(), stats.all_start_micros))
        del device.node_stats[:]
        device.node_stats.extend(kept)


def name_of(stats: Any) -> str:
    return str(stats.node_name.partition(":")[0])


def native_trace(
    native: NativeTfprof, profile: RandomProfile, view: str, options: dict[str, Any], directory: Path
) -> list[Event]:
    """What native writes, under a name of its own making."""
    path = directory / "native"
    asked = options_proto(options | {"output": f"timeline:outfile={path}"})
    ((_, run_meta),) = profile.steps
    protos = (proto.SerializeToString() for proto in (profile.graph, run_meta, profile.op_log))
    answer = native.analyze(Request(view, asked), *protos)
    assert isinstance(answer, NativeAnswer)
    written = path.with_name(f"native_{options['step']}")
    if not written.exists():
        assert "No code trace information" in answer.stderr
        return []
    events: list[Event] = json.loads(written.read_bytes())["traceEvents"] or []
    return events


def our_trace(profile: RandomProfile, view: str, options: dict[str, Any], directory: Path) -> list[Event]:
    path = directory / "ours"
    ((_, run_meta),) = profile.steps
    asked = options | {"output": f"timeline:outfile={path}"}
    with_stdout(partial(tfprof.profile, profile.graph, run_meta, profile.op_log, view, asked))
    written = path.with_name(f"ours_{options['step']}")
    return read_trace(written.read_bytes()) if written.exists() else []


Lanes = dict[int, list[tuple[str, float, float]]]


def lanes_by_device(events: list[Event], said: str) -> dict[str, Lanes]:
    """Name, start and duration of the slices by device and lane."""
    devices = {
        event["pid"]: str(*event["args"].values()).rpartition(" threads: ")[2]
        for event in events
        if event["name"] == said
    }
    found: dict[str, Lanes] = defaultdict(dict)
    for (process, thread), slices in slices_by_thread(events).items():
        first = 1 if said == "process_labels" else 0  # where we start counting, and native does
        found[devices[process]][thread - first] = [(each["name"], each["ts"], each["dur"]) for each in slices]
    return dict(found)


def from_the_first(devices: dict[str, Lanes]) -> dict[str, Lanes]:
    """The lanes with times from the first start on, since native's are those of the recording's clock."""
    first = first_start(devices)
    return {
        device: {
            number: [(name, start - first, duration) for name, start, duration in lane]
            for number, lane in lanes.items()
        }
        for device, lanes in devices.items()
    }


def by_start(devices: dict[str, Lanes]) -> dict[tuple[str, float], set[tuple[str, float]]]:
    """Name and duration of the slices by device and start."""
    found: dict[tuple[str, float], set[tuple[str, float]]] = defaultdict(set)
    for device, lanes in from_the_first(devices).items():
        for name, start, duration in [each for lane in lanes.values() for each in lane]:
            found[device, start].add((name, duration))
    return dict(found)


def first_start(devices: dict[str, Lanes]) -> float:
    return min((start for lanes in devices.values() for lane in lanes.values() for _, start, _ in lane), default=0)


# What hands over, and what it hands over to: name and start on the clock of the trace.
Arrow = tuple[str, str, float]


def arrows(events: list[Event]) -> set[Arrow]:
    """The arrows, each once, by the names of both ends and the start of the second's slice."""
    return {(source["name"], target["name"], target["ts"]) for source, target in arrow_ends(events)}


def causes(events: list[Event]) -> dict[Arrow, set[float]]:
    """Native's arrows with the starts of all the executions of the first node, from each of which it draws one."""
    found: dict[Arrow, set[float]] = defaultdict(set)
    for source, target in arrow_ends(events):
        found[source["name"], target["name"], target["ts"]].add(source["ts"])
    return dict(found)


def arrow_ends(events: list[Event]) -> list[tuple[Event, Event]]:
    """The slices at both ends of the arrows; a start may stand at the very end of its slice, as native's do."""
    threads = slices_by_thread(events)
    flows: dict[int, dict[str, Event]] = defaultdict(dict)
    for event in events:
        if event["ph"] in "stf":
            end = "source" if event["ph"] == "s" else "target"
            slices = threads[event["pid"], event["tid"]]
            flows[event["id"]][end] = next(
                each for each in slices if (each["ts"] == event["ts"] if end == "target" else is_left(each, event))
            )
    return [(flow["source"], flow["target"]) for flow in flows.values()]


def is_left(event: Event, flow: Event) -> bool:
    """Whether a flow starts within a slice that it is named after."""
    is_within: bool = event["ts"] <= flow["ts"] <= event["ts"] + event["dur"]
    return is_within and flow["name"] == f"{event['name']}_flow"


def nested(events: list[Event]) -> list[tuple[str, int, float, float]]:
    """Name, depth, start and duration of the slices of the one thread of a tree."""
    found: list[tuple[str, int, float, float]] = []
    ends: list[float] = []
    for event in [event for event in events if event["ph"] == "X"]:
        while ends and ends[-1] <= event["ts"]:
            ends.pop()
        found.append((event["name"], len(ends), event["ts"], event["dur"]))
        ends.append(event["ts"] + event["dur"])
    return found
