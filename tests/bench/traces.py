"""Times the reading of a GPU's trace beside xprof's converter, or beside parsing alone where xprof is not installed."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.bench import children
from tests.bench.finding import Finding, of_medians
from tests.bench.gauges import Cost, cost, processor_seconds
from tests.ingest.spaces import Space
from tfprof_widget.api.profile import Profile

ROUNDS = 5
RUNS = 20
KERNELS = "Stream #14(Compute)"
OPS = ("MatMul", "BiasAdd", "Relu", "Mul", "AddV2", "Cast", "GreaterEqual", "RandomUniform")

OF_KERNELS: dict[str, Any] = {"context_id": "$$1", "group_id": 2**40, "is_eager": 2**40, "from": "a", "to": "b"}
OF_ALLOCATIONS: dict[str, Any] = {
    "allocator_name": "GPU_0_bfc",
    "bytes_reserved": 2**40,
    "bytes_available": 2**40,
    "id": 2**62,
    "data_type": 1,
    "peak_bytes_in_use": 2**40,
    "allocation_bytes": 2**40,
    "fragmentation": 2**62,
    "group_id": 2**40,
}
"""Stats that TensorFlow writes with each of these events."""


def findings(nodes: int) -> list[Finding]:
    """The findings on a trace of so many ops, each run twenty times; to be called in a process of its own."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "recording.xplane.pb")
        path.write_bytes(made(nodes))
        other, convert = ("xprof's converter", _converted) if find_spec("xprof") else ("parsing alone", _parsed)
        with children.Child() as child:
            rounds = [_round(child, convert, path) for _ in range(ROUNDS + 1)][1:]
        theirs, ours = zip(*rounds, strict=True)
        size = path.stat().st_size
        taken = children.call(_taken, str(path))
        return [
            of_medians(f"trace of a GPU, beside {other}", nodes, theirs, ours),
            Finding("peak memory while reading it, beside the file", nodes, "B", size, taken.grown),
        ]


def made(nodes: int) -> bytes:
    """A trace as TensorFlow records it: for each op its launch and allocation on the host, and its kernel."""
    space = Space()
    for number in range(nodes):
        start, op = 1000 + 3000 * number, OPS[number % len(OPS)]
        name, launched = f"replica/encoder/layer_{number // 16}/{op}_{number}", {"correlation_id": number + 1}
        space.add("tf_Compute/1", f"{name}:{op}", start, 1500, id=1, iter_num=0, is_eager=0, group_id=0)
        memory = {"addr": 2**46 + number, "requested_bytes": 4096, "bytes_allocated": 4096 * number + 4096}
        for kind, at in (("MemoryAllocation", 100), ("MemoryDeallocation", 1400)):
            more = {"tf_op": name, "region_type": "output", "shape": "[128,256]"}
            space.add("tf_Compute/1", kind, start + at, 0, **memory, **(more if at == 100 else {}), **OF_ALLOCATIONS)
        space.add("tf_Compute/1", "cuLaunchKernel", start + 200, 5, **launched, **OF_KERNELS)
        details = f"regs:{16 + number % 200} shm:0 grid:{1 + number % 160},1,1 block:1024,1,1"
        stats = {"tf_op": f"{name}:{op}", "level 0": name, "kernel_details": details, **launched, **OF_KERNELS}
        space.add(KERNELS, f"void {op}Kernel<float>(int, float*)", start + 900, 1000, "/device:GPU:0", **stats)
    length = 3000 * (nodes + 1) * 1000
    for plane in space.message.planes:
        for line in plane.lines:
            events = list(line.events)
            for run in range(1, RUNS):
                for event in events:
                    line.events.add().CopyFrom(event)
                    line.events[-1].offset_ps += run * length
    return space.message.SerializeToString()


def _round(child: children.Child, convert: Callable[[str], None], path: Path) -> tuple[float, float]:
    """The seconds of a core that the other takes, in a directory of its own as it keeps what it found, and ours."""
    with tempfile.TemporaryDirectory() as directory:
        copied = shutil.copy(path, directory)
        return child.call(processor_seconds, convert, copied), processor_seconds(_loaded, copied)


def _loaded(path: str) -> None:
    Profile.load(path)


def _taken(path: str) -> Cost:
    return cost(_loaded, path)


def _converted(path: str) -> None:
    import_module("xprof.convert.raw_to_tool_data").xspace_to_tool_data([path], "framework_op_stats", {})


def _parsed(path: str) -> None:
    from tfprof_widget.lib.messages import XSpace

    XSpace.FromString(Path(path).read_bytes())
