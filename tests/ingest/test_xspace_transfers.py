"""What an XSpace tells of receives and collectives, of spaces made by hand as TensorFlow 2.21 records them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ingest.spaces import ORIGIN, Space
from tests.made import tables_of_traces
from tfprof_widget.ingest.parts.nodes import Shapes, read_graph
from tfprof_widget.ingest.xspace.exchanges import Exchange, read_exchanges, tensor_sizes
from tfprof_widget.ingest.xspace.reader import read_xspace
from tfprof_widget.ingest.xspace.steps import Step
from tfprof_widget.lib.messages import AttrValue, GraphDef, as_sealed

ASKED, CAME = "ExecutorState::ProcessAsync::Start", "ExecutorState::ProcessAsync::Done"
CPU0, CPU1 = (f"/job:localhost/replica:0/task:0/device:CPU:{number}" for number in range(2))


def waited(space: Space, kind: str, name: str, asked: int, came: int, run: Any = 7) -> None:
    space.add("worker", ASKED, asked, 1, name=name, kernel_type=kind, step_id=run)
    space.add("worker", CAME, came, 1, name=name, kernel_type=kind, step_id=run)


def sent(space: Space, name: str, source: str = CPU0, target: str = CPU1) -> None:
    space.add("worker", f"{name}:_Send", 150, 1, **{"from": "x", "key": f"{source};abc;{target};edge_6_x;0:0"})


def exchanges(space: Space) -> list[Exchange]:
    return list(read_exchanges(space.message))


def test_a_receive_is_of_the_send_with_the_number_before() -> None:
    space = Space()
    sent(space, "x/_6")
    waited(space, "_Recv", "x/_7", 120, 180)
    assert exchanges(space) == [Exchange("_Recv", "x", CPU0, CPU1, ORIGIN + 120, ORIGIN + 180)]


def test_a_receive_whose_send_is_not_recorded_is_left_out() -> None:
    space = Space()
    sent(space, "x/_8")
    waited(space, "_Recv", "x/_7", 120, 180)
    assert exchanges(space) == []


def test_a_collective_names_its_group() -> None:
    space = Space()
    space.add("collective", "reduce:CollectiveReduceV2", 130, 40, group_key=3)
    waited(space, "CollectiveReduceV2", "reduce", 120, 180)
    (found,) = exchanges(space)
    assert (found.source, found.target, found.end - found.start) == ("collective group 3", "", 60)


def test_runs_at_once_are_told_apart_and_turns_follow_one_another() -> None:
    space = Space()
    sent(space, "x/_6")
    for run, asked, came in ((1, 120, 190), (2, 130, 170), (1, 200, 230)):
        waited(space, "_Recv", "x/_7", asked, came, run)
    assert [(each.start - ORIGIN, each.end - ORIGIN) for each in exchanges(space)] == [
        (130, 170),
        (120, 190),
        (200, 230),
    ]


@pytest.mark.parametrize("run", ["seven", -5, 2**62])
def test_damaged_stats_break_nothing(run: Any) -> None:
    space = Space()
    sent(space, "x/_6")
    space.add("worker", "x/_9:_Send", 150, 1, key="no key")
    waited(space, "_Recv", "x/_7", 190, 120, run)
    waited(space, "", "", 120, 180, run)
    assert exchanges(space) == []


def test_transfers_of_a_profile_have_their_step_and_their_node() -> None:
    space = Space()
    for at in (100, 1100):
        space.add("worker", "x:MatMul", at, 10)
        waited(space, "_Recv", "x/_7", at + 20, at + 80)
    sent(space, "x/_6")
    steps = [Step(4, "train", ORIGIN + 100), Step(5, "train", ORIGIN + 1100)]
    profile = tables_of_traces(read_xspace(space.message, steps))
    table = profile.transfers
    assert [profile.steps[each] for each in table.step.tolist()] == [4, 5]
    assert [profile.nodes.names[each] for each in table.node.tolist()] == ["x", "x"]
    assert table.duration_nanos.tolist() == [60, 60]
    assert table.devices == (CPU0.lower(), CPU1.lower())


def test_sizes_are_those_of_shapes_and_types() -> None:
    """3 times 5 floats, 3 times 5 doubles; nothing is known of strings, of open batches, and without a shape."""
    graph = GraphDef()
    for name, kind, shape in (
        ("f", "DT_FLOAT", (3, 5)),
        ("d", "DT_DOUBLE", (3, 5)),
        ("s", "DT_STRING", (3,)),
        ("open", "DT_FLOAT", (-1, 5)),
    ):
        node = graph.node.add(name=name, op="Identity")
        node.attr["T"].CopyFrom(AttrValue(type=kind))
        node.attr["_output_shapes"].list.shape.add(dim=[{"size": size} for size in shape])
    graph.node.add(name="none", op="NoOp")
    sealed, shapes = as_sealed(graph, "GraphDef", "graph"), Shapes()
    columns = read_graph(sealed, shapes)
    names = [node.name for node in graph.node]
    assert tensor_sizes(names, columns, shapes.known, sealed) == {"f": 60, "d": 120}
