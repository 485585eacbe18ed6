"""Names the threads of the host by what they do, alike in all windows of a capture."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tfprof_widget.lib.arrays import Integers

PYTHON, INTER_OP, INTRA_OP, DATA = "Python", "inter-op", "intra-op", "tf.data"
_DATA_THREADS = "tf_data_"
_NUMBERED = re.compile(r"(?P<pool>.*)/-?\d+", re.DOTALL)
_EIGEN = re.compile(r"tf_.*Eigen")


class HostThread(NamedTuple):
    """A thread of the host: what it does, and the number by which it is known in all windows of its process.

    TensorFlow lends the threads of `tf.data` to whoever needs one, so the name of one changes from window to window.
    """

    role: str
    number: int


def host_thread(line: str, number: int) -> HostThread:
    """The thread that a line of a trace stands for, by its name and number.

    >>> host_thread("tf_Compute/-49", -49), host_thread("python3", 7)
    (HostThread(role='inter-op', number=-49), HostThread(role='Python', number=7))
    >>> host_thread("tf_data_iterator_resource/5", 5).role, host_thread("tf_numa_-1_Eigen/6", 6).role
    ('tf.data', 'intra-op')
    >>> host_thread("tf_pjrt_thread_pool/8", 8).role, host_thread("Host Threads/9", 9).role, host_thread("", 1).role
    ('pjrt thread pool', 'host thread', 'host thread')
    """
    found = _NUMBERED.fullmatch(line)
    pool = line if found is None else found["pool"]
    if pool.startswith(_DATA_THREADS):
        role = DATA
    elif pool == "tf_Compute":
        role = INTER_OP
    elif _EIGEN.fullmatch(pool):
        role = INTRA_OP
    elif pool in ("", "Host Threads"):
        role = "host thread"
    else:
        role = PYTHON if found is None else pool.removeprefix("tf_").replace("_", " ")
    return HostThread(role, number)


class ThreadNames:
    """Numbers the threads of several traces of one process, in the order in which they first ran something.

    >>> names = ThreadNames()
    >>> threads = [HostThread("Python", 7), HostThread("inter-op", -49), HostThread("inter-op", 3)]
    >>> names.numbered(threads, np.array([0, 2, 2]), np.array([20, 10, 30]), np.array([0, 1, 2])).tolist()
    [1, 0, 0]
    >>> names.numbered([HostThread("inter-op", -49)], np.array([0]), np.array([40]), np.array([0])).tolist()
    [2]
    >>> names.names
    ('inter-op 1', 'Python', 'inter-op 2')
    """

    def __init__(self) -> None:
        self._known: dict[HostThread, int] = {}

    def numbered(self, threads: Sequence[HostThread], thread: Integers, start: Integers, rows: Integers) -> Integers:
        """The column `thread`, of indices into `threads`, with their numbers in some rows; others stay as they are."""
        rows = rows[np.argsort(start[rows], kind="stable")]
        ran, first, place = np.unique(thread[rows], return_index=True, return_inverse=True)
        for index in ran[np.argsort(first)].tolist():
            self._known.setdefault(threads[index], len(self._known))
        found = thread.copy()
        found[rows] = np.array([self._known[threads[index]] for index in ran.tolist()], np.int64)[place.reshape(-1)]
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each thread: what it does, with a number if several do that."""
        alike = Counter(thread.role for thread in self._known)
        met: Counter[str] = Counter()
        found = []
        for thread in self._known:
            met[thread.role] += 1
            found.append(f"{thread.role} {met[thread.role]}" if alike[thread.role] > 1 else thread.role)
        return tuple(found)
