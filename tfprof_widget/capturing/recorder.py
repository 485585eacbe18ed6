"""Tells the runs of a capture from those of captures that were opened in other threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_OPENED: ContextVar[tuple[OpeningThread, ...]] = ContextVar("tfprof_widget_opened", default=())


class OpeningThread:
    """The thread, or the task of asyncio, that a capture was opened in.

    What runs in a thread in which others were opened is theirs; what runs where none was is everyone's.

    >>> first, second = OpeningThread(), OpeningThread()
    >>> with first.opened():
    ...     first.is_elsewhere, second.is_elsewhere
    (False, False)
    """

    def __init__(self) -> None:
        self.is_open = False

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Open it here for the block."""
        self.is_open = True
        _OPENED.set((*_OPENED.get(), self))
        try:
            yield
        finally:
            self.is_open = False
            _OPENED.set(tuple(each for each in _OPENED.get() if each is not self))

    @property
    def is_elsewhere(self) -> bool:
        """Whether this is asked where only others were opened; tasks may outlive those."""
        opened = _OPENED.get()
        return self.is_open and self not in opened and any(each.is_open for each in opened)
