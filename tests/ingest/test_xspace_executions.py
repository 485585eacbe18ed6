"""What ran inside what, and whose memory was whose, on threads that run at the same time."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.ingest.spaces import ORIGIN, Space
from tests.made import tables_of_traces
from tfprof_widget.ingest.xspace.reader import TraceTable, read_xspace
from tfprof_widget.lib.errors import ProfileError

GPU = "/device:GPU:0"


def taken(table: TraceTable) -> list[tuple[str, int, int]]:
    """The executed name, the start and the own time of each execution."""
    names = [table.labels[code].name for code in table.label.tolist()]
    return list(zip(names, (table.start - ORIGIN).tolist(), table.duration.tolist(), strict=True))


def test_ops_of_other_threads_are_not_inside() -> None:
    space = Space()
    space.add("first", "a/while:While", 1000, 1000)
    space.add("first", "a/while/add:AddV2", 1100, 100)
    space.add("second", "b/while:While", 900, 700)
    space.add("second", "b/while/add:AddV2", 1100, 100)
    space.add("third", "c:Relu", 1200, 5)
    assert taken(read_xspace(space.message)) == [
        ("a/while", 1000, 900),
        ("a/while/add", 1100, 100),
        ("b/while", 900, 600),
        ("b/while/add", 1100, 100),
        ("c", 1200, 5),
    ]


def test_of_two_that_begin_at_once_the_longer_one_is_around_the_other() -> None:
    space = Space()
    space.add("pool", "a:Relu", 1000, 30)
    space.add("pool", "b:While", 1000, 100)
    assert taken(read_xspace(space.message)) == [("b", 1000, 70), ("a", 1000, 30)]


def test_what_begins_when_another_ends_is_beside_it() -> None:
    space = Space()
    space.add("pool", "a:While", 1000, 100)
    space.add("pool", "a/b:Relu", 1010, 20)
    space.add("pool", "c:Relu", 1100, 50)
    assert taken(read_xspace(space.message)) == [("a", 1000, 80), ("a/b", 1010, 20), ("c", 1100, 50)]


@pytest.mark.parametrize("seed", range(20))
def test_own_times_add_up_to_the_time_in_which_anything_ran(seed: int) -> None:
    """Random nests of ops, of which all that is known is counted moment by moment."""
    chosen = random.Random(seed)
    space = Space()
    deepest: dict[tuple[str, int], str] = {}
    for thread in ("first", "second", "third"):
        pending = [(1000, 1400, 0)]
        while pending:
            start, end, depth = pending.pop()
            name = f"{thread}_{depth}_{start}"
            space.add(thread, f"{name}:Relu", start, end - start)
            deepest.update({(thread, moment): name for moment in range(start, end)})
            bounds = sorted(chosen.sample(range(start + 1, end), min(2 * chosen.randrange(4), (end - start - 1) & ~1)))
            pending += [
                (*each, depth + 1) for each in zip(bounds[::2], bounds[1::2], strict=True) if each[1] - each[0] > 2
            ]
    own = {name: nanos for name, _, nanos in taken(read_xspace(space.message))}
    assert own == {name: list(deepest.values()).count(name) for name in own}


def allocate(space: Space, thread: str, at: int, address: int, size: Any, **more: Any) -> None:
    space.add(thread, "MemoryAllocation", at, 0, addr=address, requested_bytes=size, **more)


def release(space: Space, thread: str, at: int, address: int) -> None:
    space.add(thread, "MemoryDeallocation", at, 0, addr=address)


def test_memory_is_of_the_execution_on_the_same_thread() -> None:
    """An allocation at its very end is its own; one after that, or before any, is nobody's."""
    space = Space()
    space.add("first", "a:Mul", 1000, 500)
    space.add("second", "b:Mul", 1200, 100)
    for at, address, size in ((900, 1, 1), (1100, 2, 10), (1500, 3, 100), (1501, 4, 1000)):
        allocate(space, "first", at, address, size)
    allocate(space, "second", 1100, 5, 7)
    allocate(space, "second", 1250, 6, 70)
    table = read_xspace(space.message)
    assert [(table.labels[table.label[row]].name, size) for row, size, *_ in table.memory.tolist()] == [
        ("a", 110),
        ("b", 70),
    ]


def test_memory_is_released_once() -> None:
    space = Space()
    space.add("pool", "a:Mul", 1000, 500)
    allocate(space, "pool", 1010, 1, 300)
    for at in (1020, 1030):
        release(space, "pool", at, 1)
    allocate(space, "pool", 1040, 1, 40)
    release(space, "pool", 1050, 2)  # of what was allocated before
    table = read_xspace(space.message)
    assert table.memory.tolist() == [[0, 340, 300, 40, 0, 0]]
    assert table.allocations[:, 2].tolist() == [300, -300, 40]


def test_memory_of_several_accelerators_is_at_the_same_addresses() -> None:
    """As that of TPUs is: what is released is on the device that its allocator names."""
    space = Space()
    space.add("pool", "a:Mul", 1000, 500)
    for number in (0, 1):
        allocate(space, "pool", 1010, 64, 100 + number, allocator_name=f"GPU_{number}_bfc")
    space.add("pool", "MemoryDeallocation", 1020, 0, addr=64, allocator_name="GPU_1_bfc")
    table = read_xspace(space.message)
    assert table.memory.tolist() == [[0, 201, 201, 100, 0, 0]]
    assert table.allocations[:, 2].tolist() == [100, 101, -101]


@pytest.mark.parametrize("sizes", [(2**62, 2**62), (2**63 - 1, 1)])
def test_memory_that_no_64_bits_hold_is_refused(sizes: tuple[int, int]) -> None:
    space = Space()
    space.add("pool", "a:Mul", 1000, 500)
    for address, size in enumerate(sizes):
        allocate(space, "pool", 1010, address, size)
    with pytest.raises(ProfileError, match="a time or size beyond"):
        read_xspace(space.message)


def test_a_size_beyond_64_signed_bits_is_no_negative_one() -> None:
    space = Space()
    space.add("pool", "a:Mul", 1000, 500)
    for at in (1010, 1020):
        allocate(space, "pool", at, at, 1)
    for event in space.lines["/host:CPU", "pool"].events:
        for stat in event.stats:
            if stat.int64_value == 1:
                stat.uint64_value = 2**64 - 5
    with pytest.raises(ProfileError, match="a time or size beyond"):
        read_xspace(space.message)


def test_an_op_is_on_the_accelerator_on_which_it_allocated_first() -> None:
    space = Space()
    space.add("pool", "a:Mul", 1000, 500)
    for at, allocator in ((1010, "cpu"), (1020, "GPU_3_bfc"), (1030, "GPU_1_bfc")):
        allocate(space, "pool", at, at, 8, allocator_name=allocator)
    assert [label.device for label in read_xspace(space.message).labels] == ["gpu:3"]


def test_iterators_are_of_no_function() -> None:
    space = Space()
    for start, function in ((1000, "__inference_f_1"), (2000, "__inference_g_2")):
        space.add("python", "EagerExecute", start, 500, eager_op=function, is_func=1)
        space.add("data", "Iterator::Root", start + 100, 10)
        space.add("pool", "a:Mul", start + 100, 10)
    labels = read_xspace(space.message).labels
    assert [(label.name, label.function) for label in labels] == [
        ("Iterator::Root", ""),
        ("a", "__inference_f_1"),
        ("a", "__inference_g_2"),
    ]


def test_a_kernel_that_began_before_its_launch_has_no_delay() -> None:
    """The clocks of host and device may differ."""
    space = Space()
    for number, launched, began in ((1, 1000, 1300), (2, 2000, 1900)):
        space.add("python", "cuLaunchKernel", launched, 10, correlation_id=number)
        stats = {"tf_op": "a:Mul", "correlation_id": number}
        space.add("Stream #7(Compute)", f"kernel_{number}", began, 50, GPU, **stats)
    (first, second) = tables_of_traces(read_xspace(space.message)).kernel_runs
    assert (first.kernel, first.launches, first.delay_nanos) == ("kernel_1", 1, 300)
    assert (second.kernel, second.launches, second.delay_nanos) == ("kernel_2", 0, 0)
