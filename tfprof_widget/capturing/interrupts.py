"""Lets Ctrl-C come at once in the user's code, and right after ours: an interrupt in it would lose what is recorded."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

Handler = Callable[[int, FrameType | None], Any]

PACKAGE = __name__.partition(".")[0] + "."
HOOK = "__tracebackhide__"
"""A local variable of the functions of ours that call the user's code."""


class Interrupts:
    """The handler of Ctrl-C while something is captured, in place of the `handler` that there was.

    An interrupt comes at once where the user's code runs, or what that calls. Where code of ours runs it waits for
    `deliver`, which is called as soon as ours is done.
    """

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.holders = 1
        self.is_reading = False
        self._received: tuple[int, FrameType | None] | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Hand the interrupt on, now or later."""
        if self.holders and not self.is_reading and _is_ours(frame):
            self._received = number, frame
        else:
            self.handler(number, frame)

    def deliver(self) -> None:
        """Let an interrupt come that has waited."""
        received, self._received = self._received, None
        if received is not None:
            self.handler(*received)

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Let interrupts come in the block though it is ours: reading takes long, and only its result is lost."""
        self.is_reading = True
        try:
            yield
        finally:
            self.is_reading = False


def hold_interrupts() -> Interrupts | None:
    """Have interrupts wait while code of ours runs, from now on until `release_interrupts`.

    Only the main thread gets any: elsewhere there is nothing to hold, and None is returned.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        return None
    if isinstance(handler, Interrupts) and handler.holders:
        handler.holders += 1
        return handler
    held = Interrupts(handler)
    signal.signal(signal.SIGINT, held)
    return held


def release_interrupts(held: Interrupts | None) -> None:
    """Leave the handler of Ctrl-C as it was, once all have released it, and let an interrupt come that has waited.

    A handler that the user has put there meanwhile stays.
    """
    if held is None:
        return
    current: object = signal.getsignal(signal.SIGINT)
    if held.holders == 1 and current is held:
        signal.signal(signal.SIGINT, held.handler)
    held.holders -= 1
    held.deliver()


def deliver_interrupt() -> None:
    """Let an interrupt come that has waited for code of ours.

    >>> deliver_interrupt()
    """
    handler = signal.getsignal(signal.SIGINT)
    if isinstance(handler, Interrupts):
        handler.deliver()


def _is_ours(frame: FrameType | None) -> bool:
    """Whether code of ours runs in this frame, or called what runs there, rather than the user's."""
    innermost = frame
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith(PACKAGE):
            return frame is innermost or HOOK not in frame.f_code.co_varnames
        frame = frame.f_back
    return False


@contextmanager
def interrupted_later() -> Iterator[None]:
    """Have an interrupt that comes during the block come right after it; only the main thread gets any.

    >>> try:
    ...     with interrupted_later():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("done")
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    done
    interrupted
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    received: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: received.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if received:
            handler(*received[-1])
