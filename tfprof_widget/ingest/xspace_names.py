"""Tells names of executed ops from the ways they were called: which node of a function an execution was of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tfprof_widget.ingest.tf_layers import Layers

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


def executed_key(name: str) -> str:
    """The name of an execution without the numbers that the runtime gives bodies as it inlines them.

    >>> executed_key("while/body/_13/while/MatMul")
    'while/body/_/while/MatMul'
    """
    return _INLINED.sub("/_/", name)


def cleaned(key: str) -> str:
    """The name by layer of an execution that no known function has.

    >>> cleaned("StatefulPartitionedCall/sequential/dense/Relu"), cleaned("while/body/_/while/MatMul")
    ('sequential/dense/Relu', 'while/MatMul')
    """
    without_bodies = _BODY.sub("", key)
    return _CALLS.sub(r"\1", without_bodies).replace("//", "/").lstrip("/") or key


def function_label(name: str) -> str:
    """The Python function's name, of TensorFlow's name for a trace of it.

    >>> function_label("__inference_train_step_1416"), function_label("__inference___backward_helper_201_216")
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
        return self.layers.name(cleaned(key), ())
