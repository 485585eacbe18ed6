"""Holds back Ctrl-C or the garbage collector, detects a fork, and writes a file whole or not at all."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from types import FrameType
from typing import Any

from tfprof_widget.lib.errors import ProfileError


@contextmanager
def pause_gc() -> Iterator[None]:
    """Run the block without garbage collection, and leave the collector as it was.

    >>> with pause_gc():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


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
    """Let an interrupt come that has waited for code of ours."""
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
def postpone_ctrl_c() -> Iterator[None]:
    """Have an interrupt that comes during the block come right after it; only the main thread gets any.

    >>> try:
    ...     with postpone_ctrl_c():
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


FORKED = (
    "this process was forked off while its parent captured, and the capture is the parent's: "
    "put `with tfprof_widget.capture():` into what runs here to have one of its own"
)


class RecordingProcess:
    """The process that this is made in: locks, threads and TensorFlow's profiler do not survive in a fork of it."""

    def __init__(self) -> None:
        self._number = os.getpid()

    @property
    def is_another(self) -> bool:
        """Whether this is asked in a fork."""
        return os.getpid() != self._number


def write_whole(path: str | PathLike[str], content: bytes | bytearray) -> None:
    """Write a file so that a reader finds either all of it or what was there before.

    >>> write_whole("/no/such/directory/file", b"")
    Traceback (most recent call last):
        ...
    tfprof_widget.ProfileError: cannot write '/no/such/directory/file': ...
    """
    try:
        if Path(path).exists() and not Path(path).is_file():
            Path(path).write_bytes(content)  # a pipe or a device, which must not be replaced
        else:
            _replace(Path(path).resolve(), content)  # a link stays a link
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ProfileError(
            f"cannot write {os.fspath(path)!r}: {reason}; choose a directory that exists and that you may write to"
        ) from None


def _replace(target: Path, content: bytes | bytearray) -> None:
    handle, beside = tempfile.mkstemp(prefix=".tfprof-", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(beside).chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        Path(beside).replace(target)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
