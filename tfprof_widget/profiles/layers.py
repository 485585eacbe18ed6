"""Defines the layers of a model, and the columns that say to which layer and part of a step each node belongs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.lib.arrays import Indices

ROLES = ("forward", "backward", "update", "input", "transfers")
"""What a node does in a step. Where several run at once, an instant belongs to the first of forward, backward, update,
transfers and input."""

FORWARD, BACKWARD, UPDATE, INPUT, TRANSFERS = range(len(ROLES))


@dataclass(frozen=True)
class ModelLayer:
    """A layer of a model: its scope in the names of nodes, its own name, its class, and the scope of what it is in.

    With `is_module`, it is a tf.Module, whose ops need not have its scope in their names.

    >>> ModelLayer("model/dense", "dense", "Dense", "model").is_module
    False
    """

    path: str
    name: str
    type: str
    within: str = ""
    is_module: bool = False


@dataclass(frozen=True, eq=False)
class NodeLayers:
    """The rows of the layers view in preorder, and for each node the row that it belongs to and its place in ROLES.

    `parent` is the row above, or ABSENT.
    """

    names: tuple[str, ...]
    types: tuple[str, ...]
    parent: Indices
    layer: Indices
    role: NDArray[np.int8]
