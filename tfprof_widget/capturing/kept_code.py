"""Keeps the code alive in which ops are made, where TensorFlow does not: its stack traces point to it all the same.

TensorFlow 2.21 keeps the code of stacks of more than 16 frames, as those in a Jupyter kernel, and not that of others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import CodeType, FrameType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from tfprof_widget.capturing.hooks import Patch, patches_of, when_imported
from tfprof_widget.lib.safely import HOOK

FRAMEWORK = "tensorflow.python.framework.ops"
MAKING = "_reconstruct_sequence_inputs"
"""What TensorFlow calls for each op that it makes, right before it takes the stack: a hook on it is no part of that."""

FEW = 32
"""So many frames' code is kept at most, some more than TensorFlow leaves out."""


class KeptCode:
    """The code objects of all frames in which ops were made while `keeping_code`, and the positions of these ops.

    Those of a notebook's cell, and of all that is executed once, are freed when they have run. An op's lines can be
    told as long as this object lives.

    >>> kept = KeptCode()
    >>> kept.hook(len)("an op"), kept.positions("a graph")
    (5, [])
    """

    def __init__(self) -> None:
        self._code: dict[int, CodeType] = {}
        self._since: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._until: WeakKeyDictionary[Any, int] = WeakKeyDictionary()

    def positions(self, graph: Any) -> list[range]:
        """Which of a graph's ops were made by code that is kept here, or by someone else who still keeps code."""
        others = (patch.replacement for patch in patches_of(getattr(sys.modules.get(FRAMEWORK), MAKING, None)))
        keepers = {id(each): each for each in (self, *(getattr(other, "__self__", None) for other in others))}
        found = [each._range(graph) for each in keepers.values() if isinstance(each, KeptCode)]
        return [each for each in found if len(each)]

    def end(self) -> None:
        """Say that no more ops are watched; what is kept stays."""
        for graph, _ in list(self._since.items()):
            self._until[graph] = graph.version

    def hook(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """What TensorFlow calls when it makes an op."""
        kept, since = self._code, self._since

        def making(*arguments: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            maker = _maker(sys._getframe())
            frame, code = maker, list[CodeType]()
            while frame is not None and len(code) < FEW:
                code.append(frame.f_code)
                frame = frame.f_back
            if frame is None:
                kept.update(zip(map(id, code), code, strict=True))
            graph: Any = maker.f_locals.get("graph") if maker is not None else None
            if hasattr(graph, "version") and graph not in since:
                since[graph] = graph.version  # as many ops as there are: this one is not among them yet
            return original(*arguments, **named)

        return making

    def _range(self, graph: Any) -> range:
        if graph not in self._since:
            return range(0)
        return range(self._since[graph], self._until.get(graph, graph.version))


def _maker(frame: FrameType | None) -> FrameType | None:
    """The function of TensorFlow's that makes the op, from the frame of a hook."""
    while frame is not None and HOOK in frame.f_code.co_varnames:
        frame = frame.f_back
    return frame


@contextmanager
def keeping_code(kept: KeptCode) -> Iterator[None]:
    """Keep the code in which ops are made in the block."""
    patches: list[Patch] = []

    def put(framework: ModuleType) -> None:
        with suppress(Exception):  # lines that are not known for it are told of where they are read
            patches.append(Patch(framework, MAKING, kept.hook))

    try:
        with when_imported(FRAMEWORK, put):
            yield
    finally:
        for patch in patches:
            patch.undo()
        kept.end()
