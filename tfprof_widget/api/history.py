"""Keeps what comparisons need of runs: with each capture, in saved files, and for the last runs of each cell."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import SequenceMatcher, unified_diff
from os import PathLike, fspath
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, overload
from uuid import uuid4

from tfprof_widget.analysis.comparing.change import median_interval
from tfprof_widget.analysis.comparing.compared import ComparedRuns
from tfprof_widget.analysis.comparing.keeping import kept_run
from tfprof_widget.api.profile import Profile, load
from tfprof_widget.capturing.surroundings import Surroundings
from tfprof_widget.lib.arrays import Floats
from tfprof_widget.lib.text import visible, written_seconds
from tfprof_widget.profiles.kept_run import KeptRun

if TYPE_CHECKING:
    import pandas

    from tfprof_widget.widget.history import Rerun, ShownHistory

MOST_RUNS = 50
MOST_BYTES = 64 * 10**6
MOST_CELLS = 200

ALIKE = 0.6
"""Cells whose front end gives them no names are the same if so large a part of their lines is."""

FEWEST_EARLIER = 3
"""So many earlier runs of a cell tell how much its runs differ."""

MOST_ALIKE = 4000
"""So many characters of cells are compared."""

KEPT = ".tfprof"
"""How the names of files end in which `%%tfprof --keep` keeps runs."""


class History(Sequence[KeptRun]):
    """Runs of a cell, the oldest first; a slice of it is a history too, which `compare` takes.

    >>> History([KeptRun(label="In[4]"), KeptRun(label="In[5]")])[-1].label
    'In[5]'
    """

    def __init__(self, runs: Iterable[KeptRun]) -> None:
        self.runs = tuple(runs)

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[KeptRun]:
        return iter(self.runs)

    @overload
    def __getitem__(self, place: int) -> KeptRun: ...
    @overload
    def __getitem__(self, place: slice) -> History: ...
    def __getitem__(self, place: int | slice) -> KeptRun | History:
        return History(self.runs[place]) if isinstance(place, slice) else self.runs[place]

    def to_dataframe(self) -> pandas.DataFrame:
        """A row for each run: its steps' median by the clock with an interval that holds for this run, and its cell.

        >>> from tfprof_widget.demo import demo_profile
        >>> History([kept_run(demo_profile())]).to_dataframe()[["step_seconds", "steps"]].values.tolist()
        [[0.000365125, 1.0]]
        """
        import pandas

        rows = [
            (
                run.label,
                run.name,
                run.cell,
                run.taken,
                *median_interval(seconds_of_steps(run)),
                len(seconds_of_steps(run)),
                run.cell_seconds,
                run.source,
            )
            for run in self.runs
        ]
        names = ("run", "name", "cell", "taken", "step_seconds", "step_low", "step_high", "steps", "cell_seconds")
        return pandas.DataFrame(rows, columns=[*names, "source"])

    def diff(self, before: int = -2, after: int = -1) -> str:
        """What changed in the code from one run to another, as a unified diff; empty if nothing did.

        >>> print(History([KeptRun(source="f(1)"), KeptRun(source="f(2)")]).diff())
        --- a run
        +++ a run
        @@ -1 +1 @@
        -f(1)
        +f(2)
        """
        return diff(self.runs[before], self.runs[after])

    def text(self) -> str:
        """A line for each run: what it is called, its step, its cell."""
        return "\n".join(map(_line, self.runs)) or NO_RUNS

    def __repr__(self) -> str:
        return self.text()


NO_RUNS = "no runs are kept: %%tfprof keeps those of cells in this kernel, and with --keep DIR in a directory"


def _line(run: KeptRun) -> str:
    """A run in a line."""
    step, low, high = median_interval(seconds_of_steps(run))
    told = [run.title, run.name if run.label else ""]
    if math.isfinite(step):
        told.append(f"step {written_seconds(step)} ({written_seconds(low)} to {written_seconds(high)})")
    if math.isfinite(run.cell_seconds):
        told.append(f"cell {written_seconds(run.cell_seconds)}")
    return visible(" · ".join(filter(None, told)))


def diff(before: KeptRun, after: KeptRun) -> str:
    """What changed in the code between two runs, as a unified diff.

    >>> diff(KeptRun(source="f()"), KeptRun(source="f()"))
    ''
    """
    sources = (before.source.splitlines(), after.source.splitlines())
    return "\n".join(unified_diff(*sources, before.title, after.title, lineterm=""))


def seconds_of_steps(run: KeptRun) -> Floats:
    """The wall times of a run's steps: of those that were not traced, else of those that were."""
    return run.step_seconds if len(run.step_seconds) else run.traced_seconds


@dataclass
class _Ring:
    """The last runs of one cell; `key` is its name in the notebook, empty if the front end gives it none."""

    key: str
    runs: list[KeptRun] = field(default_factory=list)


class Rings:
    """The last runs of several cells, within bounds: the oldest are dropped.

    >>> rings = Rings(most_runs=2)
    >>> for label in ("In[1]", "In[2]", "In[3]"):
    ...     _ = rings.keep(KeptRun(label=label, cell="a"))
    >>> [run.label for run in rings.all()]
    ['In[2]', 'In[3]']
    """

    def __init__(self, most_runs: int = MOST_RUNS, most_bytes: int = MOST_BYTES) -> None:
        self.most_runs, self.most_bytes = most_runs, most_bytes
        self._rings: list[_Ring] = []
        self._order: list[KeptRun] = []
        self._lock = Lock()

    def keep(self, run: KeptRun) -> KeptRun:
        """Keep a run with the others of its cell; it shares what it has in common with the last of them."""
        with self._lock:
            ring = self._ring_of(run)
            if ring.runs and ring.runs[-1].ops.same_as(run.ops):
                run = replace(run, ops=ring.runs[-1].ops)
            ring.runs.append(run)
            self._order.append(run)
            while len(ring.runs) > self.most_runs:
                self._drop(ring.runs[0])
            while len(self._order) > 1 and self.bytes > self.most_bytes:
                self._drop(self._order[0])
            while len(self._rings) > MOST_CELLS:
                self._drop(self._order[0])
        return run

    def _ring_of(self, run: KeptRun) -> _Ring:
        for ring in reversed(self._rings):
            if ring.key == run.cell if run.cell or ring.key else are_alike(ring.runs[-1].source, run.source):
                return ring
        self._rings.append(_Ring(run.cell))
        return self._rings[-1]

    def _drop(self, run: KeptRun) -> None:
        self._order = [each for each in self._order if each is not run]
        for ring in self._rings:
            ring.runs = [each for each in ring.runs if each is not run]
        self._rings = [ring for ring in self._rings if ring.runs]

    @property
    def bytes(self) -> int:
        """Roughly what all runs take in memory."""
        graphs = {id(run.ops): run.ops for run in self._order}
        return sum(run.bytes for run in self._order) + sum(each.bytes for each in graphs.values())

    def all(self) -> list[KeptRun]:
        """All runs, the oldest first."""
        return list(self._order)

    def of(self, cell: str) -> list[KeptRun]:
        """The runs of the cell that has this name, or of which a run is called so."""
        for ring in reversed(self._rings):
            if cell == ring.key or any(cell in (run.label, run.name) for run in ring.runs):
                return list(ring.runs)
        return []

    def beside(self, run: KeptRun) -> list[KeptRun]:
        """The runs of the cell that a run is of, itself among them; none if the run is not kept here."""
        for ring in self._rings:
            if any(each is run or (each.taken is not None and each.taken == run.taken) for each in ring.runs):
                return list(ring.runs)
        return []


def are_alike(one: str, other: str) -> bool:
    """Whether two sources are of the same cell, edited.

    >>> are_alike("x = 1\\nmodel.fit(x, epochs=3)", "x = 2\\nmodel.fit(x, epochs=3)"), are_alike("f()", "plt.show()")
    (True, False)
    """
    if one == other:
        return True
    lines = SequenceMatcher(None, one.splitlines(), other.splitlines(), autojunk=False)
    if lines.ratio() >= ALIKE:
        return True
    words = SequenceMatcher(None, one[:MOST_ALIKE], other[:MOST_ALIKE], autojunk=False)
    return words.real_quick_ratio() >= ALIKE and words.quick_ratio() >= ALIKE and words.ratio() >= ALIKE


# The runs of this kernel's cells, as IPython keeps the outputs of cells.
_KERNEL = Rings()


def keep_run(run: KeptRun) -> KeptRun:
    """Let a run be part of the history of this kernel."""
    return _KERNEL.keep(run)


def history(cell: str | int | PathLike[str] | None = None) -> History:
    """The runs that the magic keeps in this kernel: of all cells, or of one.

    A cell is named by the number of one of its runs, `history(7)` or `history("In[7]")`, by the name given with
    `--name`, or by the id that the front end gives it. A directory gives the runs kept there by `%%tfprof --keep`.

    >>> history("no such cell")
    no runs are kept: %%tfprof keeps those of cells in this kernel, and with --keep DIR in a directory
    """
    if cell is None:
        return History(_KERNEL.all())
    if isinstance(cell, int):
        return History(_KERNEL.of(f"In[{cell}]"))
    if Path(cell).is_dir():
        return History(_loaded(kept_files(cell)))
    return History(_KERNEL.of(fspath(cell)))


def others_of(before: Sequence[KeptRun], after: Sequence[KeptRun]) -> list[list[KeptRun]]:
    """The other runs of the cell that two single runs are of, in groups of the same code in the same surroundings.

    None if they are too few to tell how much runs of the cell differ, or if there are several runs to tell that.

    >>> others_of([KeptRun()], [KeptRun()])
    []
    """
    groups: dict[tuple[str, ...], list[KeptRun]] = {}
    if len(before) == len(after) == 1:
        compared = {before[0].taken, after[0].taken}
        for run in runs_beside(after[0]):
            if run.taken not in compared:
                key = (run.source, run.step, *(f"{name}={told}" for name, told in sorted(run.fingerprint.items())))
                groups.setdefault(key, []).append(run)
    found = list(groups.values())
    return found if sum(map(len, found)) >= FEWEST_EARLIER else []


def runs_beside(run: KeptRun) -> list[KeptRun]:
    """All runs of the cell that a run is of; none if this kernel does not keep the run.

    >>> runs_beside(KeptRun())
    []
    """
    return _KERNEL.beside(run)


def file_of(directory: str | PathLike[str], run: KeptRun) -> Path:
    """Where to keep a run in a directory, which is made: a name that no other run gets, of this kernel or another.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file_of(folder, KeptRun(label="In[7]")).name
    'unknown-In[7]-...tfprof'
    """
    Path(directory).mkdir(exist_ok=True)
    taken = f"{run.taken:%Y%m%dT%H%M%S.%f}" if run.taken else "unknown"
    label = re.sub(r"[^\w\[\].-]+", "-", run.label or run.name or "run")
    return Path(directory, f"{taken}-{label}-{uuid4().hex[:8]}{KEPT}")


def kept_files(directory: str | PathLike[str]) -> list[Path]:
    """The files of runs in a directory, the oldest first."""
    return sorted(Path(directory).glob(f"*{KEPT}"), key=lambda path: path.name)


def _loaded(files: Iterable[Path]) -> list[KeptRun]:
    found = [kept_run(load(file)) for file in files]
    return sorted(found, key=lambda run: run.taken.timestamp() if run.taken else 0.0)


class Kept:
    """What has a profile of a run of a cell, and so can be compared with other runs."""

    _surroundings: Surroundings | None = None
    _kept_run: KeptRun | None = None
    _rerun: Rerun | None = None
    _name: str
    _taken: datetime

    @property
    @abstractmethod
    def profile(self) -> Profile:
        """The profile of the run."""

    @property
    def kept_run(self) -> KeptRun:
        """What a comparison needs of this run; the magic's history keeps it, and `save` writes it."""
        if self._kept_run is None:
            told = self._surroundings or Surroundings({})
            self._kept_run = kept_run(self.profile).told(
                name=self._name,
                taken=self._taken,
                fingerprint=told.fingerprint,
                others_cores=told.others_cores,
            )
        return self._kept_run

    @kept_run.setter
    def kept_run(self, run: KeptRun) -> None:
        self._kept_run = run

    def reruns_by(self, rerun: Rerun) -> None:
        """Let the tab "history" run the code of two runs again, in turns."""
        self._rerun = rerun

    def save(self, path: str | PathLike[str]) -> None:
        """Write the profile of the busiest graph as tfprof's ProfileProto, with what a comparison needs of the run."""
        from tfprof_widget.output.saved import save

        save(self.profile, path, self.kept_run)

    def _shown_history(self) -> ShownHistory:
        """The runs of this cell that the kernel keeps, else this one alone."""
        from tfprof_widget.widget.history import ShownHistory

        runs = runs_beside(self.kept_run) or [self.kept_run]
        compare = lambda before, after: ComparedRuns(before, after, others_of(before, after))  # noqa: E731
        return ShownHistory.of(runs, compare, self._rerun)
