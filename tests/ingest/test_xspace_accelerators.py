"""What accelerators ran is read as they record it: kernels by op, copies as transfers, on CUDA, ROCm and others.

The names of lines, stats and memory kinds are those of TensorFlow's xplane_schema.cc and cupti_collector.cc, the texts
are shaped as in real recordings.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tfprof_widget as tfprof
from tests.ingest.spaces import ORIGIN, Space, numbered
from tests.made import profile_of_tables, tables_of_traces
from tfprof_widget.api.profile import Profile
from tfprof_widget.charts.moments import timeline_layout
from tfprof_widget.ingest.parts.names import HOST
from tfprof_widget.ingest.xspace.reader import read_xspace
from tfprof_widget.ingest.xspace.steps import read_steps
from tfprof_widget.lib.messages import GraphDef, HloProto, RunMetadata

GPU = "/device:GPU:0"
ON_GPU = "/job:localhost/replica:0/task:0/device:gpu:0"
KERNELS = "Stream #14(Compute)"


def profile_of(space: Space) -> Profile:
    return profile_of_tables(tables_of_traces(read_xspace(space.message)))


def devices_of(profile: Profile) -> dict[str, str]:
    nodes = profile.nodes
    return {name: nodes.devices[place] for name, place in zip(nodes.names, nodes.device.tolist(), strict=True)}


def one_kernel(**stats: Any) -> Space:
    space = Space()
    space.add(KERNELS, "some_symbol", 1500, 300, GPU, **stats)
    return space


def only_node(space: Space) -> tuple[str, str]:
    nodes = profile_of(space).nodes
    (name,) = nodes.names
    return name, nodes.ops[nodes.op[0]]


def test_a_node_of_which_only_kernels_were_recorded_is_on_their_device(tmp_path: Path) -> None:
    """Filters by device and the checkers of accelerators ask for it; saved, merged and read again it stays so."""
    profile = profile_of(one_kernel(tf_op="dense/MatMul:MatMul"))
    profile.save(tmp_path / "saved.tfprof")
    merged = tfprof.merge({"a": profile, "b": profile_of(one_kernel(tf_op="dense/MatMul:MatMul"))})
    for each in (profile, tfprof.load(tmp_path / "saved.tfprof"), merged):
        assert devices_of(each) == {"dense/MatMul": ON_GPU}
        assert each.view("op", account_type_regexes=[".*gpu:0.*"]).names == ("MatMul",)


@pytest.mark.parametrize(
    ("stats", "node", "op"),
    [
        (
            {"tf_op": "XlaModule:", "hlo_op": "cudnn-conv.1", "hlo_module": "jit_f", "name": "jit(f)/conv_general"},
            *("jit(f)/conv_general", "conv_general"),
        ),
        (
            {"tf_op": "XlaModule:", "hlo_op": "fusion.12", "hlo_module": "jit_f", "name": "dense/MatMul:"},
            *("dense/MatMul", "MatMul"),
        ),
        (
            {"tf_op": "XlaModule:", "hlo_op": "input_fusion.12", "hlo_module": "jit_f"},
            "jit_f/input_fusion.12",
            "input_fusion",
        ),
        ({"tf_op": "MakeTensorFromProto"}, "some_symbol", "some_symbol"),
        ({}, "some_symbol", "some_symbol"),
    ],
    ids=["op of JAX", "op of Keras", "XLA's own op", "no op", "nothing"],
)
def test_op_of_a_kernel_of_xla(stats: dict[str, str], node: str, op: str) -> None:
    assert only_node(one_kernel(**stats)) == (node, op)


def test_equal_symbols_of_different_functions_are_different_nodes() -> None:
    space = Space()
    for start, module in ((1000, "jit_add"), (2000, "jit_sin")):
        stats = {"tf_op": "XlaModule:", "hlo_op": "loop_fusion", "hlo_module": module}
        space.add(KERNELS, "loop_fusion.kd", start, 300, GPU, **stats)
    assert profile_of(space).nodes.names == ("jit_add/loop_fusion", "jit_sin/loop_fusion")


def test_a_kernel_named_like_a_function_of_the_runtime_was_not_compiled() -> None:
    """ROCm has kernels such as `__amd_rocclr_copyBuffer.kd`."""
    space = Space()
    space.add("Stream #17(Kernel)", "__amd_rocclr_copyBuffer.kd", 1500, 300, GPU)
    tables = tables_of_traces(read_xspace(space.message))
    assert not tables.compiled
    assert only_node(space) == ("__amd_rocclr_copyBuffer.kd",) * 2


def test_a_compiled_function_is_one_row_of_host_and_device() -> None:
    space = one_kernel(tf_op="__inference_f_12:__inference_f_12")
    space.add("pool", "__inference_f_12:__inference_f_12", 1000, 30)
    profile = profile_of(space)
    view = profile.view("scope", max_depth=9)
    assert profile.nodes.names == ("f",)
    row = view.names.index("f")
    assert {name: int(view.own[name][row]) for name in ("accelerator_micros", "cpu_micros")} == {
        "accelerator_micros": 300,
        "cpu_micros": 30,
    }


NEW = "kind_src:{} kind_dst:{} size:4096 dest:{} async:1"


@pytest.mark.parametrize(
    ("line", "event", "details", "kind", "ends"),
    [
        ("Stream #15(MemcpyH2D)", "MemcpyH2D", "size:4096 dest:0 async:1", "MEMCPYHtoD", (HOST, ON_GPU)),
        ("Stream #15(MemcpyD2H)", "MemcpyD2H", "size:4096 dest:0 async:1", "MEMCPYDtoH", (ON_GPU, HOST)),
        (KERNELS, "copy", NEW.format("pageable", "device", 0), "MEMCPYHtoD", (HOST, ON_GPU)),
        (KERNELS, "copy", NEW.format("device", "pinned", 0), "MEMCPYDtoH", (ON_GPU, HOST)),
        (KERNELS, "copy", NEW.format("device", "device", 0), "MEMCPYDtoD", (ON_GPU, ON_GPU)),
        ("Stream #9(MemcpyP2P)", "MemcpyP2P", "size:4096 dest:3 async:1", "MEMCPYPtoP", (ON_GPU, ON_GPU[:-1] + "3")),
        ("Stream #8(MemcpyOther)", "CopyHostToDevice", "size:4096", "MEMCPYHtoD", (HOST, ON_GPU)),
    ],
)
@pytest.mark.parametrize("op", ["Iterator/_4:_Recv", ""], ids=["received", "of no op"])
def test_a_copy_is_a_transfer_with_its_bytes_and_no_kernel(
    line: str, event: str, details: str, kind: str, ends: tuple[str, str], op: str
) -> None:
    space = one_kernel(tf_op="dense/MatMul:MatMul")
    space.add(line, event, 3000, 500, GPU, memcpy_details=details, tf_op=op)
    profile = profile_of(space)
    copies = profile.transfers
    assert profile.executions.duration_nanos.tolist() == [300]
    assert [copies.kinds[place] for place in copies.kind] == [kind]
    assert (copies.devices[copies.source[0]], copies.devices[copies.target[0]]) == ends
    assert (copies.duration_nanos.tolist(), copies.bytes.tolist()) == ([500], [4096])


def test_what_an_op_copies_while_it_computes_is_its_work_too() -> None:
    """TensorFlow's own statistics of the same recordings count it: FusedBatchNormV3 copies within the device."""
    space = one_kernel(tf_op="dense/MatMul:MatMul")
    copy = {"memcpy_details": "size:4096 dest:0 async:1", "tf_op": "dense/MatMul:MatMul"}
    space.add(KERNELS, "MemcpyD2D", 3000, 500, GPU, **copy)
    profile = profile_of(space)
    assert profile.executions.duration_nanos.tolist() == [300, 500]
    assert profile.transfers.bytes.tolist() == [4096]


def test_the_tensor_of_a_copy_is_that_of_the_op_that_made_it() -> None:
    space = Space()
    annotation = "IteratorGetNext/_3:_Send#from=IteratorGetNext,to=dense/Cast#::#edge_name=edge_43_IteratorGetNext#"
    copy = {"annotation": annotation, "memcpy_details": "size:8 dest:0 async:1"}
    space.add("pool", "IteratorGetNext:IteratorGetNext", 1000, 20)
    space.add("Stream #15(MemcpyH2D)", "MemcpyH2D", 3000, 500, GPU, **copy)
    profile = profile_of(space)
    copies = profile.transfers
    assert [profile.nodes.names[node] for node in copies.node.tolist()] == ["IteratorGetNext"]


def test_devices_that_are_plugged_in_are_accelerators() -> None:
    space = Space()
    space.add(KERNELS, "some_symbol", 1500, 300, "/device:CUSTOM:NPU", tf_op="dense/MatMul:MatMul")
    view = profile_of(space).view("op")
    assert view.own["accelerator_micros"][view.names.index("MatMul")] == 300


def allocation(name: str, allocator: str, size: int, in_use: int, **more: Any) -> dict[str, Any]:
    stats = {"tf_op": name, "allocator_name": allocator, "requested_bytes": size, "bytes_allocated": in_use}
    return stats | {"addr": in_use, "region_type": "output", "id": 7} | more


def test_what_an_op_allocates_is_its_memory_where_only_its_kernels_were_recorded(tmp_path: Path) -> None:
    """TensorFlow's default for Keras' TensorBoard callback records few of the executions on the host."""
    space = one_kernel(tf_op="dense/MatMul:MatMul")
    space.add("pool", "MemoryAllocation", 1400, 0, **allocation("dense/MatMul", "GPU_0_bfc", 64, 4096))
    space.add("pool", "MemoryAllocation", 1410, 0, **allocation("dense/MatMul", "GPU_0_bfc", 32, 8192))
    space.add("pool", "MemoryDeallocation", 1900, 0, **allocation("", "GPU_0_bfc", 32, 8192))
    profile = profile_of(space)
    profile.save(tmp_path / "saved.tfprof")
    for each in (profile, tfprof.load(tmp_path / "saved.tfprof")):
        view = each.view("op")
        row = view.names.index("MatMul")
        of_memory = {name: int(view.own[name][row]) for name in ("bytes", "peak_bytes", "output_bytes")}
        assert of_memory == {"bytes": 96, "peak_bytes": 96, "output_bytes": 96}
        assert each.executions.bytes_in_use.max() == 8192
        assert devices_of(each) == {"dense/MatMul": ON_GPU}
    assert profile.executions.duration_nanos.tolist() == [300, 1]  # the second stands for what was not recorded


def test_memory_is_on_the_device_that_the_allocator_names() -> None:
    """Also where no kernel of the op was recorded; memory of the host that a GPU reads is the host's."""
    space = Space()
    for start, name, allocator in ((1000, "a", "GPU_4_bfc"), (2000, "b", "gpu_host_bfc"), (3000, "c", "gpu_async_1")):
        space.add("pool", f"{name}:Mul", start, 100)
        space.add("pool", "MemoryAllocation", start + 10, 0, **allocation(name, allocator, 64, 4096))
    devices = devices_of(profile_of(space))
    assert devices == {"a": ON_GPU.replace(":0/device:gpu:0", ":0/device:gpu:4"), "b": HOST, "c": ON_GPU[:-1] + "1"}


def test_the_peak_of_each_allocator_is_of_all_its_events(tmp_path: Path) -> None:
    """As TensorFlow counts: what is in use, and what is reserved for stacks; the capacity is the device's."""
    space = one_kernel(tf_op="dense/MatMul:MatMul")
    for plane in space.message.planes:
        if plane.name == GPU:
            plane.stat_metadata[99].name = "memory_size"
            plane.stats.add(metadata_id=99, uint64_value=2**34)
    for start, in_use in ((1000, 4096), (1100, 8192), (1200, 2048)):
        more = {"bytes_reserved": 512, "tf_op": ""}
        space.add("pool", "MemoryAllocation", start, 0, **allocation("", "GPU_0_bfc", 64, in_use, **more))
    space.add("pool", "MemoryDeallocation", 1300, 0, **allocation("", "gpu_host_bfc", 64, 256))
    profile = profile_of(space)
    profile.save(tmp_path / "saved.tfprof")
    merged = tfprof.merge([profile, profile_of(one_kernel())])
    for each in (profile, tfprof.load(tmp_path / "saved.tfprof"), merged):
        rows = each.allocators().to_dict("split")["data"]
        assert rows == [["GPU_0_bfc", ON_GPU, 8704, 2**34], ["gpu_host_bfc", HOST, 256, 0]]


def test_the_allocator_of_a_tpu_has_a_number_in_place_of_a_name() -> None:
    """As in TensorFlow's xplane_to_memory_profile.cc, which takes the stat index_on_host then."""
    space = Space()
    space.add("XLA Ops", "%fusion.1 = f32[8] fusion(…)", 1000, 300, "/device:TPU:1")
    for number, in_use in ((0, 512), (1, 4096), (1, 1024)):
        memory = {"index_on_host": number, "bytes_allocated": in_use, "bytes_reserved": 2048, "tf_op": "dummy"}
        space.add("pool", "MemoryAllocation", 1000, 0, requested_bytes=64, addr=in_use, **memory)
    profile = profile_of(space)
    assert "dummy" not in profile.nodes.names
    rows = profile.allocators()[["allocator", "device", "peak_bytes"]].to_dict("split")["data"]
    on_tpu = ON_GPU.replace("gpu:0", "tpu:")
    assert rows == [["TPU_0", f"{on_tpu}0", 2560], ["TPU_1", f"{on_tpu}1", 6144]]


TPU = "/device:TPU:0"
HLO_STATS: dict[str, Any] = {
    "hlo_category": "loop fusion",
    "program_id": 77,
    "tf_op": "jit(f)/jit(main)/add:",
    "flops": 500,
    "bytes_accessed": 64,
}


def add_program(space: Space, program: int, *instructions: dict[str, Any], **index: Any) -> None:
    """What XLA's compiler notes of its ops, in the field numbers of XLA's hlo.proto and xla_data.proto."""
    module = {"name": "jit_f", "computations": [{"instructions": instructions}], "stack_frame_index": index}
    plane = space.message.planes.add(name="/host:metadata")
    plane.stat_metadata[1].name = "Hlo Proto"
    metadata = plane.event_metadata[program]
    metadata.name = f"jit_f({program})"
    metadata.stats.add(metadata_id=1, bytes_value=HloProto(hlo_module=module).SerializeToString())


def add_xla_op(space: Space, text: str, start: int, duration: int, line: str = "XLA Ops", **stats: Any) -> None:
    """An op as a TPU records it: what is the same each time stands with the event's name."""
    space.add(line, text, start, duration, TPU)
    plane = next(plane for plane in space.message.planes if plane.name == TPU)
    metadata = next(each for each in plane.event_metadata.values() if each.name == text)
    del metadata.stats[:]
    for name, value in stats.items():
        number = numbered(plane.stat_metadata, name)
        key = "int64_value" if isinstance(value, int) else "str_value"
        metadata.stats.add(**{"metadata_id": number, key: value})


def test_ops_of_a_tpu_are_read_with_float_operations_and_lines() -> None:
    space = Space()
    for start in (1000, 2000):
        add_xla_op(
            space, "%fusion.1 = f32[8] fusion(…)", start, 300, source_stack="main.py:9:2\nmodel.py:4:8", **HLO_STATS
        )
    profile = profile_of(space)
    view = profile.view("op")
    row = view.names.index("add")
    assert profile.nodes.names == ("jit(f)/jit(main)/add",)
    assert devices_of(profile) == {"jit(f)/jit(main)/add": ON_GPU.replace("gpu", "tpu")}
    found = {name: int(view.own[name][row]) for name in ("accelerator_micros", "runs", "float_ops")}
    assert found == {"accelerator_micros": 600, "runs": 2, "float_ops": 1000}
    assert profile.device_kernels()["accessed_bytes"].tolist() == [64]
    assert [name.strip() for name in profile.view("code", max_depth=9).names[1:]] == ["main.py:9:", "model.py:4:"]


def test_an_op_of_xla_takes_no_time_while_ops_run_within_it() -> None:
    space = Space()
    add_xla_op(space, "%while.1 = (f32[8]) while(…)", 1000, 900, hlo_category="while", program_id=77)
    add_xla_op(space, "%fusion.1 = f32[8] fusion(…)", 1100, 300, **HLO_STATS)
    profile = profile_of(space)
    names = [profile.nodes.names[node] for node in profile.executions.node.tolist()]
    nanos = dict(zip(names, profile.executions.duration_nanos.tolist(), strict=True))
    assert nanos == {"while.1": 600, "jit(f)/jit(main)/add": 300}


def add_timed_op(space: Space, name: str, start: int, lasted: int, own: tuple[int, int]) -> None:
    """Add an op with its start and length by the host's clock, and by the TPU's own."""
    add_xla_op(space, name, start, lasted)
    (plane,) = (plane for plane in space.message.planes if plane.name == TPU)
    for stat, nanos in zip(("device_offset_ps", "device_duration_ps"), own, strict=True):
        plane.lines[0].events[-1].stats.add(metadata_id=numbered(plane.stat_metadata, stat), int64_value=1000 * nanos)


def test_the_clock_of_a_tpu_counts_before_that_of_the_host() -> None:
    """xprof's own statistics take these stats where they are, which are in picoseconds."""
    space = Space()
    add_timed_op(space, "%fusion.1 = f32[8] fusion(…)", 1000, 0, (900, 250))
    assert profile_of(space).executions.duration_nanos.tolist() == [250]


def test_ops_of_a_tpu_stand_where_its_own_clock_has_them(tmp_path: Path) -> None:
    """The host's clock jumps by 400 ns after the first op; the programs, which have no other, go with their ops."""
    space = Space()
    for number, (start, own) in enumerate([(1000, 100), (1600, 300), (2400, 1100), (2650, 1310)]):
        add_timed_op(space, f"%fusion.{number} = f32[8] fusion(…)", start, 200, (own, 200))
    for start, lasted in ((1000, 800), (2400, 450)):
        add_xla_op(space, "jit_f(7)", start, lasted, "XLA Modules")
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(space.message.SerializeToString())
    profile = tfprof.load(path)
    executions, steps = profile.executions, profile.device_steps()
    started = executions.start_nanos - executions.start_nanos[0]
    assert (started.tolist(), executions.step.tolist()) == ([0, 200, 1000, 1210], [0, 0, 1, 1])
    assert steps["idle_micros"].round(3).tolist() == [0, 0.01]
    assert steps["step_micros"].round(3).tolist() == [0.4, 0.41]


def test_copies_beside_the_ops_of_a_tpu_are_transfers() -> None:
    """Memory space 5 is the host's."""
    space = Space()
    add_xla_op(space, "%fusion.1 = f32[8] fusion(…)", 1000, 300, **HLO_STATS)
    shapes = "(f32[8]{0:T(8,128)}, f32[8]{0:T(8,128)S(5)}, u32[]{:S(2)})"
    copy = {"hlo_category": "copy-start", "bytes_accessed": 32, "shape_with_layout": shapes}
    add_xla_op(space, "%copy-start.2 = …", 1000, 500, "Async XLA Ops", **copy)
    copies = profile_of(space).transfers
    ends = [copies.devices[place] for place in (copies.source[0], copies.target[0])]
    assert (copies.kinds, ends) == (("MEMCPYHtoD",), [HOST, ON_GPU.replace("gpu", "tpu")])
    assert (copies.duration_nanos.tolist(), copies.bytes.tolist()) == ([500], [32])


def test_copies_start_and_end_with_their_own_ops_on_the_clock_of_the_tpu() -> None:
    """By the host's clock, which stood still, the op of 800 ns before either is there at the same moment."""
    space = Space()
    add_timed_op(space, "%before.1 = …", 1000, 0, (0, 800))
    add_timed_op(space, "%copy-start.2 = …", 1000, 0, (800, 5))
    add_timed_op(space, "%copy-done.2 = f32[8] copy-done((f32[8], f32[8], u32[]) %copy-start.2)", 2000, 500, (900, 600))
    add_timed_op(space, "%after.1 = …", 2500, 0, (1500, 800))
    copy = {"hlo_category": "copy-start", "bytes_accessed": 32, "shape_with_layout": "(f32[8]{0}, f32[8]{0:S(5)})"}
    add_xla_op(space, "%copy-start.2 = …", 1000, 1500, "Async XLA Ops", **copy)
    profile = profile_of(space)
    copies, ops = profile.transfers, profile.executions
    assert (copies.start_nanos - ops.start_nanos.min()).tolist() == [800]
    assert copies.duration_nanos.tolist() == [700]  # to 1,500, where copy-done ends
    lanes = {lane.name: (lane.is_transfers, len(lane.start)) for lane in timeline_layout(profile, [0]).lanes}
    assert lanes == {"TPU:0 · stream all · XLA ops": (False, 4), "TPU:0 · transfers": (True, 1)}


def test_what_the_compiler_notes_of_an_op_comes_before_what_the_kernel_says() -> None:
    """A fusion's kernel is named after one of its ops, which may be another's; the notes have the stack, too."""
    space = one_kernel(
        tf_op="XlaModule:", hlo_op="fusion.3", hlo_module="jit_f", name="jit(f)/dot_general", program_id=77
    )
    add_program(
        space,
        77,
        {"name": "fusion.3", "metadata": {"op_name": "jit(f)/transpose", "stack_frame_id": 2}},
        file_names=["main.py", "model.py"],
        function_names=["main", "forward"],
        file_locations=[
            {"file_name_id": 1, "function_name_id": 1, "line": 9},
            {"file_name_id": 2, "function_name_id": 2, "line": 4},
        ],
        stack_frames=[{"file_location_id": 1}, {"file_location_id": 2, "parent_frame_id": 1}],
    )
    profile = profile_of(space)
    assert profile.nodes.names == ("jit(f)/transpose",)
    assert profile.view("code", max_depth=9).names[1:] == ("main.py:9:main", "model.py:4:forward")


def test_damaged_notes_of_the_compiler_cost_themselves() -> None:
    space = one_kernel(tf_op="XlaModule:", hlo_op="fusion.3", hlo_module="jit_f", program_id=77)
    add_program(space, 77, {"name": "fusion.3", "metadata": {"op_name": "jit(f)/add", "stack_frame_id": 99}})
    assert profile_of(space).nodes.names == ("jit(f)/add",)
    space.message.planes[-1].event_metadata[77].stats[0].bytes_value = b"\xff\xff"
    assert profile_of(space).nodes.names == ("jit_f/fusion.3",)


def test_a_device_that_is_not_read_is_named() -> None:
    space = Space()
    space.add("pool", "dense/MatMul:MatMul", 1000, 20)
    space.add("Jobs", "job", 1000, 20, "/device:DSP:0")
    assert any(note.startswith("/device:DSP:0: its events are not read") for note in read_xspace(space.message).notes)
    space.add(KERNELS, "some_symbol", 1500, 300, GPU)
    assert len(read_xspace(space.message).notes) == 1


def test_programs_of_xla_are_steps() -> None:
    """A program runs on all cores at once, and begins with the first of them."""
    space = Space()
    for core, late in (("/device:TPU:0", 50), ("/device:TPU:1", 0)):
        for start, program in ((1000, "jit_f(77)"), (3000, "jit_f(77)"), (5000, "jit_g(78)")):
            space.add("XLA Modules", program, start + late, 900, core)
    steps = [(step.name, step.start - ORIGIN) for step in read_steps(space.message)[1:]]
    assert steps == [("jit_f", 1000), ("jit_f", 3000), ("jit_g", 5000)]


def test_a_step_of_an_accelerator_begins_where_its_group_does() -> None:
    """TensorFlow groups what belongs to a step, on the host and on the accelerator."""
    space = Space()
    for group, start in ((0, 1000), (1, 3000)):
        space.add("python", "work", start, 100, group_id=group)
        space.add("Steps", str(group), start + 500, 900, GPU, group_id=group, step_name=f"train {group + 7}")
    steps = [(step.number, step.name, step.start - ORIGIN) for step in read_steps(space.message)[1:]]
    assert steps == [(7, "train", 1000), (8, "train", 3000)]


def test_a_single_step_of_an_accelerator_divides_nothing() -> None:
    space = Space()
    space.add("Steps", "0", 1500, 900, GPU, group_id=0, step_name="0")
    assert read_steps(space.message) == ()


def test_allocators_of_sessions_are_told_by_the_same_rules(tmp_path: Path) -> None:
    """A RunMetadata tells with each execution how much its allocator had in use, whichever device ran it."""
    first, second = RunMetadata(), RunMetadata()
    for run_meta, in_use in ((first, 4096), (second, 8192)):
        for device, allocator, size in (
            ("/job:worker/replica:0/task:1/device:GPU:0", "GPU_0_bfc", in_use),
            ("/job:worker/replica:0/task:1/device:GPU:0", "gpu_host_bfc", 256),
            ("/device:GPU:0/stream:all", "GPU_0_bfc", 0),
            ("/job:worker/replica:0/task:1/device:CPU:0", "cpu", 0),
        ):
            stats = run_meta.step_stats.dev_stats.add(device=device).node_stats.add(node_name="a")
            stats.all_start_micros, stats.op_end_rel_micros = 10, 5
            stats.memory.add(allocator_name=allocator, total_bytes=64, allocator_bytes_in_use=size)
    profile = Profile.from_protos(GraphDef(node=[{"name": "a", "op": "Mul"}]), [first, second])
    profile.save(tmp_path / "saved.tfprof")
    task = "/job:worker/replica:0/task:1/device:"
    for each in (profile, tfprof.load(tmp_path / "saved.tfprof")):
        rows = each.allocators().to_dict("split")["data"]
        assert rows == [["GPU_0_bfc", f"{task}gpu:0", 8192, 0], ["gpu_host_bfc", f"{task}cpu:0", 256, 0]]
