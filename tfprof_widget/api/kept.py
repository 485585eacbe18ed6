"""Defines what captures keep of a run of a cell for comparisons, and the file that it is saved in."""

from __future__ import annotations

from abc import abstractmethod
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING

from tfprof_widget.analysis.comparing.compared import ComparedRuns
from tfprof_widget.analysis.comparing.keeping import kept_run
from tfprof_widget.api.profile import Profile
from tfprof_widget.capturing.surroundings import Surroundings
from tfprof_widget.profiles.kept_run import KeptRun

if TYPE_CHECKING:
    from tfprof_widget.widget.history import ShownHistory


class Kept:
    """What has a profile of a run of a cell, and so can be compared with other runs."""

    _surroundings: Surroundings | None = None
    _kept_run: KeptRun | None = None
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

    def save(self, path: str | PathLike[str]) -> None:
        """Write the profile of the busiest graph as tfprof's ProfileProto, with what a comparison needs of the run."""
        from tfprof_widget.output.saved import save

        save(self.profile, path, self.kept_run)

    def _shown_history(self) -> ShownHistory:
        """The runs of this cell that the kernel keeps, else this one alone."""
        from tfprof_widget.api.history import others_of, runs_beside
        from tfprof_widget.widget.history import ShownHistory

        runs = runs_beside(self.kept_run) or [self.kept_run]
        return ShownHistory.of(runs, lambda before, after: ComparedRuns(before, after, others_of(before, after)))
