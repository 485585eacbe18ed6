"""Tells a process that was forked off while something is captured from the one that captures."""

from __future__ import annotations

import os

FORKED = (
    "this process was forked off while its parent captured, and the capture is the parent's: "
    "put `with tfprof_widget.capture():` into what runs here to have one of its own"
)


class OwnProcess:
    """The process that this is made in: locks, threads and TensorFlow's profiler do not survive in a fork of it.

    >>> OwnProcess().is_another
    False
    """

    def __init__(self) -> None:
        self._number = os.getpid()

    @property
    def is_another(self) -> bool:
        """Whether this is asked in a fork."""
        return os.getpid() != self._number
