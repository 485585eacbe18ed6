"""What an accelerator did in a step: its parts add up, and what hides behind compute takes no time of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tfprof_widget as tfprof
from tests.ingest.spaces import ORIGIN, Space
from tests.made import profile_of_tables, tables_of_traces
from tfprof_widget.analysis.device_steps import device_steps
from tfprof_widget.api.profile import Profile
from tfprof_widget.ingest.xspace.reader import read_xspace
from tfprof_widget.ingest.xspace.steps import Step

GPU = "/device:GPU:0"
ON_GPU = "/job:localhost/replica:0/task:0/device:gpu:0"
COMPUTE, COMMUNICATION, COPIES = "Stream #13(Compute)", "Stream #17(Kernel)", "Stream #14(MemcpyH2D)"
COPY = {"memcpy_details": "kind_src:pageable kind_dst:device size:64 dest:0 async:1"}


def profile_of(space: Space, *steps: Step) -> Profile:
    return profile_of_tables(tables_of_traces(read_xspace(space.message, steps)))


def parts_of(profile: Profile) -> list[list[float]]:
    return profile.device_steps().loc[:, "compute_micros":].to_numpy().tolist()


def a_step(start: int = 0) -> Space:
    """A step of 10 µs: a copy of 2 µs, 4 µs of compute, of which another copy hides behind 1 µs, and then nothing."""
    space = Space()
    space.add("pool", "dense/MatMul:MatMul", start + 1000, 10_000)
    space.add(COPIES, "MemcpyH2D", start + 1000, 2000, GPU, **COPY)
    space.add(COMPUTE, "sgemm", start + 3000, 4000, GPU, tf_op="dense/MatMul:MatMul")
    space.add(COPIES, "MemcpyH2D", start + 6000, 2000, GPU, **COPY)
    return space


def test_the_parts_of_a_step_add_up() -> None:
    profile = profile_of(a_step())
    assert profile.device_steps().to_dict("records") == [
        {
            "step": 0,
            "step_name": "",
            "worker": "",
            "device": ON_GPU,
            "step_micros": 10.0,
            "compute_micros": 4.0,
            "collectives_micros": 0.0,
            "copies_micros": 3.0,
            "idle_micros": 3.0,
        }
    ]


@pytest.mark.parametrize(
    ("kernel", "stats"),
    [
        ("some_symbol", {"tf_op": "all/CollectiveReduceV2:CollectiveReduceV2"}),
        ("some_symbol", {"tf_op": "NcclAllReduce:NcclAllReduce"}),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", {}),
        ("ncclDevKernel_AllReduce_Sum_f32", {"tf_op": "XlaModule:", "hlo_op": "x", "name": "dense/MatMul"}),
        ("rcclGenericKernel", {"tf_op": "XlaModule:", "hlo_op": "all-reduce-start.1", "hlo_module": "jit_f"}),
        ("some_symbol", {"tf_op": "XlaModule:", "hlo_op": "fusion", "name": "jit(f)/psum"}),
    ],
    ids=["TensorFlow", "NCCL of TensorFlow", "NCCL alone", "NCCL for a matrix product", "RCCL", "JAX"],
)
def test_a_collective_is_no_compute(kernel: str, stats: dict[str, str], tmp_path: Path) -> None:
    """Behind compute it takes no time of its own: 1 of its 3 µs are seen."""
    space = a_step()
    space.add(COMMUNICATION, kernel, 5000, 3000, GPU, **stats)
    space.add(COMPUTE, "relu", 8000, 1000, GPU, tf_op="dense/Relu:Relu")
    profile = profile_of(space)
    assert parts_of(profile) == [[5.0, 1.0, 2.0, 2.0]]
    profile.save(tmp_path / "saved")
    assert [sum(parts) for parts in parts_of(tfprof.load(tmp_path / "saved"))] == [10.0]


@pytest.mark.parametrize("name", ["conclude", "all_gathered", "reduce_sum", "psummation", "collect/MatMul"])
def test_what_only_sounds_like_a_collective_is_compute(name: str) -> None:
    space = a_step()
    space.add(COMMUNICATION, name, 8000, 1000, GPU, tf_op="XlaModule:", hlo_op="fusion.1", name=f"jit(f)/{name}")
    assert parts_of(profile_of(space)) == [[5.0, 0.0, 3.0, 2.0]]


def test_a_tpu_that_waits_for_a_copy_does_not_compute() -> None:
    """XLA has an op that begins a copy and one that ends when the data have come."""
    space = Space()
    for name, start, duration in (("%fusion.1 = f32[]", 1000, 3000), ("%copy-done.4 = f32[]", 4000, 5000)):
        space.add("XLA Ops", name, start, duration, "/device:TPU:0")
    assert parts_of(profile_of(space)) == [[3.0, 0.0, 5.0, 0.0]]


def test_kernels_by_which_rocm_copies_are_copies() -> None:
    space = a_step()
    space.add("Stream #16(Kernel)", "__amd_rocclr_copyBuffer.kd", 8000, 1000, GPU)
    assert parts_of(profile_of(space)) == [[4.0, 0.0, 4.0, 2.0]]


def test_steps_and_devices_are_apart() -> None:
    space = a_step()
    space.add("pool", "dense/MatMul:MatMul", 21_000, 6000)
    for device, start, duration in (("/device:GPU:0", 22_000, 1000), ("/device:GPU:1", 23_000, 2000)):
        space.add(COMPUTE, "sgemm", start, duration, device, tf_op="dense/MatMul:MatMul")
    profile = profile_of(space, Step(3, "train", ORIGIN), Step(4, "train", ORIGIN + 20_000))
    rows = [(each.step, each.device[-1], each.compute, each.idle) for each in device_steps(profile)]
    assert sorted(rows) == [(0, "0", 4000, 3000), (1, "0", 1000, 5000), (1, "1", 2000, 4000)]
    assert profile.device_steps()["step"].tolist() == [3, 4, 4]


def test_the_times_of_the_host_alone_are_of_no_accelerator() -> None:
    space = Space()
    space.add("pool", "dense/MatMul:MatMul", 1000, 10_000)
    assert profile_of(space).device_steps().empty


def launched(correlation: int, **stats: Any) -> dict[str, Any]:
    return {"correlation_id": correlation, "tf_op": "dense/MatMul:MatMul", **stats}


DETAILS = {
    "regs:122 shm:12544 grid:2,2,169 block:128,1,1": ("2,2,169", "128,1,1", 122, 12544, 0),
    "regs:122 static_shared:256 dynamic_shared:49152 grid:64,1,1 block:128,1,1 occ_pct:25": (
        *("64,1,1", "128,1,1", 122, 49408, 25),
    ),
    " grid:16,1,1 block:512,1,1 private_mem:0 group_mem:64 occ_pct:0": ("16,1,1", "512,1,1", 0, 64, 0),
    f"regs:{'9' * 40} grid: block:1,1,1": ("", "1,1,1", 0, 0, 0),
    "": ("", "", 0, 0, 0),
}


@pytest.mark.parametrize("details", DETAILS, ids=["TF 2.3", "CUDA", "ROCm", "damaged", "none"])
def test_how_a_kernel_is_launched(details: str, tmp_path: Path) -> None:
    """In the words that TensorFlow's cupti_collector.cc and rocm_collector.cc write."""
    space = Space()
    space.add(COMPUTE, "sgemm", 3000, 4000, GPU, **launched(7, kernel_details=details))
    profile = profile_of(space)
    profile.save(tmp_path / "saved")
    for each in (profile, tfprof.load(tmp_path / "saved")):
        (row,) = each.device_kernels().itertuples(index=False)
        assert (row.grid, row.block, row.registers, row.shared_bytes, row.occupancy_percent) == DETAILS[details]
        assert (row.node, row.device, row.kernel, row.runs, row.micros) == ("dense/MatMul", ON_GPU, "sgemm", 1, 4.0)


def test_kernels_of_workers_add_up() -> None:
    space = Space()
    space.add(COMPUTE, "sgemm", 3000, 4000, GPU, **launched(7))
    merged = tfprof.merge({"a": profile_of(space), "b": profile_of(space)})
    assert merged.device_kernels()[["kernel", "runs", "micros"]].to_numpy().tolist() == [["sgemm", 2, 8.0]]


def test_kernels_of_a_node_are_rows_of_their_own() -> None:
    space = Space()
    for number, (kernel, duration) in enumerate((("sgemm", 400), ("splitK", 100), ("sgemm", 500))):
        space.add(COMPUTE, kernel, 3000 + 1000 * number, duration, GPU, **launched(number + 1))
    frame = profile_of(space).device_kernels()
    assert frame[["kernel", "runs", "micros"]].to_numpy().tolist() == [["sgemm", 2, 0.9], ["splitK", 1, 0.1]]
    assert frame["launch_delay_micros"].isna().all()


@pytest.mark.parametrize("event", ["cuLaunchKernel", "void sgemm<float>(int)"], ids=["by call", "by kernel"])
def test_the_delay_of_a_launch_is_from_the_hosts_event_with_the_same_number(event: str) -> None:
    """TensorFlow 2.3 names the event of the host like the kernel, later versions like the function of the driver."""
    space = Space()
    for number, start, begun in ((5, 1000, 3000), (6, 1500, 5500), (7, 9000, 8000)):
        space.add("python", event, start, 20, correlation_id=number)
        space.add(COMPUTE, "sgemm", begun, 400, GPU, **launched(number))
    (row,) = profile_of(space).device_kernels().itertuples(index=False)
    assert row.runs == 3
    assert row.launch_delay_micros == 3.0  # of two: the third began before it was launched, so a clock is wrong


def test_what_an_accelerator_tells_of_itself(tmp_path: Path) -> None:
    """By the stats of TensorFlow's xplane_schema.cc, as a V100's and a TPU's planes have them."""
    space = Space()
    told: dict[str, dict[str, Any]] = {
        GPU: {
            "clock_rate": 1_530_000,
            "core_count": 80,
            "memory_bandwidth": 898_048_000_000,
            "memory_size": 2**34,
            "compute_cap_major": 7,
            "compute_cap_minor": 0,
        },
        "/device:TPU:1": {
            "device_type_string": "TPU v6 Lite",
            "peak_teraflops_per_second": 918.0,
            "peak_hbm_bw_gigabytes_per_second": 1638.5,
        },
        "/device:GPU:2": {"device_vendor": "AMD"},
    }
    for name, stats in told.items():
        space.add("Stream #1" if "GPU" in name else "XLA Ops", "x", 1000, 300, name)
        for key, value in stats.items():
            plane = space.planes[name]
            number = len(plane.stat_metadata) + 1
            plane.stat_metadata[number].name = key
            kind = {int: "uint64_value", float: "double_value", str: "str_value"}[type(value)]
            plane.stats.add(metadata_id=number, **{kind: value})
    profile = profile_of(space)
    profile.save(tmp_path / "saved")
    for each in (profile, tfprof.load(tmp_path / "saved"), tfprof.merge({"a": profile, "b": profile})):
        assert each.devices().to_numpy().tolist() == [
            [ON_GPU, "", 1_530_000_000, 80, 2**34, 898_048_000_000, 0, "7.0"],
            [ON_GPU[:-5] + "tpu:1", "TPU v6 Lite", 0, 0, 0, 1_638_500_000_000, 918 * 10**12, ""],
        ]


def findings(profile: Profile) -> list[Any]:
    return list(profile.advice().reports["TransferChecker"])


def on_tpu(*ops: tuple[str, int]) -> Profile:
    """Ops that run one after the other in a step of a TPU."""
    space, start = Space(), 1000
    for name, duration in ops:
        space.add("XLA Ops", f"%{name} = f32[]", start, duration, "/device:TPU:0")
        start += duration
    return profile_of(space, Step(1, "train", ORIGIN))


def test_advice_on_a_tpu_that_waits_for_its_own_copies() -> None:
    (found,) = findings(on_tpu(("fusion.1", 3000), ("copy-done.4", 7000)))
    assert found.cause.startswith(
        "/device:tpu:0 computes nothing for 7 µs of a step's 10 µs (70 %), while it waits for copies"
    )
    assert "the program's own ops make these copies" in found.fix


def test_no_advice_on_copies_that_are_over_in_time() -> None:
    assert not findings(on_tpu(("fusion.1", 9500), ("copy-done.4", 500)))


def test_advice_on_copies_of_a_batch_names_the_input() -> None:
    (found,) = findings(profile_of(a_step(), Step(1, "train", ORIGIN)))
    assert "prefetch_to_device" in found.fix
