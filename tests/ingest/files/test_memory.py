"""Loading many steps takes little more memory than what it makes: files are read one by one, and columns joined so."""

from __future__ import annotations

from pathlib import Path

from tests.bench import children
from tests.bench.gauges import cost
from tests.bench.scaling import MOST_MEMORY, column_bytes
from tests.sketches import CPU
from tfprof_widget.api.profile import Profile
from tfprof_widget.lib.messages import GraphDef, RunMetadata

NODES, STEPS = 2_000, 100


def test_memory_is_bounded_by_the_columns(tmp_path: Path) -> None:
    write(tmp_path)
    grown, columns = children.call(memory_to_load, tmp_path)
    assert columns > 100 * NODES * STEPS
    assert grown < MOST_MEMORY * columns / 2  # so that twice as much on another machine will do


def memory_to_load(directory: Path) -> tuple[int, int]:
    """The bytes that loading takes at its peak, and those of the columns; for a process of its own."""
    from tfprof_widget.api.profile import load

    load(directory / "run_meta_0")  # what is imported and grown once does not count
    loaded: list[Profile] = []
    taken = cost(lambda: loaded.append(load(directory)))
    return taken.grown, column_bytes(loaded[0])


def write(directory: Path) -> None:
    """A graph, and a run of all its nodes a step."""
    names = [f"a_scope_of_some_length/another_one/node_{number}" for number in range(NODES)]
    graph = GraphDef(node=[{"name": name, "op": "Add"} for name in names])
    (directory / "graph").write_bytes(graph.SerializeToString())
    run = RunMetadata()
    device = run.step_stats.dev_stats.add(device=CPU)
    for number, name in enumerate(names):
        stat = device.node_stats.add(node_name=name, timeline_label=f"{name} = Add(x, y)", thread_id=number % 7)
        stat.memory.add(allocator_name="cpu", total_bytes=1000 + number, peak_bytes=900 * number, live_bytes=800)
        output = stat.output.add().tensor_description.allocation_description
        output.requested_bytes, output.ptr = 4 * number, 2**47 + 4096 * number
    for step in range(STEPS):
        for number, stat in enumerate(device.node_stats):
            stat.all_start_nanos = 10**18 + step * 10**9 + number * 1500
            stat.all_start_micros = stat.all_start_nanos // 1000
            stat.op_end_rel_nanos = 1000 + (number * step) % 9000
            stat.op_end_rel_micros = stat.op_end_rel_nanos // 1000
        (directory / f"run_meta_{step}").write_bytes(run.SerializeToString())
