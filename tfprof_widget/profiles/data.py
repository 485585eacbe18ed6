"""Defines the data of a profile with its cache of results, and reads the names of steps."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from tfprof_widget.profiles.tables import (
    Allocations,
    Checkpoint,
    CodeStacks,
    ExecutedKernel,
    Executions,
    Nodes,
    Outputs,
    RecordedRuns,
    StepTotals,
    Transfers,
)

Found = TypeVar("Found")

# Enough for a few views of a few steps: at most three hundred megabytes for a graph of 100,000 nodes.
RECENT = 24
# If results are larger, fewer of them are kept, but never fewer than two views need.
MOST_BYTES = 10**9
FEWEST = 8


class ResultCache:
    """Keeps results by key. If two threads ask at once, both may compute the result, and both get a whole one.

    >>> cache = ResultCache()
    >>> cache.kept("tree", lambda: "grown"), cache.kept("tree", lambda: "grown again")
    ('grown', 'grown')
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, Any] = {}
        self._recent: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[ResultCache], tuple[()]]:
        """Pickle or copy the cache as an empty one: results can be computed again."""
        return ResultCache, ()

    def kept(self, key: Hashable, make: Callable[[], Found]) -> Found:
        """The result that is kept under this key, or the one that `make` gives now."""
        if key not in self._kept:
            self._kept[key] = make()
        found: Found = self._kept[key]
        return found

    def recent(self, key: Hashable, make: Callable[[], Found], most: int = RECENT) -> Found:
        """As `kept`, but of all results asked for in this way only the last `most` are held."""
        with self._lock:
            if key in self._recent:
                self._recent.move_to_end(key)
                found: Found = self._recent[key]
                return found
        made = make()
        with self._lock:
            self._recent[key] = made
            for key in self._too_many(most):
                del self._recent[key]
        return made

    def _too_many(self, most: int) -> list[Hashable]:
        """The results to drop. Results may have grown columns since they were kept, so all are measured again."""
        if len(self._recent) <= min(FEWEST, most):
            return []
        counted: dict[int, int] = {}
        latest = list(reversed(self._recent))
        for place, key in enumerate(latest):
            _count(self._recent[key], counted)
            if place >= most or (place >= FEWEST and sum(counted.values()) > MOST_BYTES):
                return latest[place:]
        return []


def _count(value: Any, counted: dict[int, int]) -> None:
    """Add up the bytes of the columns that a result refers to; a column that several results share counts once."""
    if id(value) in counted:
        return
    if isinstance(value, np.ndarray | bytes):
        counted[id(value)] = value.nbytes if isinstance(value, np.ndarray) else len(value)
        return
    parts = value if isinstance(value, dict) else getattr(value, "__dict__", {})
    counted[id(value)] = 0
    for part in tuple(parts.values()):
        _count(part, counted)


# Follows the name of a kind in the name of its first run, in which TensorFlow traces, compiles and tunes.
WARM_UP = " (warm-up)"
EAGER = "eager ops"
# Follows the name of a kind in steps that took less than a third as long as most, as that of a small last batch does.
SHORTER = " (shorter)"


@dataclass(frozen=True, eq=False)
class ProfileTables:
    """A graph's nodes and what was measured of them, as tables of columns. A stage takes and gives such tables.

    `step_names` has the name of the run of each step, empty if it is not known. `graphs` are the graphs as they were
    read: they hold the attributes of nodes, for which there is no column. `checkpoint` holds values of variables.
    `kernels` maps the name of a node to the kernel that ran for it, if this is not the node's own op. `compiled` maps
    the name of a function that XLA compiled into one op to the nodes of the function. `transfers` are the tensors that
    devices got from each other. `step_workers` has the worker of each step; it is empty if there was one process only.
    With workers, a step number appears once for each worker that ran it. `runs` are the runs in which the executions
    were recorded. With `one_clock`, the times of all tasks are on the same clock. `main_kind` is the name of the steps
    that do most of the work, if it is known how often each kind of step ran, as after a capture.
    """

    nodes: Nodes
    steps: tuple[int, ...]
    step_names: tuple[str, ...]
    executions: Executions
    outputs: Outputs
    allocations: Allocations
    step_totals: StepTotals
    traces: CodeStacks
    graphs: tuple[Any, ...]
    misses_accelerator_stream: bool = False
    checkpoint: Checkpoint | None = field(default=None, repr=False)
    kernels: Mapping[str, ExecutedKernel] = field(default_factory=dict, repr=False)
    compiled: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)
    transfers: Transfers = field(default_factory=Transfers.none, repr=False)
    step_workers: tuple[str, ...] = ()
    runs: RecordedRuns = field(default_factory=RecordedRuns.none, repr=False)
    one_clock: bool = False
    main_kind: str = ""

    def having(self, **changed: Any) -> ProfileTables:
        """These tables with the given ones in place of their own.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().having(step_names=("train",)).step_names
        ('train',)
        """
        return ProfileTables(**{**table_values(self), **changed})

    @property
    def workers_of_steps(self) -> tuple[str, ...]:
        """The worker of each step; an empty name for each if there was one process only.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().workers_of_steps
        ('',)
        """
        return self.step_workers or ("",) * len(self.steps)

    @property
    def has_traces(self) -> bool:
        """Whether the Python stack of any node is known, which the code view needs.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().has_traces
        True
        """
        return bool((self.traces.stack >= 0).any())


def table_values(tables: ProfileTables) -> dict[str, Any]:
    """The tables by name.

    >>> from tfprof_widget.demo import demo_profile
    >>> list(table_values(demo_profile()))[:2]
    ['nodes', 'steps']
    """
    return {column.name: getattr(tables, column.name) for column in fields(ProfileTables)}


@dataclass(frozen=True, eq=False, repr=False)
class ProfileData(ProfileTables):
    """Tables that no stage changes any more, with a cache of results computed from them."""

    cache: ResultCache = field(default_factory=ResultCache, init=False, repr=False)

    def __repr__(self) -> str:
        counts = {"node": len(self.nodes), "execution": len(self.executions), "step": len(self.steps)}
        return f"{type(self).__name__}({', '.join(_counted(count, noun) for noun, count in counts.items())})"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
