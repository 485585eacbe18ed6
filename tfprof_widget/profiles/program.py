"""Defines what is known of the program beside what ran: the layers of its model, and the stages of its pipelines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.lib.arrays import Flags, Indices, Integers
from tfprof_widget.profiles.cell import CodeLine

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


@dataclass(frozen=True, eq=False)
class MovedBytes:
    """The bytes that one run of each node takes in and puts out; `is_known` says of which nodes all work is known.

    That of others counts as far as it is known: as 0 bytes, if a shape is not known.
    """

    of_one_run: Integers
    is_known: Flags


@dataclass(frozen=True)
class DataFunction:
    """A stage of a pipeline that calls a function: the class of the dataset, the function's name, and its scope.

    `line` is where the user defined the function, generator or class that makes the items, None if that is not known.
    With `is_python`, Python runs for each item, as in a `py_function` or a generator.

    >>> DataFunction("ParallelMap", "slow", "tf.data/map_slow").kind
    'map'
    """

    stage: str
    name: str
    scope: str
    line: CodeLine | None = None
    is_python: bool = False

    @property
    def kind(self) -> str:
        """The kind of the stage, by which it is found among those that ran."""
        return kind_of_stage(self.stage)


def kind_of_stage(stage: str) -> str:
    """The kind of a stage that calls a function, by the name of its class or op; empty for other stages.

    >>> kind_of_stage("ParallelMapV2"), kind_of_stage("MapAndBatch"), kind_of_stage("FlatMap"), kind_of_stage("Batch")
    ('map', 'map', 'flat', '')
    """
    name = stage.lower()
    kinds = {"flatmap": "flat", "interleave": "interleave", "filter": "filter", "map": "map", "generator": "flat"}
    others = {"scan": "scan", "takewhile": "take", "reduce": "reduce", "groupby": "group"}
    return next((kind for part, kind in (kinds | others).items() if part in name), "")


@dataclass(frozen=True)
class StageSettings:
    """How a stage was set while it was recorded: its node, its buffer and the calls that it makes at once.

    `buffer` is how many elements the buffer holds at most, and `filled` how many it held in the mean when an element
    was taken; `parallelism` is how many calls are allowed at once. Each is 0 where the stage has none. With `is_tuned`,
    TensorFlow chooses them.
    """

    node: str
    buffer: int = 0
    filled: float = 0.0
    parallelism: int = 0
    is_tuned: bool = False


@dataclass(frozen=True)
class PipelineStage:
    """A stage of a pipeline of tf.data; the first one gives the batches that steps take.

    `seconds` is what it works for a batch, with the ops of its function, and `elements` how many elements it makes for
    one. `used` is how many calls of its function were under way at once in the mean. `share` is the time that it needs
    for a batch, by the clock, as a share of the time from one batch to the next. With `is_bottleneck`, batches are
    waited for, and none of the other stages needs as long.
    """

    stage: str
    node: str
    line: CodeLine | None
    seconds: float
    elements: float
    settings: StageSettings
    used: float
    share: float
    is_bottleneck: bool = False

    @property
    def wall_seconds(self) -> float:
        """What it takes for a batch by the clock: several calls at once take less."""
        return self.seconds / max(self.used, 1.0)
