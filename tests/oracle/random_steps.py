"""Random RunMetadata for a graph: several devices and streams, loops, ghost nodes, memory, both clocks."""

from __future__ import annotations

from random import Random
from typing import Any

from tensorflow.core.protobuf.config_pb2 import RunMetadata

WORKER = "/job:worker/replica:0/task:0"
CANONICAL = (
    *(
        f"{WORKER}/device:CPU:0",
        f"{WORKER}/device:GPU:0",
        f"{WORKER}/device:gpu:1",
        "/cpu:0",
        "/CPU:0",
        "/gpu:0",
    ),
    *("/job:ps/replica:0/task:0/device:CPU:0", "/job:ps/replica:0/task:1/device:CPU:0", "/job:É/cpu:0"),
)
STREAMS = ("/device:GPU:0/stream:all", f"{WORKER}/device:GPU:0/stream:all", "/gpu:0/STREAM:ALL")
OTHERS = (
    *("", "cpu:0", "/cpu:", "/cpu:0x", "/cpu:\u0663", "/device:XLA_CPU:0", "/host:CPU/stream:all"),
    *("/device:GPU:0/stream:13", "/device:GPU:0/memcpy"),
)
GHOSTS = (
    *("ghost", "ghost/child", "conv1/ghost", "\U0001d4b3/ghost"),
    *("RecvTensor", "_SOURCE", "_SINK", "x/MEMCPYHtoD"),
)
ALLOCATORS = ("cpu", "GPU_0_bfc", "GPU_1_bfc", "gpu_host_bfc", "")


def random_run_meta(rng: Random, graph: Any) -> Any:
    """The run metadata of one step in which most nodes ran, some often, some on several devices."""
    run_meta = RunMetadata()
    run_meta.step_stats.SetInParent()
    devices = rng.sample(CANONICAL, rng.choice((0, 1, 1, 1, 2, 2, 3, 4)))
    devices += rng.sample(STREAMS, rng.choice((0, 0, 1, 2))) + rng.sample(OTHERS, rng.choice((0, 0, 1, 2)))
    devices = devices or ["/cpu:0"]
    rng.shuffle(devices)
    stats = {name: run_meta.step_stats.dev_stats.add(device=name) for name in devices}
    names = [node.name for node in graph.node] + rng.sample(GHOSTS, rng.randint(0, 4))
    clock = rng.choice((1_000, 1_600_000_000_000_000))
    for number, name in enumerate(names):
        if number and rng.random() < 0.15:  # of the graph some node runs, else it would be another graph's run
            continue
        home = rng.choice(devices)
        places = [home, *rng.sample(devices, rng.choice((0, 0, 0, 1, min(2, len(devices)))))]
        for place in places:
            for _ in range(rng.choice((1, 1, 1, 1, 2, 7))):
                clock += rng.randint(0, 50)
                _add_execution(rng, stats[place], name, clock)
    return run_meta


def _add_execution(rng: Random, device: Any, name: str, start: int) -> None:
    detail = rng.choice(("", "", "", ":Op", ":Mat:Mul", f":{name}"))
    execution = device.node_stats.add(node_name=name + detail, thread_id=rng.randint(0, 3))
    start = 0 if rng.random() < 0.04 else start
    duration = rng.choice((0, 0, 1, 2, 5, rng.randint(0, 2000), rng.randint(0, 3_000_000)))
    _set_clocks(rng, execution, "all_start", start)
    _set_clocks(rng, execution, "op_end_rel", duration)
    if rng.random() < 0.7:
        _set_clocks(rng, execution, "op_start_rel", min(duration, 1))
        _set_clocks(rng, execution, "all_end_rel", duration + rng.randint(0, 9))
        execution.timeline_label = f"{name} = Op()"
    if rng.random() < 0.6:
        _add_memory(rng, execution)


def _set_clocks(rng: Random, execution: Any, field: str, micros: int) -> None:
    """Whole microseconds as TensorFlow writes them: the nanoseconds without their rest."""
    setattr(execution, f"{field}_micros", micros)
    setattr(execution, f"{field}_nanos", micros * 1000 + rng.randint(0, 999))


def _add_memory(rng: Random, execution: Any) -> None:
    for allocator in rng.sample(ALLOCATORS, rng.choice((0, 1, 1, 2))):
        total = _size(rng)
        used = execution.memory.add(allocator_name=allocator, total_bytes=total)
        used.peak_bytes = rng.randint(0, total)
        used.live_bytes = rng.randint(0, total) if rng.random() < 0.5 else 0
        used.allocator_bytes_in_use = _size(rng)
        for _ in range(rng.randint(0, 2)):
            used.allocation_records.add(alloc_micros=rng.randint(0, 99), alloc_bytes=rng.choice((-64, 64)))
    for slot in range(rng.randint(0, 3)):
        output = execution.output.add(slot=rng.choice((slot, 0)))
        if rng.random() < 0.8:
            description = output.tensor_description
            description.dtype = 1
            if rng.random() < 0.8:
                description.allocation_description.requested_bytes = _size(rng)
                description.allocation_description.allocated_bytes = _size(rng)
                description.allocation_description.ptr = rng.choice((0, 1, 2**64 - 1))
    if rng.random() < 0.5:
        execution.memory_stats.temp_memory_size = _size(rng)
        execution.memory_stats.persistent_memory_size = rng.choice((0, _size(rng)))
        execution.memory_stats.device_temp_memory_size = _size(rng)  # deprecated, and not counted


def _size(rng: Random) -> int:
    return rng.choice((0, 1, 4, 999, 1000, rng.randint(0, 5000), rng.randint(0, 3_000_000_000)))
