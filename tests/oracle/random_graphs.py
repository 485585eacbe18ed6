"""Random GraphDefs with the odd names, edges and shapes that real graphs and worse ones have."""

from __future__ import annotations

from random import Random
from typing import Any

from tensorflow.core.framework.graph_pb2 import GraphDef

# U+FF5E sorts before U+1D4B3 as UTF-8 and as code points, after it as UTF-16; "b.1", "b-1" and "b/1" stand
# on both sides of "/" in byte order.
PARTS = (
    *("conv1", "conv2", "fc", "w", "b", "b-1", "b.1", "bn", "Adam", "while", "Relu_1", "cond", "loss", "x"),
    *("été", "λόγος", "\uff5e", "\U0001d4b3", "\U0001f600"),
)
OP_TYPES = (
    *("MatMul", "Conv2D", "Const", "Identity", "VariableV2", "Add", "Mul", "Relu", "NoOp", "Switch", "Merge"),
    *("_Retval", "Größe", "\uff5eOp", "\U0001d4b3Op", "a_rather_long_operation_name"),
)


def random_graph(rng: Random) -> Any:
    """A GraphDef of 0 to 53 nodes; one in twelve is a chain of over 100, often of as many op types."""
    if rng.random() < 1 / 12:
        return _long_chain(rng)
    graph = GraphDef()
    names = _names(rng, rng.choice((rng.randint(0, 3), 5, 8, 12, 20, 40)))
    op_types = rng.sample(OP_TYPES, rng.randint(1, len(OP_TYPES)))
    for name in names:
        _add_node(rng, graph, name, rng.choice(op_types))
    _add_edges(rng, graph, cyclic=rng.random() < 0.2)
    if graph.node and rng.random() < 0.2:
        graph.node.append(rng.choice(graph.node))
        graph.node[-1].op = "SecondOfItsName"
    return graph


def _long_chain(rng: Random) -> Any:
    graph = GraphDef()
    length = rng.randint(101, 130)
    op_types = rng.choice((5, length))
    for index in range(length):
        _add_node(rng, graph, f"{rng.choice(PARTS)}/{index}", f"Op{index % op_types}")
        if index:
            graph.node[index].input.append(graph.node[index - 1].name)
    return graph


def _names(rng: Random, count: int) -> list[str]:
    names: dict[str, None] = {}
    while len(names) < count:
        name = _name(rng, list(names))
        if name != "_TFProfRoot":
            names[name] = None
    if rng.random() < 0.5:  # gradients of what is there, and of what is not
        for forward in rng.sample(sorted(names), len(names) // 3):
            names[_gradient_name(rng, forward)] = None
    shuffled = list(names)
    rng.shuffle(shuffled)
    return shuffled


def _name(rng: Random, known: list[str]) -> str:
    if known and rng.random() < 0.6:  # below, beside or above a name that there is
        base = rng.choice(known)
        name = rng.choice((f"{base}/{rng.choice(PARTS)}", base.rpartition("/")[0], f"{base}_1"))
        return name or rng.choice(PARTS)
    name = "/".join(rng.choice(PARTS) for _ in range(rng.choice((1, 1, 2, 2, 3, 5))))
    oddity = rng.random()
    if oddity < 0.03:
        return f"/{name}"
    if oddity < 0.06:
        return name.replace("/", "//", 1)
    return f"{name}/" if oddity < 0.07 else name


def _gradient_name(rng: Random, forward: str) -> str:
    shapes = (
        f"gradients/{forward}_grad/MatMul",
        f"gradients/{forward}_grad/{rng.choice(PARTS)}/{rng.choice(PARTS)}",
        f"{rng.choice(PARTS)}/gradients/{forward}_grad/d",
        f"x_grad/gradients/{forward}",  # the suffix stands before the prefix
        f"gradients/{forward}/x_grad/gradients/y_grad/z",
        f"gradients/{forward}_grad",  # no slash follows
        f"gradients_1/{forward}_grad/y",
        f"gradients/_grad/{forward}",
        f"gradients/{forward}missing_grad/y",
    )
    return rng.choice((*shapes[:2], *shapes[:2], *shapes))


def _add_node(rng: Random, graph: Any, name: str, op: str) -> None:
    node = graph.node.add(name=name, op=op, device=rng.choice(("", "/cpu:0", "/device:GPU:0")))
    if rng.random() < 0.3:
        _fill_shape(rng, node.attr["shape"].shape)
    if rng.random() < 0.6:
        for _ in range(rng.randint(0, 3)):
            _fill_shape(rng, node.attr["_output_shapes"].list.shape.add())
    if rng.random() < 0.2:
        node.attr["dtype"].type = rng.randint(1, 9)
    if rng.random() < 0.05:
        node.attr["shape"].s = b"an attribute of the name but of another kind"


def _fill_shape(rng: Random, shape: Any) -> None:
    shape.unknown_rank = rng.random() < 0.15
    sizes = rng.choice(((-1, 0, 1, 2, 1000), range(1, 64), ()))  # partly unknown, known, a scalar
    for _ in range(rng.randint(1, 4) if sizes and not shape.unknown_rank else 0):
        shape.dim.add(size=rng.choice(sizes))


def _add_edges(rng: Random, graph: Any, cyclic: bool) -> None:
    for index, node in enumerate(graph.node):
        sources = [other.name for other in (graph.node if cyclic else graph.node[:index])]
        sources += ["not/there"] if rng.random() < 0.05 else []
        for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 6)) if sources else 0):
            source = rng.choice(sources)
            edges = (source, source, f"{source}:0", f"{source}:1", f"{source}:output:0", f"^{source}")
            node.input.extend([rng.choice(edges)] * rng.choice((1, 1, 1, 2)))
