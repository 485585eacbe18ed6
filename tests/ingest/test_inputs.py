"""Which output of its source an input takes, and which inputs only have a node wait for another."""

from __future__ import annotations

import pytest

from tfprof_widget.api.profile import Profile
from tfprof_widget.lib.messages import GraphDef
from tfprof_widget.output.cells import input_shapes

# `split` has two outputs; `sum` takes the second one, and waits for `first` and for what the graph lacks.
INPUTS = {"first": [], "split": ["first"], "sum": ["split:1", "^first", "^gone"]}


@pytest.fixture
def profile() -> Profile:
    graph = GraphDef()
    for name, inputs in INPUTS.items():
        node = graph.node.add(name=name, op="Exp", input=inputs)
        for size in (3, 4) if name == "split" else (2,):
            node.attr["_output_shapes"].list.shape.add().dim.add(size=size)
    return Profile.from_protos(graph)


def test_control_inputs_take_no_output(profile: Profile) -> None:
    nodes = profile.nodes
    row = nodes.names.index("sum")
    ports = nodes.input_ports[nodes.inputs.start[row] : nodes.inputs.start[row + 1]]
    assert list(zip(nodes.inputs[row].tolist(), ports.tolist(), strict=True)) == [
        (nodes.names.index("split"), 1),
        (nodes.names.index("first"), -1),
        (-1, -1),
    ]


def test_shapes_of_control_inputs_are_told_as_native_tfprof_tells_them(profile: Profile) -> None:
    """It takes each input for the first output of its source, control inputs as well."""
    row = profile.nodes.names.index("sum")
    assert input_shapes(profile, row, "tfprof") == [(3,), (2,), ()]
    assert input_shapes(profile, row, "exact") == [(4,), (2,), ()]
