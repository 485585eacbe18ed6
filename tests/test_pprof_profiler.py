"""`pprof_profiler` gives what TensorFlow's module of that name gave, which no newer TensorFlow has."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tensorflow as tf

from tfprof_widget import pprof_profiler
from tfprof_widget.lib.errors import ProfileWarning
from tfprof_widget.lib.messages import RunMetadata, message_class

v1: Any = tf.compat.v1
DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"


def graph_of(*operations: SimpleNamespace) -> Any:
    return SimpleNamespace(get_operations=lambda: list(operations))


def values(message: Any) -> dict[tuple[str, str], list[int]]:
    """The values of each sample by the texts of its two labels."""
    strings = message.string_table
    return {(strings[each.label[0].str], strings[each.label[1].str]): list(each.value) for each in message.sample}


def test_a_node_is_a_sample_with_its_count_and_two_times() -> None:
    """By pprof's format, where the first string is empty; the times are those written here, summed by hand."""
    times = {"all_end_rel_micros": 40, "op_start_rel_micros": 10, "op_end_rel_micros": 30}
    finer = {"all_end_rel_nanos": 4100, "op_start_rel_nanos": 1000, "op_end_rel_nanos": 3050}
    run = RunMetadata()
    nodes = run.step_stats.dev_stats.add(device="a").node_stats
    nodes.add(node_name="old", **times)
    nodes.add(node_name="new", **times, **finer)
    nodes.add(node_name="new", **times, **finer)
    nodes.add(node_name="_SOURCE", **times)
    stack = [("a.py", 7, "main", "f()"), ("b.py", 3, "f", "op()"), ("framework.py", 9, "apply_op", "…")]
    graph = graph_of(*(SimpleNamespace(name=name, type="Add", traceback=stack) for name in ("old", "new", "idle")))
    found = pprof_profiler.get_profiles(graph, run)
    assert list(found) == ["a"]
    message = found["a"]
    assert values(message) == {("old", "Add"): [1, 40, 20], ("new", "Add"): [2, 8200, 4100]}
    strings = message.string_table
    assert [(strings[each.type], strings[each.unit]) for each in message.sample_type] == [
        ("count", "count"),
        ("all_time", "nanoseconds"),
        ("op_time", "nanoseconds"),
    ]
    lines = {each.id: each.line[0] for each in message.location}
    functions = {each.id: strings[each.filename] for each in message.function}
    called = [lines[number] for number in message.sample[0].location_id]
    assert [(functions[line.function_id], line.line) for line in called] == [("b.py", 3), ("a.py", 7)]
    assert strings[0] == ""
    assert [strings[each] for each in message.comment] == ["Device 1 of 1: a"]


def test_a_loops_node_is_one_sample(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph, v1.Session() as session:
            last = v1.while_loop(lambda i: tf.less(i, 5), lambda i: tf.add(i, 1), [tf.constant(0)])
            run = v1.RunMetadata()
            session.run(last, options=v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE), run_metadata=run)
    finally:
        v1.enable_control_flow_v2()
    found = pprof_profiler.get_profiles(graph, run)[DEVICE]
    assert values(found)["while/Add", "AddV2"][0] == 5
    assert any(Path(__file__).name in text for text in found.string_table)
    (path,) = pprof_profiler.profile(graph, run, tmp_path / "made")
    assert re.fullmatch(r"job_localhost_replica_0_task_0_device_CPU_0_\d{14}\.pb\.gz", Path(path).name)
    assert capsys.readouterr().out == f"Writing profile to {path}...\n"
    written = message_class("Profile").FromString(gzip.decompress(Path(path).read_bytes()))
    assert values(written) == values(found)
    assert pprof_profiler.profile(graph, run) == []
    assert "all_time" in capsys.readouterr().out


def test_nothing_ran() -> None:
    assert pprof_profiler.get_profiles(graph_of(), RunMetadata()) == {}
    run = RunMetadata()
    run.step_stats.dev_stats.add(device="a").node_stats.add(node_name="other")
    with pytest.warns(ProfileWarning, match="no node of the graph ran there"):
        assert pprof_profiler.get_profiles(graph_of(), run) == {}
