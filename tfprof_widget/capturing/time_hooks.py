"""Hooks what takes the time of a cell beside runs: building functions, waiting for batches, and phases of Keras."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import FunctionType, ModuleType
from typing import Any

from tfprof_widget.capturing.cell_log import CellLog
from tfprof_widget.capturing.hooks import Hook, Noting, Patch, put_patches
from tfprof_widget.lib.safely import deliver_interrupt
from tfprof_widget.profiles.cell import BETWEEN, NEXT_BATCH, SAVING

BUILDING = "tensorflow.python.framework.func_graph"


def building_hooks(module: ModuleType, log: CellLog) -> Iterator[Hook]:
    """Hooks the function with which TensorFlow builds the graph of a Python function."""

    def replace(original: Any) -> Callable[..., Any]:
        def hook(*arguments: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            since = log.clock()
            log.building += 1
            try:
                results = original(*arguments, **named)
            finally:
                log.building -= 1
                log.tracing.add(since, log.clock())
            deliver_interrupt()
            return results

        return hook

    yield module, "func_graph_from_py_func", replace


WAITING = ("__next__", "get_next", "get_next_as_optional")
"""The methods of TensorFlow's iterators that wait for a batch."""


def waiting(log: CellLog) -> Callable[[Any], Callable[..., Any]]:
    """Makes a function whose time is that of waiting for a batch."""

    def replace(original: Any) -> Callable[..., Any]:
        def hook(*arguments: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            since, depth = log.clock(), log.phases.enter(NEXT_BATCH)
            try:
                results = original(*arguments, **named) if named else original(*arguments)
            finally:
                log.waiting.add(since, log.clock())
                log.phases.leave(depth)
            deliver_interrupt()
            return results

        return hook

    return replace


# The modules that have Keras' loops and models, and TensorFlow's checkpoints; the class, and the methods by phase.
_TRAINER = {BETWEEN: ("fit", "evaluate", "predict")}
_MODEL = {SAVING: ("save", "save_weights", "export")}
_CHECKPOINT = {SAVING: ("save", "write")}
TIMED = (
    ("keras.src.backend.tensorflow.trainer", "TensorFlowTrainer", _TRAINER),
    ("keras.src.models.model", "Model", _MODEL),
    ("tf_keras.src.engine.training", "Model", _TRAINER | _MODEL),
    ("tensorflow.python.checkpoint.checkpoint", "Checkpoint", _CHECKPOINT),
    ("tensorflow.python.training.saver", "Saver", {SAVING: ("save",)}),
)
CALLBACKS = ("keras.src.callbacks.callback_list", "tf_keras.src.callbacks")
_BASE = "Callback"


class CallbackPhases:
    """Counts each callback's methods for a phase of their own, from when Keras lists the callbacks of a loop."""

    def __init__(self, log: CellLog, patches: list[Patch], recorder: Noting) -> None:
        self._phases, self._patches, self._recorder = log.phases, patches, recorder
        self._known: set[tuple[int, str]] = set()

    def hooks(self, module: ModuleType) -> Iterator[Hook]:
        """The method to replace in a module of CALLBACKS."""

        def replace(original: Any) -> Callable[..., Any]:
            def __init__(listed: Any, *arguments: Any, **named: Any) -> None:
                __tracebackhide__ = True
                original(listed, *arguments, **named)
                put_patches(partial(self._of_list, listed), self._patches, self._recorder)

            return __init__

        yield getattr(module, "CallbackList", None), "__init__", replace

    def _of_list(self, listed: Any) -> Iterator[Hook]:
        for callback in listed.callbacks:
            for owner in (callback, *type(callback).__mro__):
                if owner is not callback and (owner.__name__ == _BASE or owner is object):
                    break
                for name, method in tuple(vars(owner).items()):
                    is_method = isinstance(method, FunctionType) or (owner is callback and callable(method))
                    if name.startswith("on_") and is_method and (id(owner), name) not in self._known:
                        self._known.add((id(owner), name))
                        yield owner, name, self._of_owner(callback if owner is callback else None, name)

    def _of_owner(self, callback: Any, method: str) -> Callable[[Any], Callable[..., Any]]:
        """Makes a function for a class's method, or for that of one callback that has a method of its own."""
        phases = self._phases

        def replace(original: Any) -> Callable[..., Any]:
            def hook(*arguments: Any, **named: Any) -> Any:
                __tracebackhide__ = True
                of = arguments[0] if callback is None else callback
                depth = phases.enter(f"{type(of).__name__}.{method}", original)
                try:
                    results = original(*arguments, **named)
                finally:
                    phases.leave(depth)
                deliver_interrupt()
                return results

            return hook

        return replace


def timed_hooks(log: CellLog, class_name: str, methods: Mapping[str, Sequence[str]]) -> Any:
    """Makes the hooks of a module in TIMED."""

    def hooks(module: ModuleType) -> Iterator[Hook]:
        owner: Any = getattr(module, class_name, None)
        for phase, names in methods.items():
            for name in names:
                if owner is not None and name in vars(owner):
                    yield owner, name, timing(log, phase)

    return hooks


def timing(log: CellLog, phase: str) -> Callable[[Any], Callable[..., Any]]:
    """Makes a function that counts for this phase."""

    def replace(original: Any) -> Callable[..., Any]:
        def hook(*arguments: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            depth = log.phases.enter(phase)
            try:
                results = original(*arguments, **named)
            finally:
                log.phases.leave(depth)
            deliver_interrupt()
            return results

        return hook

    return replace
