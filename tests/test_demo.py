"""The shipped recording, and what `tfprof demo` prints of it, against its own messages and native tfprof."""

from __future__ import annotations

from pathlib import Path

import pytest

import tfprof_widget as tfprof
from tests.oracle.native import NativeAnswer, NativeTfprof, Request
from tests.oracle.random_options import options_proto
from tfprof_widget import demo
from tfprof_widget.demo import demo_profile, recorded
from tfprof_widget.lib.messages import OpLogProto, RunMetadata


def test_exact_times_are_the_recorded_nanoseconds() -> None:
    (device,) = RunMetadata.FromString(recorded("run_meta")).step_stats.dev_stats
    nanos = sum(stat.op_end_rel_nanos for stat in device.node_stats if stat.node_name not in ("_SOURCE", "RecvTensor"))
    view = demo_profile().view("op")
    assert view.grand_total["micros"][0] == nanos
    assert view.time_scale == 1000


@pytest.mark.parametrize("view", ["scope", "graph", "op", "code"])
def test_native_says_the_same_of_it(native: NativeTfprof, view: str) -> None:
    options = tfprof.ProfileOptionBuilder(tfprof.ProfileOptionBuilder.time_and_memory()).with_empty_output().build()
    graph, run_meta, op_log = (recorded(part) for part in ("graph", "run_meta", "op_log"))
    answer = native.analyze(Request(view, options_proto(options)), graph, run_meta, op_log)
    assert isinstance(answer, NativeAnswer)
    ours = tfprof.profile(graph, run_meta, op_log, view, options)
    assert type(ours).FromString(answer.proto) == ours


def test_it_prints_the_op_view(capsys: pytest.CaptureFixture[str]) -> None:
    demo.main()
    printed = capsys.readouterr().out
    assert "node name | requested bytes | total execution time" in printed
    assert "\nMatMul  " in printed


def test_the_recording_tells_nothing_of_the_machine_it_was_made_on() -> None:
    files = [text for text in OpLogProto.FromString(recorded("op_log")).id_to_string.values() if text.endswith(".py")]
    assert files
    assert not any(Path(file).is_absolute() for file in files)
