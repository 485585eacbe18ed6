"""Puts a watcher between a user's code and a function of TensorFlow's, such that the user notices nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, Self

from tfprof_widget.capturing.interrupts import deliver_interrupt
from tfprof_widget.capturing.patches import Noting


class Recording(Noting, Protocol):
    """Is told of runs, from any thread, and says which ones to trace; what it calls a run is its own affair."""

    @property
    def clock(self) -> Callable[[], float]:
        """Tells the time in seconds."""

    def begin(self, graph: Any, nodes: Iterable[str], *, untraceable: str = "") -> Any:
        """Take note of a run that begins now: something with a flag `traced`, or None to let it pass."""

    def finished(self, run: Any, metadata: bytes | None = None) -> None:
        """Take note that a run came to its end, and of the RunMetadata if it was traced."""

    def watched(self, run: Any, since: float) -> None:
        """Take note of the time that watching a run took beside the run, from then until now."""

    def raised(self, run: Any) -> None:
        """Take note that a run ended in an exception."""

    def forget(self, run: Any) -> None:
        """Take a run back that could not be watched after all."""


class Passing:
    """A call that is let pass, as the context of it: `arguments` and `keywords` are to call the original with."""

    def __init__(self, arguments: Sequence[Any], keywords: dict[str, Any]) -> None:
        self.arguments = arguments
        self.keywords = keywords

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        """Nothing is to be done."""

    def hand_over(self) -> None:
        """Give the user what he asked for; what this raises is his."""


class Begun(Passing):
    """A run that has begun: the arguments to run it with, and what to do when it is over."""

    def __init__(self, recorder: Recording, run: Any, arguments: Sequence[Any], keywords: dict[str, Any]) -> None:
        super().__init__(arguments, keywords)
        self.recorder = recorder
        self.run = run
        self.since = 0.0

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if kind is None:
            self.finished()
        else:
            self.raised()

    def finished(self) -> None:
        """Take note that the run gave its results; watching it began at the time `since`."""
        try:
            try:
                self.recorder.finished(self.run, self.metadata() if self.run.traced else None)
            finally:
                self.release()
            self.recorder.watched(self.run, self.since)
        except Exception as error:
            self.recorder.broke(error)

    def raised(self) -> None:
        """Take note that the run raised an exception."""
        try:
            try:
                self.recorder.raised(self.run)
            finally:
                self.release()
        except Exception as error:
            self.recorder.broke(error)

    def metadata(self) -> bytes | None:
        """The serialized RunMetadata of a traced run."""
        return None

    def release(self) -> None:
        """Give back what the tracing took."""


class Watcher(ABC):
    """Is told of the calls of a function, and says what becomes of them."""

    def __init__(self, recorder: Recording) -> None:
        self.recorder = recorder

    @abstractmethod
    def begin(self, *arguments: Any, **keywords: Any) -> Begun | None:
        """Take note of a call; None lets it pass."""

    def hook(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """The original under watch.

        It is called from this one function, so that tracebacks grow by one frame, and holding no lock.
        """

        def hook(*arguments: Any, **keywords: Any) -> Any:
            __tracebackhide__ = True
            with self._watching(arguments, keywords) as call:
                results = original(*call.arguments, **call.keywords)
            call.hand_over()
            deliver_interrupt()
            return results

        return hook

    def _watching(self, arguments: Sequence[Any], keywords: dict[str, Any]) -> Passing:
        since = self.recorder.clock()
        try:
            begun = self.begin(*arguments, **keywords)
        except Exception as error:
            self.recorder.broke(error)
            begun = None
        if begun is None:
            return Passing(arguments, keywords)
        begun.since = since
        return begun
