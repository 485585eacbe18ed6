"""The stored form of a profile: equal to native tfprof's for the same graph, steps and op log."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from google.protobuf import text_format
from tensorflow.core.profiler import tfprof_log_pb2
from tensorflow.python.profiler import tfprof_logger

import tfprof_widget as tfprof
from tests.made import profile_of_tables
from tests.oracle.models import MODELS
from tests.oracle.native import NativeAnswer, NativeRefusal, NativeTfprof, Step
from tests.oracle.random_profiles import random_profile
from tfprof_widget.ingest.gathered import Gathered
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.messages import CodeDef, GraphDef, OpLogProto, ProfileNode, ProfileProto, RunMetadata
from tfprof_widget.output.saved import profile_proto

pytestmark = pytest.mark.filterwarnings("ignore::tfprof_widget.ProfileWarning")

STEP_IDS = ((), (0,), (0, 1, 2), (7,), (100, 3, 3), (5, 2, 9, 4))


def stored(native: NativeTfprof, graph: Any, steps: Sequence[tuple[int, Any]] = (), op_log: Any = None) -> ProfileProto:
    """Our message, once it is found to be native's."""
    op_log = op_log if op_log is not None else OpLogProto()
    ours = stored_by_us(graph, steps, op_log)
    answer = ask(native, graph, steps, op_log)
    assert isinstance(answer, NativeAnswer)
    assert _as_theirs(ours.SerializeToString()) == _as_theirs(answer.proto)
    return ours


def stored_by_us(graph: Any, steps: Sequence[tuple[int, Any]], op_log: Any) -> ProfileProto:
    profiler = tfprof.Profiler(graph, op_log)
    for step, run_meta in steps:
        profiler.add_step(step, run_meta)
    return ProfileProto.FromString(profiler.serialize_to_string())


def ask(native: NativeTfprof, graph: Any, steps: Sequence[tuple[int, Any]], op_log: Any) -> object:
    serialized = [Step(step, run_meta.SerializeToString()) for step, run_meta in steps]
    return native.serialize_steps(graph.SerializeToString(), op_log.SerializeToString(), serialized)


def _as_theirs(serialized: bytes) -> Any:
    return tfprof_log_pb2.ProfileProto.FromString(serialized)


@pytest.mark.parametrize("seed", range(2000, 2060))
def test_a_random_profile(native: NativeTfprof, seed: int) -> None:
    rng = Random(seed)
    profile = random_profile(seed, rng.choice(STEP_IDS))
    if has_dangling_input(profile.graph):
        assert ask(native, profile.graph, profile.steps, profile.op_log) == NativeRefusal("IndexError: map::at")
        for node in profile.graph.node:
            node.input[:] = [name for name in node.input if not name.removeprefix("^").startswith("not/there")]
    stored(native, profile.graph, profile.steps, profile.op_log)


def has_dangling_input(graph: Any) -> bool:
    names = {node.name for node in graph.node}
    return any(name.partition(":")[0].removeprefix("^") not in names for node in graph.node for name in node.input)


@pytest.mark.parametrize("model", ["mnist", "rnn in frames", "parameter servers"])
def test_a_real_model(native: NativeTfprof, model: str) -> None:
    traced = MODELS[model]()
    op_log = tfprof_logger.merge_default_with_oplog(traced.graph, run_meta=traced.run_meta)
    graph = traced.graph.as_graph_def(add_shapes=True)
    message = stored(native, graph, [(0, traced.run_meta), (8, traced.run_meta)], op_log)
    assert list(message.steps) == [0, 8]
    assert message.has_trace
    assert len(message.nodes) >= len(graph.node)


def test_a_node_of_the_graph(native: NativeTfprof) -> None:
    graph = text_format.Parse(
        """
        node { name: "w" op: "VariableV2" attr { key: "shape" value { shape { dim { size: 3 } dim { size: -1 } } } } }
        node {
          name: "b" op: "Add" input: "gone_" input: "w:1" input: "^w"
          attr {
            key: "_output_shapes"
            value { list { shape { dim { size: 4 } } shape { unknown_rank: true } shape {} } }
          }
        }
        node { name: "gone_" op: "NoOp" }
        """,
        GraphDef(),
    )
    op_log = OpLogProto(log_entries=[{"name": "b", "types": ["mine", "Add"], "float_ops": 9}])
    message = stored(native, graph, (), op_log)
    assert message.nodes[0] == described(
        """
        name: "w" op: "VariableV2" shape: 3 shape: -1 op_types: "VariableV2"
        attrs { key: "shape" value { shape { dim { size: 3 } dim { size: -1 } } } }
        """
    )
    assert message.nodes[1] == described(
        """
        name: "b" op: "Add" id: 1 op_types: "Add" op_types: "mine" float_ops: 9
        inputs { key: 0 value: 2 } inputs { key: 1 value: 0 } inputs { key: 2 value: 0 }
        src_output_index { key: 0 value: 0 } src_output_index { key: 2 value: 0 }
        output_shapes { key: 0 value { int64_values: 4 } }
        output_shapes { key: 1 value { } }
        output_shapes { key: 2 value { int64_values: 1 } }
        attrs {
          key: "_output_shapes"
          value { list { shape { dim { size: 4 } } shape { unknown_rank: true } shape {} } }
        }
        """
    )


def test_of_two_nodes_of_a_name_the_first_counts(native: NativeTfprof) -> None:
    graph = GraphDef(node=[{"name": "a", "op": "One"}, {"name": "a", "op": "Two"}])
    graph.node[0].attr["N"].i = 1
    graph.node[1].attr["N"].i = 3
    (node,) = stored(native, graph).nodes.values()
    assert (node.op, node.attrs["N"].i) == ("One", 1)


def test_an_input_that_the_graph_lacks_is_left_out(native: NativeTfprof) -> None:
    graph = GraphDef(node=[{"name": "a"}, {"name": "b", "input": ["gone", "a"]}])
    assert ask(native, graph, (), OpLogProto()) == NativeRefusal("IndexError: map::at")
    node = stored_by_us(graph, (), OpLogProto()).nodes[1]
    assert dict(node.inputs) == {1: 0}
    assert dict(node.src_output_index) == {0: 0}


def test_a_step_on_an_accelerator(native: NativeTfprof) -> None:
    run_meta = text_format.Parse(
        """
        step_stats {
          dev_stats {
            device: "/job:w/device:GPU:1"
            node_stats {
              node_name: "a:Conv2D" all_start_micros: 1000 op_end_rel_micros: 0
              memory {
                allocator_name: "GPU_1_bfc" total_bytes: 10 peak_bytes: 7 live_bytes: 3 allocator_bytes_in_use: 50
                allocation_records { alloc_micros: 1 alloc_bytes: 64 }
              }
              memory {
                allocator_name: "cpu" total_bytes: 5 peak_bytes: 5 live_bytes: 5 allocator_bytes_in_use: 90
                allocation_records { alloc_micros: 2 alloc_bytes: 128 }
              }
              memory_stats { temp_memory_size: 100 persistent_memory_size: 1000 }
              output { slot: 2 tensor_description { allocation_description { requested_bytes: 4 allocated_bytes: 8 } } }
              output { slot: 2 tensor_description { allocation_description { requested_bytes: 6 ptr: 77 } } }
              output { slot: 3 tensor_description { dtype: DT_FLOAT } }
            }
          }
          dev_stats {
            device: "/job:w/device:GPU:1/stream:all"
            node_stats { node_name: "a" all_start_micros: 1005 op_end_rel_micros: 20 }
            node_stats { node_name: "a" all_start_micros: 1030 op_end_rel_micros: 5 }
          }
          dev_stats {
            device: "/job:w/device:GPU:1/memcpy"
            node_stats { node_name: "a" all_start_micros: 990 op_end_rel_micros: 70 }
          }
          dev_stats {
            device: "/job:w/device:CPU:0"
            node_stats { node_name: "a" all_start_micros: 1 op_end_rel_micros: 9 }
          }
        }
        """,
        RunMetadata(),
    )
    message = stored(native, GraphDef(node=[{"name": "a", "op": "Conv2D"}]), [(6, run_meta)])
    assert message.nodes[0] == described(
        """
        name: "a" op: "Conv2D" op_types: "/job:w/device:gpu:1" op_types: "Conv2D"
        canonical_device: "/job:w/device:gpu:1" host_device: "/job:w/device:cpu:0"
        execs {
          key: 6
          value {
            run_count: 1 all_start_micros: 990 latest_end_micros: 1060
            devices: "/job:w/device:gpu:1"
            devices: "/job:w/device:gpu:1/memcpy"
            devices: "/job:w/device:gpu:1/stream:all"
            cpu_execs { key: "/job:w/device:gpu:1" value { times { int64_values: 1000 int64_values: 1 } } }
            accelerator_execs {
              key: "/job:w/device:gpu:1/stream:all"
              value { times { int64_values: 1005 int64_values: 20 } times { int64_values: 1030 int64_values: 5 } }
            }
            memory_execs {
              memory_micros: 1000 requested_bytes: 1115 peak_bytes: 1112 residual_bytes: 1008 output_bytes: 14
              accelerator_temp_bytes: 100 accelerator_persistent_bytes: 1000 allocator_bytes_in_use: 50
              output_memory { key: 2 value { bytes: 6 ptr: 77 } }
            }
            allocations { alloc_micros: 1 alloc_bytes: 64 }
          }
        }
        """
    )


def test_steps_on_a_cpu(native: NativeTfprof) -> None:
    def run(*executions: dict[str, Any]) -> RunMetadata:
        stats = [{"node_name": "a"} | execution for execution in executions]
        return RunMetadata(step_stats={"dev_stats": [{"device": "/cpu:0", "node_stats": stats}]})

    first = run(
        {"all_start_micros": 50, "op_end_rel_micros": 4, "memory_stats": {"temp_memory_size": 8}},
        {"all_start_micros": 10, "op_end_rel_micros": 3, "memory_stats": {"persistent_memory_size": 2}},
        {"op_end_rel_micros": 99, "memory_stats": {"temp_memory_size": 99}},  # it never started
    )
    message = stored(native, GraphDef(node=[{"name": "a", "op": "a"}]), [(4, run({})), (2, first)])
    assert message.nodes[0] == described(
        """
        name: "a" op: "a" op_types: "/cpu:0" op_types: "a" canonical_device: "/cpu:0" host_device: "/cpu:0"
        execs {
          key: 2
          value {
            run_count: 2 all_start_micros: 10 latest_end_micros: 54 devices: "/cpu:0"
            cpu_execs {
              key: "/cpu:0"
              value { times { int64_values: 50 int64_values: 4 } times { int64_values: 10 int64_values: 3 } }
            }
            memory_execs { memory_micros: 54 requested_bytes: 8 peak_bytes: 8 host_temp_bytes: 8 }
            memory_execs {
              memory_micros: 13 requested_bytes: 2 peak_bytes: 2 residual_bytes: 2 host_persistent_bytes: 2
            }
          }
        }
        execs { key: 4 value { devices: "/cpu:0" } }
        """
    )


def test_what_only_ran_is_numbered_as_it_was_met(native: NativeTfprof) -> None:
    stats = [{"node_name": name, "all_start_micros": 5} for name in ("ghost", "a", "_SOURCE", "another")]
    run_meta = RunMetadata(step_stats={"dev_stats": [{"device": "/cpu:0", "node_stats": stats}]})
    message = stored(native, GraphDef(node=[{"name": "z"}, {"name": "a"}]), [(0, run_meta)])
    assert {number: node.name for number, node in message.nodes.items()} == {0: "z", 1: "a", 2: "ghost", 3: "another"}
    assert message.nodes[2].op == "ghost"


def test_an_accelerator_without_streams(native: NativeTfprof) -> None:
    def run(*devices: str) -> RunMetadata:
        return RunMetadata(step_stats={"dev_stats": [{"device": device} for device in devices]})

    assert stored(native, GraphDef(), [(0, run("/gpu:0"))]).miss_accelerator_stream
    assert not stored(native, GraphDef(), [(0, run("/gpu:0", "/gpu:0/stream:all"))]).miss_accelerator_stream


FRAME = {"file_id": 5, "lineno": 3, "function_id": -8, "line_id": 2**40, "func_start_line": 2}
STRINGS = {5: "a.py", -8: "main", 2**40: "x = y", 6: "a.py", 0: "unused"}


def op_log_of(entries: list[dict[str, Any]], strings: dict[int, str]) -> OpLogProto:
    return OpLogProto(log_entries=entries, id_to_string=strings)


def test_traces_and_strings_keep_the_numbers_of_the_op_log(native: NativeTfprof) -> None:
    graph = GraphDef(node=[{"name": "a"}, {"name": "b"}, {"name": "c"}])
    traces = {"traces": [FRAME, FRAME | {"file_id": 6}]}
    entries: list[dict[str, Any]] = [{"name": "a", "code_def": traces}, {"name": "b", "code_def": {}}]
    message = stored(native, graph, (), op_log_of(entries, STRINGS))
    assert dict(message.id_to_string) == STRINGS
    assert message.nodes[0].trace == CodeDef(**traces)
    assert message.nodes[1].HasField("trace")
    assert not message.nodes[2].HasField("trace")
    assert message.has_trace


def test_strings_without_traces(native: NativeTfprof) -> None:
    entries: list[dict[str, Any]] = [
        {"name": "a", "float_ops": 2},
        {"name": "of another graph", "code_def": {"traces": [FRAME]}},
    ]
    message = stored(native, GraphDef(node=[{"name": "a"}]), (), op_log_of(entries, STRINGS))
    assert dict(message.id_to_string) == STRINGS
    assert not message.has_trace


def test_op_logs_that_number_their_strings_differently() -> None:
    """Natively the second log's frames would be read with the first one's strings."""
    frame = {"file_id": 1, "function_id": 2}
    gathered = Gathered()
    gathered.add_graph(GraphDef(node=[{"name": "a"}, {"name": "b"}]))
    gathered.add_op_log(op_log_of([{"name": "a", "code_def": {"traces": [frame]}}], {1: "one.py", 2: "f"}))
    gathered.add_op_log(op_log_of([{"name": "b", "code_def": {"traces": [frame]}}], {1: "two.py", 2: "f"}))
    message = profile_proto(profile_of_tables(gathered.tables()))
    frames = [message.nodes[number].trace.traces[0] for number in (0, 1)]
    assert [message.id_to_string[frame.file_id] for frame in frames] == ["one.py", "two.py"]
    assert [message.id_to_string[frame.function_id] for frame in frames] == ["f", "f"]


def test_attributes_that_cannot_be_read() -> None:
    graph = GraphDef(node=[{"name": "a"}])
    graph.node[0].attr["T"].s = b"four"
    damaged = graph.SerializeToString().replace(b"\x12\x04four", b"\x12\x7ffour")
    profile = tfprof.Profile.from_protos(damaged)
    with pytest.raises(
        ProfileError, match=r"graph: the attributes of its nodes, or its functions, cannot be read \(.*whole"
    ):
        profile_proto(profile)


def described(text: str) -> ProfileNode:
    return text_format.Parse(text, ProfileNode())
