"""Names ops by their layers, where Keras numbered the layers' scopes once more."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass, field

from tfprof_widget.ingest.tf_gradients import TAPE

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
