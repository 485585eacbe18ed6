"""Translates the names of TensorFlow's runtime: of functions, layers, iterators and gradients."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field

TAPE = "gradient_tape/"
GRADIENTS, GRADIENT_END = "gradients/", "_grad/"


def forward_nodes(ops: Mapping[str, str]) -> dict[str, str]:
    """The forward node by gradient node, of the op types by node in the order made.

    A tape puts a gradient in the scope that the forward node was made in: that may be the node's own name, or the scope
    around it. There the gradient's type tells which node it is of, or else the first node of the scope stands
    for all: they were made by one layer. Gradients of which nothing is found are left out.

    Without any scope, there must be one node only of the gradient's type.

    >>> nodes = {"dense/MatMul": "MatMul", "dense/Relu": "Relu", "gradient_tape/dense/ReluGrad": "ReluGrad"}
    >>> forward_nodes(nodes | {"gradient_tape/dense/MatMul/MatMul_1": "MatMul", "gradient_tape/Reshape": "Reshape"})
    {'gradient_tape/dense/ReluGrad': 'dense/Relu', 'gradient_tape/dense/MatMul/MatMul_1': 'dense/MatMul'}
    """
    scopes = _by_scope(ops)
    found = {}
    for name, op in ops.items():
        forward = _named(name, ops) or _of_tape(name, op, ops, scopes)
        if forward is not None:
            found[name] = forward
    return found


def _by_scope(ops: Mapping[str, str]) -> dict[str, list[str]]:
    """The forward nodes in each scope, however deep."""
    scopes: dict[str, list[str]] = {}
    for name in ops:
        if TAPE in name or GRADIENTS in name:
            continue
        scope = name.rpartition("/")[0]
        while scope:
            scopes.setdefault(scope, []).append(name)
            scope = scope.rpartition("/")[0]
    return scopes


def _named(name: str, ops: Mapping[str, str]) -> str | None:
    """The node that the backward pass of a function names, which is in the scope of that function."""
    before, found, rest = name.partition(GRADIENTS)
    forward, ended, _ = rest.partition(GRADIENT_END)
    if not found or not ended:
        return None
    return next((each for each in (forward, before + forward) if each in ops), None)


def _of_tape(name: str, op: str, ops: Mapping[str, str], scopes: Mapping[str, list[str]]) -> str | None:
    before, found, rest = name.partition(TAPE)
    if not found:
        return None
    scope = before + rest.rpartition("/")[0]
    while scope:
        if scope in ops:
            return scope
        nodes = scopes.get(scope)
        if nodes:
            beside = [node for node in nodes if node.rpartition("/")[0] == scope and op.startswith(ops[node])]
            return max(beside, key=lambda node: len(ops[node]), default=nodes[0])
        scope = scope.rpartition("/")[0]
    alone = [
        node for node, kind in ops.items() if op == f"{kind}Grad" and node.rpartition("/")[0] == before.rstrip("/")
    ]
    return alone[0] if len(alone) == 1 else None


_NUMBERED = re.compile(r"(.+)_\d+")
_REPLICA = re.compile(r"(?:replica_\d+/)?")


@dataclass
class Layers:
    """The scopes of models and layers: those directly in each scope, the outermost ones in the scope "".

    Calling a model in a function, Keras gives its scope and those of its layers a number: `model_1/dense_1` holds the
    ops of the layer whose variables are in `model/dense`.

    >>> layers = Layers()
    >>> layers.add_variables(["model/dense/kernel", "model/dense_1/kernel"])
    >>> layers.name("model_1/dense_1_2/MatMul", ()), layers.name("gradient_tape/other_1/dense_1/Mul", ())
    ('model/dense_1/MatMul', 'gradient_tape/other_1/dense_1/Mul')

    So it is in each replica of a distribution strategy's.

    >>> layers.name("gradient_tape/replica_1/model_1/dense_1/MatMul", ())
    'gradient_tape/replica_1/model/dense/MatMul'

    `model_1/dense_1` may be meant as it is written, if there is a `model_1/dense` beside it.

    >>> layers.name("model_1/dense_1/MatMul", ()), layers.name("model_1/dense_1/MatMul", {"model_1/dense"})
    ('model/dense/MatMul', 'model/dense_1/MatMul')
    """

    within: dict[str, set[str]] = field(default_factory=dict)

    def add_variables(self, names: Iterable[str]) -> None:
        """Take note of the scopes that variables are in."""
        self.add(name.rpartition("/")[0] for name in names)

    def add(self, scopes: Iterable[str]) -> None:
        """Take note of scopes, and of those around them."""
        for scope in scopes:
            while scope:
                around, _, last = scope.rpartition("/")
                self.within.setdefault(around, set()).add(last)
                scope = around

    def name(self, name: str, scopes: Container[str]) -> str:
        """The name by layer of an op, in a graph that has these scopes."""
        before, tape, rest = name.rpartition(TAPE)
        written = replica = _replica_of(rest)
        *parts, last = rest.removeprefix(replica).split("/")
        scope = ""
        for place, part in enumerate(parts):
            layers = self.within.get(scope, ())
            number = _NUMBERED.fullmatch(part)
            if number is not None and number[1] in layers and (part not in layers or written + number[1] not in scopes):
                parts[place] = number[1]
            elif part not in layers:
                break
            written += part + "/"
            scope = f"{scope}/{parts[place]}" if scope else parts[place]
        return before + tape + replica + "/".join([*parts, last])


def _replica_of(name: str) -> str:
    found = _REPLICA.match(name)
    return found[0] if found is not None else ""


def scopes_of(names: Iterable[str]) -> frozenset[str]:
    """The scopes that ops of these names are in.

    >>> sorted(scopes_of(["a/b/c", "d"]))
    ['a', 'a/b']
    """
    found = set()
    for name in names:
        scope = name.rpartition("/")[0]
        while scope and scope not in found:
            found.add(scope)
            scope = scope.rpartition("/")[0]
    return frozenset(found)


DATA_SCOPE = "tf.data"
EAGER_SCOPE = "eager"

_INLINED = re.compile(r"/_\d+/")
_CALLS = re.compile(r"(^|/)(Stateful|Stateless)?PartitionedCall(_\d+)?(?=/)")
_BODY = re.compile(r"^.*/(body|cond|then|else|branches)/_/")
# What is taken is never given back: else a damaged name would take exponential time.
_WAY_OF_CALLING = re.compile(r"(?:_*+(?:inference|forward|backward)_++)*+")
_ELEMENT = re.compile(r"(?<!::Zip)\[\d+\]")
"""The count of an element or a round in an iterator's name; of `Zip` it is the input."""

FunctionNodes = Mapping[str, Mapping[str, str]]
"""By function and the name by which an op of it is executed, the name of its node."""


def without_body_numbers(name: str) -> str:
    """The name of an execution without the numbers that the runtime gives bodies as it inlines them.

    >>> without_body_numbers("while/body/_13/while/MatMul")
    'while/body/_/while/MatMul'
    """
    return _INLINED.sub("/_/", name)


def name_without_calls(key: str) -> str:
    """The name by layer of an execution that no known function has.

    >>> name_without_calls("StatefulPartitionedCall/dense/Relu"), name_without_calls("while/body/_/while/MatMul")
    ('dense/Relu', 'while/MatMul')
    """
    without_bodies = _BODY.sub("", key)
    return _CALLS.sub(r"\1", without_bodies).replace("//", "/").lstrip("/") or key


def python_name(name: str) -> str:
    """The Python function's name, of TensorFlow's name for a trace of it.

    >>> python_name("__inference_train_step_1416"), python_name("__inference___backward_helper_201_216")
    ('train_step', 'helper')
    """
    if not name.startswith("__"):
        return name
    parts = _WAY_OF_CALLING.sub("", name, count=1).split("_")
    while len(parts) > 1 and parts[-1].isdecimal():
        parts.pop()
    return "_".join(parts) or name


def iterator_node(name: str) -> str:
    """The node of a `tf.data` iterator, the same for all elements.

    >>> iterator_node("Iterator::Root::Prefetch::Zip[1]::ForeverRepeat[7]::FromTensor")
    'tf.data/Root/Prefetch/Zip[1]/ForeverRepeat/FromTensor'
    """
    return "/".join([DATA_SCOPE, *_ELEMENT.sub("", name).split("::")[1:]])


@dataclass(frozen=True)
class ExecutedNames:
    """Finds nodes: in the function that was called last, then in any.

    >>> ExecutedNames().unknown("PartitionedCall/dense/Relu")
    'dense/Relu'
    """

    functions: FunctionNodes = field(default_factory=dict)
    layers: Layers = field(default_factory=Layers)

    def node(self, function: str, key: str) -> str | None:
        """The node of an execution while `function` was called; None if no function has it."""
        found = self.functions.get(function, {}).get(key)
        if found is not None:
            return found
        return next((nodes[key] for nodes in self.functions.values() if key in nodes), None)

    def unknown(self, key: str) -> str:
        """A name by layer for an execution that no function has."""
        return self.layers.name(name_without_calls(key), ())


def may_be_node(name: str) -> bool:
    """Whether an execution of this name makes a node where the graph has none; copies between devices do not."""
    return name not in ("RecvTensor", "_SOURCE") and "MEMCPY" not in name


CALL = "StatefulPartitionedCall"
CALLS = frozenset({"PartitionedCall", CALL, "StatelessPartitionedCall"})


@dataclass(frozen=True)
class BetterNames:
    """Better names than TensorFlow's own: of functions by the runtime's names, of variables by the identity of
    their handles, and the scopes of layers.
    """

    functions: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[int, str] = field(default_factory=dict)
    layers: Iterable[str] = ()


NO_BETTER_NAMES = BetterNames()
HOST = "/job:localhost/replica:0/task:0/device:cpu:0"
