"""Saved profiles: what native tfprof writes we read, what we write it reads, and nothing that it shows is lost."""

from __future__ import annotations

import gzip
from pathlib import Path
from random import Random
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensorflow.core.profiler import tfprof_log_pb2

import tfprof_widget as tfprof
from tests.oracle.native import VIEWS, NativeAnswer, NativeTfprof, Request, Step
from tests.oracle.random_options import options_proto, random_options
from tests.oracle.random_profiles import RandomProfile, random_profile
from tests.oracle.rows import rows
from tests.sketches import profile_of
from tests.slow.test_differential import why_native_dies
from tfprof_widget.api.profile import Profile
from tfprof_widget.demo import demo_profile
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.messages import ProfileNode, ProfileProto
from tfprof_widget.output.saved import profile_proto

pytestmark = pytest.mark.filterwarnings("ignore::tfprof_widget.ProfileWarning")

STEP_IDS = ((0,), (0, 1, 2), (7,), (100, 3, 3), (5, 2, 9, 4))


def without_dangling_inputs(profile: RandomProfile) -> RandomProfile:
    """Natively a graph with an input that it lacks cannot be saved."""
    names = {node.name for node in profile.graph.node}
    for node in profile.graph.node:
        node.input[:] = [name for name in node.input if name.partition(":")[0].removeprefix("^") in names]
    return profile


def natively_saved(native: NativeTfprof, profile: RandomProfile) -> bytes:
    steps = [Step(step, run_meta.SerializeToString()) for step, run_meta in profile.steps]
    graph, op_log = profile.graph.SerializeToString(), profile.op_log.SerializeToString()
    answer = native.serialize_steps(graph, op_log, steps)
    assert isinstance(answer, NativeAnswer)
    return answer.proto


@pytest.mark.parametrize("seed", range(3000, 3080))
def test_what_native_wrote_is_read_and_written_again_as_it_was(native: NativeTfprof, tmp_path: Path, seed: int) -> None:
    rng = Random(seed)
    written = natively_saved(native, without_dangling_inputs(random_profile(seed, rng.choice(STEP_IDS))))
    file = tmp_path / "profile"
    file.write_bytes(written)
    again = profile_proto(Profile.load(file)).SerializeToString()
    assert tfprof_log_pb2.ProfileProto.FromString(again) == tfprof_log_pb2.ProfileProto.FromString(written)


@pytest.mark.parametrize("seed", range(3100, 3140))
def test_native_shows_of_our_file_what_we_show(native: NativeTfprof, tmp_path: Path, seed: int) -> None:
    rng = Random(seed)
    profile = without_dangling_inputs(random_profile(seed, rng.choice(STEP_IDS)))
    profiler = tfprof.Profiler(profile.graph, profile.op_log)
    for step, run_meta in profile.steps:
        profiler.add_step(step, run_meta)
    file, outfile = tmp_path / "profile", tmp_path / "report"
    profiler.profile.save(file)
    loaded = Profile.load(file)
    for view in VIEWS:
        options = random_options(rng, view, profile)
        if why_native_dies(view, options, profile) or (view == "code" and not loaded.has_traces):
            continue
        request = Request(view, options_proto(options | {"output": f"file:outfile={outfile}"}))
        answer = native.profile_file(request, str(file))
        assert isinstance(answer, NativeAnswer)
        ours = loaded.view(view, **options | {"output": "none", "timing": "tfprof"})
        assert rows(ours.proto().SerializeToString(), VIEWS[view]) == rows(answer.proto, VIEWS[view]), options
        # native forgets when it reads a file that times of accelerators are missing, and so says nothing of it
        assert from_help_on(ours.text()) == from_help_on((answer.file or b"").decode())


def from_help_on(report: str) -> str:
    return report.partition("\nDoc:")[2]


def test_compressed_file(tmp_path: Path) -> None:
    profile = profile_of("a = Add() 3us\nb = Mul(a) 5us 7flops")
    profile.save(tmp_path / "profile")
    profile.save(str(tmp_path / "profile.gz"))
    compressed = (tmp_path / "profile.gz").read_bytes()
    assert gzip.decompress(compressed) == (tmp_path / "profile").read_bytes()
    assert compressed[4:8] == bytes(4)  # no time, so that the same profile is the same file
    assert Profile.load(tmp_path / "profile.gz").nodes.names == ("a", "b")


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        ({"name": "a", "inputs": {2**30: 0}}, r"node 'a' has an input or output 1073741824, which no node has"),
        ({"name": "a", "output_shapes": {-1: {}}}, r"node 'a' has an input or output -1, which no node has"),
        ({"name": "a", "trace": {"traces": [{"file_id": 7}]}}, r"the trace of 'a' names string 7, .* lacks"),
        (
            {"name": "a", "execs": {0: {"cpu_execs": {"/cpu:0": {"times": [{"int64_values": [1]}]}}}}},
            r"a time on /cpu:0 is not a pair of start and duration",
        ),
        (
            {"name": "a", "execs": {0: {"cpu_execs": {"/cpu:0": {"times": [{"int64_values": [2**62, 1]}]}}}}},
            r"a time is more than 2\*\*63 - 1 nanoseconds",
        ),
    ],
)
def test_damaged_file(tmp_path: Path, node: dict[str, Any], reason: str) -> None:
    damaged = ProfileProto(nodes={0: ParseDict(node, ProfileNode())}, steps=[0])
    (tmp_path / "damaged").write_bytes(damaged.SerializeToString())
    with pytest.raises(ProfileError, match=rf"damaged: profile: .*{reason}.*; .*save the profile again"):
        Profile.load(tmp_path / "damaged")


@given(edits=st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), min_size=1, max_size=4))
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_few_wrong_bytes(tmp_path: Path, edits: list[tuple[int, int]]) -> None:
    content = bytearray(profile_proto(demo_profile()).SerializeToString(deterministic=True))
    for place, byte in edits:
        content[place] = byte
    (tmp_path / "profile").write_bytes(content)
    fault = "none; fine"
    try:
        loaded = Profile.load(tmp_path / "profile")
        loaded.view("scope", select=["micros", "bytes"]).text()
        loaded.view("op").proto()
        loaded.save(tmp_path / "again")
    except (ProfileError, ValueError) as error:
        fault = str(error)
    assert "; " in fault
