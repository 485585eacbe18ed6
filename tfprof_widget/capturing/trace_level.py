"""Chooses how thoroughly a session run may be traced without any run failing of it.

Over a SOFTWARE_TRACE, a FULL_TRACE has the kernels of accelerators, and nothing more where there are none. It starts
TensorFlow's profiler, of which a process has one: while another is active, a run with a FULL_TRACE does its work and
then raises AlreadyExistsError, and so do the runs of several threads among one another. The sessions of a cluster give
no step stats for less than a FULL_TRACE, and their runs do not fail of it.
"""

from __future__ import annotations

import sys
from typing import Any
from weakref import WeakKeyDictionary

from tfprof_widget.capturing.collectives import has_collectives

SOFTWARE_TRACE = 1
FULL_TRACE = 3
PROFILER = "tensorflow.python.profiler.profiler_v2"
HOSTS = frozenset({"CPU", "XLA_CPU"})


class TraceLevels:
    """Lends the FULL_TRACE to one run at a time, where it is of use, and a SOFTWARE_TRACE to all others."""

    def __init__(self) -> None:
        self._accelerated: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
        self._borrowers: dict[int, object] = {}

    def borrow(self, session: Any, borrower: object) -> int:
        """The level for a run of this session, until it is given back."""
        if getattr(session, "sess_str", None):
            return FULL_TRACE
        if not self._has_accelerator(session) or is_profiling() or self._meets_first(session, borrower):
            return SOFTWARE_TRACE
        first = self._borrowers.setdefault(FULL_TRACE, borrower)  # in one go, whatever the other threads do
        return FULL_TRACE if first is borrower else SOFTWARE_TRACE

    def give_back(self, borrower: object) -> None:
        """Let another run have the FULL_TRACE, if this borrower had it."""
        if self._borrowers.get(FULL_TRACE) is borrower:
            del self._borrowers[FULL_TRACE]

    def _meets_first(self, session: Any, borrower: Any) -> bool:
        """Whether devices may meet in this run for the first time, which TensorFlow's profiler may crash in."""
        is_first = getattr(getattr(borrower, "choice", None), "warm_up", False)
        return is_first and has_collectives(session.graph)

    def _has_accelerator(self, session: Any) -> bool:
        known = self._accelerated.get(session)
        if known is None:
            try:
                known = any(device.device_type not in HOSTS for device in session.list_devices())
            except Exception:  # a closed session: the run itself is to say so
                return False
            self._accelerated[session] = known
        return known


def is_profiling() -> bool:
    """Whether tf.profiler.experimental was started and not yet stopped.

    >>> is_profiling()
    False
    """
    return getattr(sys.modules.get(PROFILER), "_profiler", None) is not None
