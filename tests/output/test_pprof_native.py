"""Samples of a pprof profile beside native tfprof's: the same, and those of the frames that native passes over."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tensorflow.core.profiler.tfprof_output_pb2 import MultiGraphNodeProto

import tfprof_widget as tfprof
from tests.oracle.native import NativeAnswer, NativeTfprof, Request, Step
from tests.oracle.random_options import DEFAULTS, options_proto
from tests.oracle.random_profiles import RandomProfile, random_profile
from tests.oracle.stdout import with_stdout
from tests.output.pprof_profiles import nodes_of, nodes_with_frames_below, read_pprof

pytestmark = pytest.mark.filterwarnings("ignore::tfprof_widget.ProfileWarning")

METRICS = (
    *("micros", "accelerator_micros", "cpu_micros", "bytes", "peak_bytes", "residual_bytes", "output_bytes"),
    *("params", "float_ops"),
)


@pytest.mark.parametrize("seed", range(80))
def test_samples(native: NativeTfprof, tmp_path: Path, seed: int) -> None:
    rng = Random(seed)
    profile = random_profile(seed, rng.choice(((0,), (3, 5), (1, 2, 3))))
    options = DEFAULTS | {
        "select": [rng.choice(METRICS)],
        "step": rng.choice((-1, profile.steps[0][0])),
        "account_type_regexes": rng.choice(([".*"], [".*[a-m].*"])),
    }
    cut = {"max_depth": rng.choice((10_000, 3))}
    ours_at, theirs_at = tmp_path / "ours.pb.gz", tmp_path / "native.pb.gz"
    ask(native, profile, options | cut | {"output": f"pprof:outfile={theirs_at}"})
    profiler = profiler_of(profile)
    with_stdout(partial(profiler.profile_python, options | cut | {"output": f"pprof:outfile={ours_at}"}))
    assert ours_at.exists() == theirs_at.exists() == profiler.profile.has_traces
    if not profiler.profile.has_traces:
        return
    ours, theirs = read_pprof(ours_at.read_bytes()), read_pprof(theirs_at.read_bytes())
    assert ours.types == theirs.types
    for name, sample in theirs.samples.items():
        assert ours.samples[name].values == sample.values
        # Native's stacks lack the outermost frame.
        assert ours.samples[name].functions[:-1] == sample.functions
    assert set(ours.samples) == nodes_of(ask(native, profile, options))
    passed_over = nodes_with_frames_below(ask(native, profile, options | {"account_type_regexes": [".*"]}))
    assert set(ours.samples) - set(theirs.samples) == passed_over & set(ours.samples)


def ask(native: NativeTfprof, profile: RandomProfile, options: dict[str, Any]) -> Any:
    """Native's code view."""
    graph, op_log = profile.graph.SerializeToString(), profile.op_log.SerializeToString()
    steps = [Step(step, run_meta.SerializeToString()) for step, run_meta in profile.steps]
    answer = native.profile_steps(Request("code", options_proto(options)), graph, op_log, steps)
    assert isinstance(answer, NativeAnswer)
    return MultiGraphNodeProto.FromString(answer.proto)


def profiler_of(profile: RandomProfile) -> tfprof.Profiler:
    profiler = tfprof.Profiler(profile.graph, profile.op_log)
    for step, run_meta in profile.steps:
        profiler.add_step(step, run_meta)
    return profiler
