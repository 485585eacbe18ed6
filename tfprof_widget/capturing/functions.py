"""Keeps the functions that Python calls in TensorFlow 2, for their graphs: what ran is told by names only."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any


class CalledFunctions:
    """The functions called so far, by the names that the runtime has for them.

    They are kept until the capture is over: TensorFlow forgets a function with the last reference to it. What they call
    in turn is found in their graphs, also if it was traced long before.

    >>> CalledFunctions().graphs({"__inference_step_12"})
    []
    """

    def __init__(self) -> None:
        self.labels: dict[str, str] = {}
        self._known: dict[str, Any] = {}

    def add(self, function: Any, label: str = "") -> str:
        """Keep a function (an AtomicFunction of TensorFlow's) and a word for what it calls; returns its name."""
        name = function.name
        text = name.decode() if isinstance(name, bytes) else str(name)
        if text not in self._known:
            self._known[text] = function
            if label:
                self.labels[text] = label
        return text

    def graphs(self, executed: AbstractSet[str]) -> list[tuple[str, Any]]:
        """The FuncGraphs of the functions of these names, in the order first called."""
        return [(name, function.graph) for name, function in self._known.items() if name in executed]
