"""Each execution has the shapes that it took in; of a node as a whole, those of the execution that came first hold."""

from __future__ import annotations

import pytest

from tests.ingest.spaces import ORIGIN, Space
from tests.made import tables_of_traces
from tfprof_widget.ingest.flops.node_reader import NodeReader
from tfprof_widget.ingest.xspace.reader import TraceTable, read_xspace
from tfprof_widget.ingest.xspace.steps import Step


def told(table: TraceTable) -> list[tuple[int, str]]:
    """When each execution began, and the shapes that it took in."""
    shapes = [table.input_shapes[code] for code in table.input_shape.tolist()]
    return sorted(zip((table.start - ORIGIN).tolist(), shapes, strict=True))


@pytest.mark.parametrize("threads", [("first", "second"), ("second", "first")])
def test_each_execution_has_its_own_shapes_whatever_its_thread(threads: tuple[str, str]) -> None:
    """The last batch of an epoch may be smaller; the thread that it ran on may be listed before others."""
    starts = {"first": (200, "(float[16,3])"), "second": (900, "(float[15,3])")}
    space = Space()
    for thread in threads:
        start, shape = starts[thread]
        space.add(thread, "dense/Relu:Relu", start, 10, shape=shape)
    table = read_xspace(space.message)
    assert told(table) == [starts["first"], starts["second"]]
    assert NodeReader(tables_of_traces(table)).input_shapes(0, "Relu") == ((16, 3),)


def test_all_executions_are_read_of_loops_and_of_many_steps() -> None:
    space, steps = Space(), []
    for step in range(9):
        steps.append(Step(step, "fit", ORIGIN + 990 + 1000 * step))
        for number in range(9):
            rows = 10 * step + number
            space.add("pool", "dense/Relu:Relu", 1000 + 1000 * step + 10 * number, 5, shape=f"(float[{rows},3])")
    shapes = [shape for _, shape in told(read_xspace(space.message, steps))]
    assert shapes == [f"(float[{10 * step + number},3])" for step in range(9) for number in range(9)]


def test_shapes_that_are_not_told_are_empty() -> None:
    """An event may also have them as a text of its own, in place of one of the plane's texts."""
    space = Space()
    space.add("pool", "dense/Relu:Relu", 1000, 10, shape="(float[16,3])")
    space.add("pool", "dense/Relu:Relu", 2000, 10)
    space.add("pool", "dense/Relu:Relu", 3000, 10, shape="")
    (line,) = space.planes["/host:CPU"].lines
    line.events[2].stats[0].str_value = "(float[15,3])"
    shapes = [shape for _, shape in told(read_xspace(space.message))]
    assert shapes == ["(float[16,3])", "", "(float[15,3])"]
