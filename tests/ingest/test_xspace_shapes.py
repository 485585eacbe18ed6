"""Of the shapes of an op's inputs those are taken that most steps of the kind had that stands for the op."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.ingest.spaces import ORIGIN, Space
from tests.made import tables_of_traces
from tfprof_widget.ingest.xspace.reader import read_xspace
from tfprof_widget.ingest.xspace.steps import Step


@pytest.mark.parametrize("threads", [("first", "second"), ("second", "first")])
def test_shapes_are_those_of_the_execution_that_came_first(threads: tuple[str, str]) -> None:
    """The last batch of an epoch may be smaller; the thread that it ran on may be listed before others."""
    starts = {"first": (200, "(float[16,3])"), "second": (900, "(float[15,3])")}
    space = Space()
    for thread in threads:
        start, shape = starts[thread]
        space.add(thread, "dense/Relu:Relu", start, 10, shape=shape)
    assert read_xspace(space.message).input_shapes == {("dense/Relu", "Relu"): {"(float[16,3])": [0]}}


def test_shapes_are_those_that_most_executions_had() -> None:
    """A function may have been traced for a few rows first, and then have run with many."""
    space = Space()
    for start, rows in enumerate([8, 8, 8, *[2048] * 60, 7]):
        space.add("pool", "dense/Relu:Relu", 1000 + 100 * start, 10, shape=f"(float[{rows},3])")
    ((shapes,),) = read_xspace(space.message).input_shapes.values()
    assert shapes == "(float[2048,3])"


def rows_of_kernel(space: Space, steps: Sequence[Step]) -> int | None:
    """The rows of the input of a product, by what ran in these steps."""
    kernel = tables_of_traces(read_xspace(space.message, steps)).kernels["dense/MatMul"]
    return (kernel.input_shapes[0] or (None,))[0]


def test_each_step_counts_once_for_the_shapes_of_a_loop() -> None:
    """The shapes of some executions only are read, whichever threads they were on."""
    space = Space()
    for start, rows in ((1000, 4), (2000, 1), (2100, 1), (2200, 1)):
        space.add("pool", "dense/MatMul:MatMul", start, 10, shape=f"(float[{rows},3];float[3,3])")
    steps = [Step(0, "fit", ORIGIN + 900), Step(1, "fit", ORIGIN + 1900)]
    assert rows_of_kernel(space, steps) == 4


@pytest.mark.parametrize("warm_up", ["", " (warm-up)"], ids=["steady", "first run"])
def test_shapes_are_those_of_the_costliest_kind_of_steps(warm_up: str) -> None:
    """Many cheap predictions do not outvote the step of training that is shown, but a first run is no such step."""
    space = Space()
    for number in range(5):
        space.add("pool", "dense/MatMul:MatMul", 1000 + 100 * number, 10, shape="(float[1,3];float[3,3])")
    space.add("pool", "dense/MatMul:MatMul", 2000, 900, shape="(float[64,3];float[3,3])")
    predict = [Step(number, "predict", ORIGIN + 990 + 100 * number) for number in range(5)]
    steps = [*predict, Step(5, "fit" + warm_up, ORIGIN + 1990)]
    assert rows_of_kernel(space, steps) == (1 if warm_up else 64)


def test_of_kinds_that_cost_nearly_the_same_the_one_that_ran_more_often_stands() -> None:
    """Which one costs more may be chance: ten steps of training and two of evaluation, one of them held up."""
    space = Space()
    starts = range(1000, 11000, 1000)
    for start in starts:
        space.add("pool", "dense/MatMul:MatMul", start, 100, shape="(float[32,3];float[3,3])")
    for start, took in ((12000, 700), (15000, 2500)):
        space.add("pool", "dense/MatMul:MatMul", start, took, shape="(float[160,3];float[3,3])")
    fit = [Step(number, "fit", ORIGIN + start - 10) for number, start in enumerate(starts)]
    steps = [*fit, Step(10, "evaluate", ORIGIN + 11990), Step(11, "evaluate", ORIGIN + 14990)]
    assert rows_of_kernel(space, steps) == 32
