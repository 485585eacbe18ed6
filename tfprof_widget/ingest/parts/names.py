"""Translates the names of TensorFlow's runtime: of functions, layers, iterators and gradients."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

TAPE = "gradient_tape/"
GRADIENTS, GRADIENT_END = "gradients/", "_grad/"


def forward_nodes(ops: Mapping[str, str]) -> dict[str, str]:
    """The forward node of each gradient node; `ops` has the op type of each node, in the order in which they were made.

    A tape puts a gradient into a scope that is named after its forward node, or after the scope around that node. In
    the latter case the forward node is the one whose type the gradient's type starts with. If no node of the scope has
    such a type, its first node is taken, because one layer made them all.

    If no such scope is known, the forward node of a `ReluGrad` is the only `Relu` beside the tape. Gradients without a
    forward node are left out.

    >>> nodes = {"dense/MatMul": "MatMul", "dense/Relu": "Relu", "gradient_tape/dense/ReluGrad": "ReluGrad"}
    >>> forward_nodes(nodes | {"gradient_tape/dense/MatMul/MatMul_1": "MatMul", "gradient_tape/Reshape": "Reshape"})
    {'gradient_tape/dense/ReluGrad': 'dense/Relu', 'gradient_tape/dense/MatMul/MatMul_1': 'dense/MatMul'}
    """
    scopes = _by_scope(ops)
    found = {}
    for name, op in ops.items():
        forward = named_forward(name, ops) or _of_tape(name, op, ops, scopes)
        if forward is not None:
            found[name] = forward
    return found


def _by_scope(ops: Mapping[str, str]) -> dict[str, list[str]]:
    """The forward nodes in each scope and in all scopes within it."""
    scopes: dict[str, list[str]] = {}
    for name in ops:
        if TAPE in name or GRADIENTS in name:
            continue
        scope = name.rpartition("/")[0]
        while scope:
            scopes.setdefault(scope, []).append(name)
            scope = scope.rpartition("/")[0]
    return scopes


def named_forward(name: str, known: Container[str]) -> str | None:
    """The known node whose name is in the name of a node of a backward pass: `x` in `gradients/x_grad/…`.

    >>> named_forward("my_gradients/gradients/my_gradients/MatMul_grad/MatMul", {"my_gradients/MatMul"})
    'my_gradients/MatMul'

    In the backward pass of a loop the name is in scopes of that pass, and after the scope of the function.

    >>> named_forward("gradient_tape/gru/gradients/while_grad/gradients/while/Mul_grad/Mul", {"gru/while/Mul"})
    'gru/while/Mul'
    """
    at = name.find(GRADIENTS)
    around = [""]
    while at >= 0:
        forward, ended, _ = name[at + len(GRADIENTS) :].partition(GRADIENT_END)
        around.append(name[:at].replace(TAPE, "", 1))
        for each in [scope + forward for scope in around] if ended else ():
            if each in known:
                return each
        at = name.find(GRADIENTS, at + 1)
    return None


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
_REPLICA = re.compile(r"(?:(?:while|cond)(?:_\d+)?/)*(?:replica_\d+/)?")  # and loops around it


@dataclass
class Layers:
    """The scopes of models and layers, by the scope around them; the outermost ones are in the scope "".

    When a model is called in a function, Keras adds a number to its scope and to those of its layers: `model_1/dense_1`
    has the ops of the layer whose variables are in `model/dense`.

    >>> layers = Layers()
    >>> layers.add_variables(["model/dense/kernel", "model/dense_1/kernel"])
    >>> layers.name("model_1/dense_1_2/MatMul", ()), layers.name("gradient_tape/other_1/dense_1/Mul", ())
    ('model/dense_1/MatMul', 'gradient_tape/other_1/dense_1/Mul')

    The same is true in each replica of a distribution strategy, and in a loop or condition around the model.

    >>> layers.name("gradient_tape/replica_1/model_1/dense_1/Mul", ()), layers.name("while/model_1/dense_1/Mul", ())
    ('gradient_tape/replica_1/model/dense/Mul', 'while/model/dense/Mul')

    `dense_1` keeps its number if the graph also has a scope `model_1/dense`: then they are two layers.

    >>> layers.name("model_1/dense_1/MatMul", ()), layers.name("model_1/dense_1/MatMul", {"model_1/dense"})
    ('model/dense/MatMul', 'model/dense_1/MatMul')

    A `train_step` of the user's may call what is in the model, and not the model: such a layer has no scope around it.

    >>> layers.add(["model/dense_1"]); layers.name("dense_1_1/MatMul", ()), layers.name("dense_1_2/MatMul", {"dense_1"})
    ('model/dense_1/MatMul', 'model/dense_1/MatMul')
    """

    within: dict[str, set[str]] = field(default_factory=dict)
    _inner: dict[str, set[str]] = field(default_factory=dict)
    _of_variables: set[str] = field(default_factory=set)

    def add_variables(self, names: Iterable[str]) -> None:
        """Take note of the scopes of variables."""
        self._of_variables.update(self._noted(name.rpartition("/")[0] for name in names))

    def add(self, scopes: Iterable[str]) -> None:
        """Take note of the scopes of layers, and of the scopes around them."""
        for scope in self._noted(scopes):
            self._inner.setdefault(scope.rpartition("/")[2], set()).add(scope)

    def _noted(self, scopes: Iterable[str]) -> Iterator[str]:
        for scope in scopes:
            while scope:
                yield scope
                around, _, last = scope.rpartition("/")
                self.within.setdefault(around, set()).add(last)
                scope = around

    def _called_alone(self, part: str, scopes: Container[str]) -> str:
        """The scope of the layer with variables that has this scope when it is called outside of its model, or ""."""
        number = _NUMBERED.fullmatch(part)
        names = (part,) if number is None else (part, number[1]) if number[1] in scopes else (number[1], part)
        found = next(filter(None, (self._inner.get(name, set()) & self._of_variables for name in names)), set())
        return found.pop() if len(found) == 1 else ""

    def name(self, name: str, scopes: Container[str]) -> str:
        """The name of an op with Keras's added numbers taken off its layers; `scopes` are the scopes of its graph."""
        if not self.within:
            return name
        before, tape, rest = name.rpartition(TAPE)
        written = outer = _around(rest)
        *parts, last = rest.removeprefix(outer).split("/")
        scope = ""
        for place, part in enumerate(parts):
            layers = self.within.get(scope, ())
            number = _NUMBERED.fullmatch(part)
            if number is not None and number[1] in layers and (part not in layers or written + number[1] not in scopes):
                parts[place] = number[1]
            elif part not in layers:
                if place or not (alone := self._called_alone(part, scopes)):
                    break
                parts[place] = alone
            written += part + "/"
            scope = f"{scope}/{parts[place]}" if scope else parts[place]
        return before + tape + outer + "/".join([*parts, last])


def _around(name: str) -> str:
    found = _REPLICA.match(name)
    return found[0] if found is not None else ""


def scopes_of(names: Iterable[str]) -> frozenset[str]:
    """The scopes of ops with these names.

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
DATA_FUNCTION = "Dataset_"
"""The names of the functions of `tf.data` begin so."""

EAGER_SCOPE = "eager"

_INLINED = re.compile(r"/_\d+/")
_CALLS = re.compile(r"(^|/)(Stateful|Stateless)?PartitionedCall(_\d+)?(?=/)")
_BODY = re.compile(r"^.*/(body|cond|then|else|branches)/_/")
# Possessive groups never backtrack: else a damaged name would take exponential time.
_WAY_OF_CALLING = re.compile(r"(?:__(?:inference|forward|backward)_)*+")
_ELEMENT = re.compile(r"(?<!::Zip)\[\d+\]")
"""The number of an element or a round in an iterator's name; a number after `Zip`, that of an input, does not match."""

_OPTIMIZED = re.compile(r"((?:.*/)?)\w*Optimizer/([^/]+)")
_COMPOSED = "/unary_ops_composition"

FunctionNodes = Mapping[str, Mapping[str, str]]
"""The name of a node, by its function and the name under which it is executed."""


def without_body_numbers(name: str) -> str:
    """The name of an execution without the numbers that the runtime gives to bodies when it inlines them.

    >>> without_body_numbers("while/body/_13/while/MatMul")
    'while/body/_/while/MatMul'
    """
    return _INLINED.sub("/_/", name) if "/_" in name else name


def name_without_calls(key: str) -> str:
    """The name of an execution without the calls in it, for an execution that is in no known function.

    >>> name_without_calls("StatefulPartitionedCall/dense/Relu"), name_without_calls("while/body/_/while/MatMul")
    ('dense/Relu', 'while/MatMul')
    """
    found = _BODY.sub("", key) if "/_/" in key else key  # most names have neither, and are many
    if "PartitionedCall" in found:
        found = _CALLS.sub(r"\1", found)
    return found.replace("//", "/").lstrip("/") or key


FOLDED_TRANSPOSE = "/FoldTransposeIntoMatMul_"
"""In the names of products that replace a transpose and a product: their input shapes do not fit the graph's node."""


def names_before_optimizer(key: str) -> Iterator[str]:
    """The names that a node may have had before Grappler optimized the graph, the longest first.

    Grappler names a new node after its optimizer, the rewrite, and the node that it was made from.

    >>> list(names_before_optimizer("mha/ArithmeticOptimizer/FoldTransposeIntoMatMul_MatMul_1"))
    ['mha/MatMul_1', 'mha/1']
    >>> list(names_before_optimizer("loss/Exp/unary_ops_composition"))
    ['loss/Exp']
    """
    if key.endswith(_COMPOSED):
        yield key.removesuffix(_COMPOSED)
    found = _OPTIMIZED.fullmatch(key)
    if found is not None:
        scope, rewritten = found.groups()
        while "_" in rewritten:
            rewritten = rewritten.partition("_")[2]
            yield scope + rewritten


_TAKEN_APART = re.compile(r"(.*)/[^/]+/_\d+")


def taken_apart(key: str) -> Iterator[str]:
    """The loop, branch or call that the runtime may have taken apart to make a node, the innermost first.

    It names the nodes that go round in a loop after the loop, and numbers them.

    >>> list(taken_apart("lstm/while/merge/_72")), list(taken_apart("lstm/MatMul"))
    (['lstm/while', 'lstm'], [])
    """
    found = _TAKEN_APART.fullmatch(key)
    around = found[1] if found is not None else ""
    while around:
        yield around
        around = around.rpartition("/")[0]


def python_name(name: str) -> str:
    """The name of the Python function, from TensorFlow's name of its traced function.

    >>> python_name("__inference_train_step_1416"), python_name("__inference___backward_helper_201_216")
    ('train_step', 'helper')
    >>> python_name("__inference_forward_1416"), python_name("__inference___backward___call___201_216")
    ('forward', '__call__')
    """
    if not name.startswith("__"):
        return name
    parts = _WAY_OF_CALLING.sub("", name, count=1).split("_")
    while len(parts) > 1 and parts[-1].isdecimal():
        parts.pop()
    return "_".join(parts) or name


def data_scope(name: str) -> str:
    """The scope of the ops of a function of `tf.data`, from the name of the function.

    >>> data_scope("__inference_Dataset_map_augment_42")
    'tf.data/map_augment'
    """
    return f"{DATA_SCOPE}/{python_name(name).removeprefix(DATA_FUNCTION)}"


def iterator_node(name: str) -> str:
    """The node of a `tf.data` iterator, the same for all elements.

    >>> iterator_node("Iterator::Root::Prefetch::Zip[1]::ForeverRepeat[7]::FromTensor")
    'tf.data/Root/Prefetch/Zip[1]/ForeverRepeat/FromTensor'
    """
    return "/".join([DATA_SCOPE, *_ELEMENT.sub("", name).split("::")[1:]])


_RUNS_OTHERS = re.compile(
    r"Root|Model|Options|Generator|Filter|TakeWhile|Scan|GroupBy\w*|\w*(Prefetch|Parallel|Map|Interleave|Thread)\w*"
)


def waits_for_others(stage: str) -> bool:
    """Whether a stage of `tf.data` spends its own time waiting: for its threads, or for a function that it runs.

    >>> [stage for stage in ("Prefetch", "ParallelMapV2", "FlatMap", "BatchV2", "Shuffle") if waits_for_others(stage)]
    ['Prefetch', 'ParallelMapV2', 'FlatMap']
    """
    return _RUNS_OTHERS.fullmatch(stage) is not None


_AHEAD = re.compile(r"(Prefetch\w*|Parallel\w*|\w*MapAndBatch\w*)(\[\d+\])?")


def works_ahead(iterator: str) -> bool:
    """Whether a stage of `tf.data` prepares what later steps take, as a stage after it calls it in threads of its own.

    >>> works_ahead("Iterator::Root::Prefetch::BatchV2"), works_ahead("Iterator::Root::BatchV2::ParallelMapV2")
    (True, False)
    """
    return any(_AHEAD.fullmatch(stage) for stage in iterator.split("::")[:-1])


@dataclass(frozen=True)
class ExecutedNames:
    """Finds the node of an execution: in the function that was called last, then in any function.

    >>> ExecutedNames().unknown("PartitionedCall/dense/Relu")
    'dense/Relu'
    """

    functions: FunctionNodes = field(default_factory=dict)
    layers: Layers = field(default_factory=Layers)
    data: FunctionNodes = field(default_factory=dict)

    def node(self, function: str, key: str) -> str | None:
        """The node of an execution while `function` was called; None if no function has it."""
        return _node_of((key, *names_before_optimizer(key)), self._from(function)) if self.functions else None

    def data_node(self, key: str) -> str | None:
        """The node of an execution in a thread of `tf.data`; None if none of its functions has it."""
        return _node_of((key, *names_before_optimizer(key)), self.data.values()) if self.data else None

    def whole(self, function: str, key: str, *, of_data: bool) -> str | None:
        """The node of the loop, branch or call of which the runtime made this execution's op; None if it did not.

        >>> ExecutedNames({"f": {"lstm/while": "lstm/while"}}).whole("f", "lstm/while/merge/_72", of_data=False)
        'lstm/while'
        """
        return _node_of(tuple(taken_apart(key)), self.data.values() if of_data else self._from(function))

    def _from(self, function: str) -> Iterator[Mapping[str, str]]:
        return chain((self.functions.get(function, {}),), self.functions.values())

    def unknown(self, key: str) -> str:
        """A name for an execution that no function has."""
        return self.layers.name(name_without_calls(key), ())


def _node_of(candidates: Sequence[str], functions: Iterable[Mapping[str, str]]) -> str | None:
    """The node with the first of these names, in the first of these functions that has any."""
    return next((nodes[name] for nodes in functions for name in candidates if name in nodes), None)


def may_be_node(name: str) -> bool:
    """Whether an execution of this name counts as a node if the graph has none; copies between devices do not."""
    return name not in ("RecvTensor", "_SOURCE") and "MEMCPY" not in name


CALL = "StatefulPartitionedCall"
CALLS = frozenset({"PartitionedCall", CALL, "StatelessPartitionedCall"})


@dataclass(frozen=True)
class BetterNames:
    """Better names than TensorFlow's own: of functions, by the runtime's names; of variables, by the identity of their
    handles; and the scopes of layers.
    """

    functions: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[int, str] = field(default_factory=dict)
    layers: Iterable[str] = ()


NO_BETTER_NAMES = BetterNames()
HOST = "/job:localhost/replica:0/task:0/device:cpu:0"
