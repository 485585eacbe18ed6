"""What the browser gets of accelerators: parts of steps, allocators, kernels; and nothing where there are none."""

from __future__ import annotations

import json
from typing import Any

from tests.analysis.test_device_steps import COMPUTE, GPU, ON_GPU, a_step, launched, profile_of
from tests.ingest.spaces import Space
from tests.ingest.test_xspace_accelerators import allocation
from tfprof_widget.api.profile import Profile
from tfprof_widget.demo import demo_profile
from tfprof_widget.profiles.devices import KernelRuns
from tfprof_widget.widget.shown import MOST_KERNELS, ShownGraph


def told(profile: Profile) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(ShownGraph("a", profile).to_browser.get("accelerators", {})))
    return found


def with_memory() -> Space:
    space = a_step()
    for start, in_use in ((1500, 4096), (2500, 8192), (3500, 2048)):
        space.add("pool", "MemoryAllocation", start, 0, **allocation("", "GPU_0_bfc", 64, in_use, tf_op=""))
    return space


def test_parts_of_steps_and_curves_of_allocators() -> None:
    found = told(profile_of(with_memory()))
    assert found["devices"] == [[ON_GPU, ""]]
    assert found["steps"] == [[0, 0, 4000, 0, 3000, 3000]]
    (allocator,) = found["allocators"]
    assert allocator == {
        "name": "GPU_0_bfc",
        "device": ON_GPU,
        "peak": 8192,
        "capacity": 0,
        "nanos": [0, 1000, 2000],
        "bytes": [4096, 8192, 2048],
    }


def test_the_costliest_kernels_with_short_names() -> None:
    space = a_step()
    space.add(COMPUTE, "k" * 500, 8000, 2500, GPU, **launched(1, kernel_details="regs:7 shm:0 grid:1,1,1 block:2,1,1"))
    first, second = told(profile_of(space))["kernels"]
    assert (first[0], first[1], first[3], first[KernelRuns._fields.index("nanos")]) == (
        "dense/MatMul",
        ON_GPU,
        "sgemm",
        4000,
    )
    assert len(second[3]) <= 80
    assert second[4:7] == ["1,1,1", "2,1,1", 7]


def test_there_are_not_too_many_kernels() -> None:
    space = Space()
    for number in range(MOST_KERNELS + 50):
        space.add(COMPUTE, f"kernel {number}", 1000 + 10 * number, 5, GPU, tf_op="dense/MatMul:MatMul")
    assert len(told(profile_of(space))["kernels"]) == MOST_KERNELS


def test_nothing_is_told_of_a_processor() -> None:
    assert told(demo_profile()) == {}
