"""Keeps the code alive in which ops are made, since TensorFlow's stack traces point to code that may be freed.

TensorFlow 2.21 itself keeps alive only the code of stacks of more than 16 frames, as they are in a Jupyter kernel.
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
"""TensorFlow calls this for each op, right before it takes the op's stack, so that a hook is not in the stack."""

FEW = 32
"""The code of stacks of at most so many frames is kept; TensorFlow itself keeps that of stacks of more than 16."""


class KeptCode:
    """The code objects of all frames in which ops were made while `keeping_code`, and the positions of these ops.

    Python frees the code of a notebook's cell when the cell has run. The lines of these ops can be read as long as
    this object lives.

    >>> kept = KeptCode()
    >>> kept.hook(len)("an op"), kept.positions("a graph")
    (5, [])
    """

    def __init__(self) -> None:
        self._code: dict[int, CodeType] = {}
        self._since: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._until: WeakKeyDictionary[Any, int] = WeakKeyDictionary()

    def positions(self, graph: Any) -> list[range]:
        """Which of a graph's ops were made by code that this object keeps, or another that still keeps code."""
        others = (patch.replacement for patch in patches_of(getattr(sys.modules.get(FRAMEWORK), MAKING, None)))
        keepers = {id(each): each for each in (self, *(getattr(other, "__self__", None) for other in others))}
        found = [each._range(graph) for each in keepers.values() if isinstance(each, KeptCode)]
        return [each for each in found if len(each)]

    def end(self) -> None:
        """Watch no more ops; the code kept so far stays alive."""
        for graph, _ in list(self._since.items()):
            self._until[graph] = graph.version

    def hook(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """The function that TensorFlow calls in place of the original when it makes an op."""
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
                since[graph] = graph.version  # the number of ops, this one not counted yet
            return original(*arguments, **named)

        return making

    def _range(self, graph: Any) -> range:
        if graph not in self._since:
            return range(0)
        return range(self._since[graph], self._until.get(graph, graph.version))


def _maker(frame: FrameType | None) -> FrameType | None:
    """The frame of TensorFlow's function that makes the op, given the frame of a hook."""
    while frame is not None and HOOK in frame.f_code.co_varnames:
        frame = frame.f_back
    return frame


@contextmanager
def keeping_code(kept: KeptCode) -> Iterator[None]:
    """Keep the code in which ops are made in the block."""
    patches: list[Patch] = []

    def put(framework: ModuleType) -> None:
        with suppress(Exception):  # the reader of stacks notes lines that are missing
            patches.append(Patch(framework, MAKING, kept.hook))

    try:
        with when_imported(FRAMEWORK, put):
            yield
    finally:
        for patch in patches:
            patch.undo()
        kept.end()
