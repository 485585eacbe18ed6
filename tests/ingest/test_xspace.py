"""XSpaces are read by step, by layer and by device; most are made by hand, so that every figure is known."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ingest.spaces import ORIGIN, Space, numbered
from tests.made import profile_of_tables, tables_of_traces
from tfprof_widget.ingest.parts.names import HOST, ExecutedNames
from tfprof_widget.ingest.xspace.events import dropped_events
from tfprof_widget.ingest.xspace.reader import read_xspace
from tfprof_widget.ingest.xspace.resolve import resolved_runs
from tfprof_widget.ingest.xspace.steps import Step
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.messages import XSpace


def rows(run: Any) -> list[tuple[str, int, int]]:
    starts = (run.values["start_nanos"] - ORIGIN).tolist()
    return list(zip(run.names, starts, run.values["duration_nanos"].tolist(), strict=True))


def test_op_events_are_executions_by_layer() -> None:
    space = Space()
    space.add("pool/1", "StatefulPartitionedCall/dense/MatMul:_MklMatMul", 1000, 70)
    space.add("pool/1", "ThreadpoolListener::StartRegion", 1070, 0)
    space.add("pool/2", "StatefulPartitionedCall/while/body/_13/while/add:AddV2", 2000, 30)
    space.add("pool/2", "_send_x_0:_Send", 2500, 10)
    space.add("pool/2", "a trace of mine: 7", 2600, 10)
    read = resolved_runs(read_xspace(space.message))
    ((step, run),) = read.runs
    assert step == 0
    assert rows(run) == [("dense/MatMul", 1000, 70), ("while/add", 2000, 30)]
    assert run.values["thread"].tolist() == [0, 1]
    assert read.ops == {"dense/MatMul": "_MklMatMul", "while/add": "AddV2"}
    assert run.devices == (HOST,)


def test_time_is_without_what_ran_inside_on_the_same_thread() -> None:
    space = Space()
    space.add("data", "Iterator::Root", 1000, 500)
    space.add("data", "Iterator::Root::Prefetch", 1100, 300)
    space.add("data", "Iterator::Root::Prefetch::Map[3]", 1200, 50)
    space.add("other", "Iterator::Root::Prefetch::Map[4]", 1250, 40)
    assert rows(space.run()) == [
        ("tf.data/Root", 1000, 200),
        ("tf.data/Root/Prefetch", 1100, 250),
        ("tf.data/Root/Prefetch/Map", 1200, 50),
        ("tf.data/Root/Prefetch/Map", 1250, 40),
    ]


def devices_of_stages(*iterators: str) -> dict[str, str]:
    space = Space()
    for place, iterator in enumerate(iterators):
        space.add("data", iterator, 1000 + 100 * place, 50)
    run = space.run()
    return {run.names[node]: run.devices[device] for node, device in zip(run.node, run.device, strict=True)}


def test_stages_that_wait_for_others_are_on_no_device() -> None:
    """Map waits for its function, whose ops stand by themselves; Batch copies, while the step waits for it."""
    assert devices_of_stages("Iterator::Root::Map", "Iterator::Root::Map::BatchV2") == {
        "tf.data/Root/Map": "/tf.data",
        "tf.data/Root/Map/BatchV2": HOST,
    }


def test_stages_that_work_ahead_are_on_no_device() -> None:
    """What Prefetch and its like call runs in threads of theirs, for later steps; what calls Prefetch does not."""
    assert devices_of_stages(
        "Iterator::Root::BatchV2",
        "Iterator::Root::BatchV2::Prefetch",
        "Iterator::Root::BatchV2::Prefetch::Shuffle",
        "Iterator::Root::ParallelMapV2[2]::TensorSlice",
    ) == {
        "tf.data/Root/BatchV2": HOST,
        "tf.data/Root/BatchV2/Prefetch": "/tf.data",
        "tf.data/Root/BatchV2/Prefetch/Shuffle": "/tf.data",
        "tf.data/Root/ParallelMapV2/TensorSlice": "/tf.data",
    }


def test_ops_of_datasets_are_in_their_scope_and_ops_of_steps_on_their_threads_are_not() -> None:
    space = Space()
    space.add("tf_data_private_threadpool/7", "mul:Mul", 1000, 10)
    space.add("tf_data_iterator_get_next/8", "dense/MatMul:MatMul", 1100, 10)
    run = space.run(names=ExecutedNames({"__inference_step_1": {"dense/MatMul": "dense/MatMul"}}))
    assert run.names == ["tf.data/mul", "dense/MatMul"]


def eager(space: Space, op: str, start: int, duration: int, *, is_function: int = 0) -> None:
    space.add("python", "EagerExecute", start, duration, eager_op=op, is_func=is_function)
    space.add("python", "EagerKernelExecute", start + 10, duration - 20)
    space.add("python", "KernelAndDeviceFunc::Run", start + 20, duration - 40)


def test_eager_ops_count_once_with_what_their_kernels_took() -> None:
    space = Space()
    eager(space, "MatMul", 1000, 500)
    space.add("python", "MatMul:MatMul", 1100, 200)
    space.add("pool", "MatMul:MatMul", 1200, 200)
    eager(space, "__inference_step_1", 2000, 500, is_function=1)
    space.add("python", "Relu:Relu", 2100, 30)
    assert rows(space.run()) == [("eager/MatMul", 1020, 460), ("Relu", 2100, 30)]
    assert read_xspace(space.message).functions == {"__inference_step_1"}


def test_names_are_those_of_the_function_that_was_called_last() -> None:
    space = Space()
    eager(space, "__inference_f_1", 1000, 100, is_function=1)
    space.add("pool", "MatMul:MatMul", 1050, 10)
    eager(space, "__inference_g_2", 2000, 100, is_function=1)
    space.add("pool", "MatMul:MatMul", 2050, 10)
    space.add("pool", "while/body/_5/MatMul:MatMul", 2070, 10)
    functions = {
        "__inference_f_1": {"MatMul": "MatMul"},
        "__inference_g_2": {"MatMul": "g/MatMul", "while/body/_/MatMul": "while/MatMul"},
    }
    assert space.run(names=ExecutedNames(functions)).names == ["MatMul", "g/MatMul", "while/MatMul"]


def test_async_ops_are_executions_by_the_names_of_their_kernels() -> None:
    space = Space()
    space.add(
        "python", "ExecutorState::ProcessAsync::Start", 1000, 10, name="IteratorGetNext", kernel_type="IteratorGetNext"
    )
    space.add("python", "ExecutorState::ProcessAsync::Start", 1100, 10, name="_recv_x_0", kernel_type="_Recv")
    assert rows(space.run()) == [("IteratorGetNext", 1000, 10)]


def test_async_op_that_is_also_recorded_as_an_op_is_one_execution() -> None:
    space = Space()
    space.add("pool", "next:IteratorGetNext", 1000, 70)
    space.add("pool", "ExecutorState::ProcessAsync::Start", 1040, 20, name="next", kernel_type="IteratorGetNext")
    space.add("pool", "ExecutorState::ProcessAsync::Done", 2000, 10, name="next", kernel_type="IteratorGetNext")
    assert rows(space.run()) == [("next", 1000, 70)]


@pytest.mark.parametrize("threads", [("first", "second"), ("second", "first")])
def test_plain_name_is_that_of_the_kernel_that_ran_first(threads: tuple[str, str]) -> None:
    """Whatever thread is listed first: another function may run a node as another type."""
    ran = {"first": (200, "_FusedMatMul"), "second": (900, "BiasAdd")}
    space = Space()
    for thread in threads:
        start, op = ran[thread]
        space.add(thread, f"dense/BiasAdd:{op}", start, 10)
    assert {name: start for name, start, _ in rows(space.run())} == {"dense/BiasAdd": 200, "dense/BiasAdd/BiasAdd": 900}


def test_executions_belong_to_the_step_last_begun() -> None:
    space = Space()
    for start in (500, 1000, 1500, 2500):
        space.add("pool", "a:Mul", start, 10)
    steps = [Step(4, "train", ORIGIN + 1000), Step(5, "train", ORIGIN + 2000)]
    runs = dict(resolved_runs(read_xspace(space.message, steps)).runs)
    assert {step: rows(run) for step, run in runs.items()} == {
        4: [("a", 500, 10), ("a", 1000, 10), ("a", 1500, 10)],
        5: [("a", 2500, 10)],
    }


def test_between_steps_only_eager_ops_are_no_part_of_the_step_before() -> None:
    space = Space()
    space.add("pool", "stray:Mul", 500, 10)  # of a session, before any step
    space.add("pool", "Iterator::Root", 1100, 10)
    space.add("pool", "Iterator::Root", 2100, 10)
    eager(space, "MatMul", 2200, 100)
    steps = [Step(0, "eager", ORIGIN, True), Step(1, "fit", ORIGIN + 1000), Step(0, "eager", ORIGIN + 2000, True)]
    runs = {step: run.names for step, run in resolved_runs(read_xspace(space.message, steps)).runs}
    assert runs == {0: ["eager/MatMul"], 1: ["tf.data/Root", "tf.data/Root"]}


def test_allocations_belong_to_what_ran_on_their_thread() -> None:
    space = Space()
    space.add("pool", "a:Mul", 1000, 100)
    allocation = {"allocator_name": "mklcpu", "tf_op": "a", "allocation_bytes": 512}
    space.add("pool", "MemoryAllocation", 1010, 0, addr=1, requested_bytes=300, region_type="temp", **allocation)
    space.add("pool", "MemoryAllocation", 1020, 0, addr=2, requested_bytes=400, region_type="output", **allocation)
    space.add("pool", "MemoryDeallocation", 1030, 0, addr=1, requested_bytes=300)
    space.add("pool", "MemoryAllocation", 1040, 0, addr=3, requested_bytes=5, region_type="temp", **allocation)
    space.add("pool", "MemoryDeallocation", 1050, 0, addr=9, requested_bytes=999)  # made by another op
    space.add("pool", "MemoryAllocation", 3000, 0, addr=4, requested_bytes=77, **allocation)  # of nothing that ran
    run = space.run()
    values = {
        name: run.values[name].tolist() for name in ("requested_bytes", "peak_bytes", "residual_bytes", "output_bytes")
    }
    assert values == {"requested_bytes": [705], "peak_bytes": [700], "residual_bytes": [405], "output_bytes": [400]}
    assert run.allocations["bytes"].tolist() == [300, 400, -300, 5]
    assert not run.allocations["on_accelerator"].any()


def test_memory_is_that_of_each_step() -> None:
    space = Space()
    for number in (1, 2, 3):
        space.add("pool", "a:Mul", 1000 * number, 100)
        space.add("pool", "b:Mul", 1000 * number + 200, 100)
        space.add("pool", "MemoryAllocation", 1000 * number + 250, 0, addr=number, requested_bytes=10 * number)
    steps = [Step(number, "train", ORIGIN + 1000 * number) for number in (1, 2, 3)]
    runs = resolved_runs(read_xspace(space.message, steps)).runs
    found = [
        (
            step,
            run.values["requested_bytes"].tolist(),
            *(run.allocations[name].tolist() for name in ("execution", "bytes")),
        )
        for step, run in runs
    ]
    assert found == [(1, [0, 10], [1], [10]), (2, [0, 20], [1], [20]), (3, [0, 30], [1], [30])]


def test_a_release_is_of_the_op_that_allocated_whoever_makes_it() -> None:
    space = Space()
    space.add("pool", "a:Mul", 1000, 1000)
    space.add("pool", "MemoryAllocation", 1100, 0, addr=1, requested_bytes=300)
    space.add("pool", "MemoryAllocation", 1200, 0, addr=2, requested_bytes=400)
    space.add("other pool", "b:Mul", 3000, 1000)
    space.add("other pool", "MemoryDeallocation", 3500, 0, addr=1, requested_bytes=300)
    space.add("other pool", "MemoryAllocation", 4000, 0, addr=1, requested_bytes=50)  # at the same place
    space.add("third pool", "MemoryDeallocation", 6000, 0, addr=1, requested_bytes=50)  # while no op runs
    space.add("third pool", "MemoryDeallocation", 7000, 0, addr=2, requested_bytes=400)
    run = space.run()
    node = [run.names[row] for row in run.allocations["execution"].tolist()]
    micros = (run.allocations["micros"] - ORIGIN // 1000).tolist()
    assert list(zip(node, micros, run.allocations["bytes"].tolist(), strict=True)) == [
        ("a", 1, 300),
        ("a", 1, 400),
        ("a", 3, -300),
        ("b", 4, 50),
        ("b", 6, -50),
        ("a", 7, -400),
    ]
    values = {name: run.values[name].tolist() for name in ("requested_bytes", "peak_bytes", "residual_bytes")}
    # as they were when each op ended
    assert values == {"requested_bytes": [700, 50], "peak_bytes": [700, 50], "residual_bytes": [700, 50]}


def test_what_is_released_in_a_later_step_is_held_to_the_end_of_its_own() -> None:
    space = Space()
    eager(space, "Zeros", 500, 100)
    space.add("python", "MemoryAllocation", 550, 0, addr=9, requested_bytes=7)
    for number in (1, 2):
        space.add("pool", "a:Mul", 1000 * number, 100)
        space.add("pool", "MemoryAllocation", 1000 * number + 50, 0, addr=number, requested_bytes=10 * number)
    space.add("pool", "MemoryDeallocation", 1900, 0, addr=9, requested_bytes=7)  # eager ops are one step throughout
    space.add("pool", "MemoryDeallocation", 2200, 0, addr=2, requested_bytes=20)
    space.add("pool", "MemoryDeallocation", 2300, 0, addr=1, requested_bytes=10)
    steps = [Step(0, "eager", ORIGIN, True), *(Step(number, "fit", ORIGIN + 1000 * number) for number in (1, 2))]
    runs = resolved_runs(read_xspace(space.message, steps)).runs
    changes = [(step, run.allocations["bytes"].tolist()) for step, run in runs]
    assert changes == [
        (0, [7, -7]),
        (1, [10]),
        (2, [20, -20]),
    ]


def gpu_space() -> Space:
    space = Space()
    space.add("pool", "dense/MatMul:MatMul", 1000, 20)
    space.add("pool", "dense/Cast:Cast", 1030, 5)
    allocation = {"allocator_name": "GPU_0_bfc", "requested_bytes": 64, "addr": 1, "bytes_allocated": 4096}
    space.add("pool", "MemoryAllocation", 1005, 0, region_type="output", **allocation)
    gpu = "/device:GPU:0"
    space.add("Stream #14(Compute)", "ampere_sgemm", 1500, 300, gpu, tf_op="dense/MatMul:MatMul")
    space.add("Stream #14(Compute)", "splitK_reduce", 1800, 50, gpu, tf_op="dense/MatMul:MatMul")
    space.add("Stream #15(MemcpyH2D)", "MemcpyH2D", 1400, 40, gpu)
    space.add("TensorFlow Ops", "dense/MatMul:MatMul", 1500, 350, gpu, tf_op="dense/MatMul:MatMul")
    return space


def test_kernels_of_gpus_are_accelerator_time_of_their_ops() -> None:
    tables = tables_of_traces(read_xspace(gpu_space().message))
    profile = profile_of_tables(tables)
    view = profile.view("scope", max_depth=9)
    row = view.names.index("dense/MatMul")
    nanos = {name: int(view.own[name][row]) for name in ("accelerator_micros", "cpu_micros", "runs")}
    assert view.time_scale == 1000
    assert nanos == {"accelerator_micros": 350, "cpu_micros": 20, "runs": 1}
    assert profile.nodes.names == ("dense/Cast", "dense/MatMul")  # the copy is no node
    devices = [profile.nodes.devices[code] for code in profile.nodes.device.tolist()]
    assert devices == [HOST, "/job:localhost/replica:0/task:0/device:gpu:0"]
    assert profile.executions.bytes_in_use.max() == 4096
    assert profile.allocations.on_accelerator.tolist() == [True]


@pytest.mark.parametrize(
    ("annotation", "node", "op"),
    [
        ("dense/MatMul:MatMul", "dense/MatMul", "MatMul"),
        ("while/body:While::dense/MatMul:MatMul#id=1#", "dense/MatMul", "MatMul"),
        ("Iterator/_4:_Recv#from=Iterator,to=dense/Cast#::#edge_name=edge_42_Iterator#", "Iterator/_4", "_Recv"),
        ("#edge_name=copy#", "volta_sgemm", "volta_sgemm"),
    ],
)
def test_op_of_a_kernel_in_traces_of_tensorflow_2_2_to_2_5(annotation: str, node: str, op: str) -> None:
    """The stat's name is from TensorFlow's xplane_schema.cc, the texts are shaped as in recordings of V100s."""
    space = Space()
    space.add("Stream #19(Compute)", "volta_sgemm", 1500, 300, "/device:GPU:0", annotation=annotation)
    tables = tables_of_traces(read_xspace(space.message))
    profile = profile_of_tables(tables)
    assert (profile.nodes.names, profile.nodes.ops) == ((node,), (op,))
    assert profile.view("op").grand_total["accelerator_micros"].tolist() == [300]


def test_times_of_older_traces_count_from_the_epoch() -> None:
    space = XSpace()
    plane = space.planes.add(name="/host:CPU")
    plane.event_metadata[1].name = "a:Mul"
    line = plane.lines.add(name="pool", timestamp_ns=ORIGIN)
    line.events.add(metadata_id=1, offset_ps=7_999, duration_ps=2_000)
    ((_, run),) = resolved_runs(read_xspace(space)).runs
    assert rows(run) == [("a", 7, 2)]


def test_dropped_events_are_counted() -> None:
    space = Space()
    space.add("pool", "a:Mul", 1000, 10)
    plane = space.planes["/host:CPU"]
    plane.stats.add(metadata_id=numbered(plane.stat_metadata, "dropped_traces"), uint64_value=5)
    space.message.warnings.append("GPU 0: 12 events were dropped. Raise the limit.")
    assert dropped_events(space.message) == 17
    assert read_xspace(space.message.SerializeToString()).dropped == 17


def test_what_is_no_xspace_is_refused() -> None:
    with pytest.raises(ProfileError, match="xspace: these 5 bytes are no XSpace"):
        read_xspace(b"bytes")


def test_node_that_ran_kernels_of_two_types_is_two() -> None:
    """One function has an op fused, and another has not."""
    space = Space()
    space.add("pool", "conv/Relu:_FusedConv2D", 1000, 10)
    space.add("pool", "conv/Relu:Relu", 2000, 10)
    read = resolved_runs(read_xspace(space.message), ops={"conv/Relu": "Relu"})
    ((_, run),) = read.runs
    assert run.names == ["conv/Relu/_FusedConv2D", "conv/Relu"]
    assert read.ops == {"conv/Relu": "Relu", "conv/Relu/_FusedConv2D": "_FusedConv2D"}
    assert read.variants == {"conv/Relu/_FusedConv2D": "conv/Relu"}


def test_times_of_traces_that_do_not_tell_their_start_count_from_the_given_one() -> None:
    """As those of TensorFlow 2.12."""
    space = Space()
    space.add("pool", "dense/MatMul:MatMul", 600, 10)
    del space.message.planes[0]
    steps = [Step(0, "first", ORIGIN), Step(1, "second", ORIGIN + 500)]
    columns = read_xspace(space.message, steps, ORIGIN)
    assert (columns.start.tolist(), columns.step.tolist()) == ([ORIGIN + 600], [1])
