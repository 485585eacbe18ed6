"""Defines the methods with which captures and profiles replay their steps: what if, and what takes long."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tfprof_widget.profiles.data import ProfileData

if TYPE_CHECKING:
    import pandas

    from tfprof_widget.analysis.replay.prediction import WhatIf


class Replayed:
    """The part of `Capture` and `Profile` with that replays recorded steps."""

    @property
    @abstractmethod
    def _accounted(self) -> ProfileData:
        """The profile."""

    def what_if(self, changes: Mapping[str, float]) -> WhatIf:
        """What a step would take if some of its work took another time: a factor for each key, from 0 up.

        A key is a regex that matches whole names of nodes, `layer:NAME`, `type:OP`, `line:FILE:N`, `input`, which is
        what steps wait for, or `python`, the time between steps. `docs/what-if.md` tells how it is predicted.
        Without changes it is the replay alone. Where the replay is more than 10 % off, a ProfileError says why.

        >>> from tfprof_widget.demo import demo_profile
        >>> print(demo_profile().what_if({"type:MatMul": 0.5}))
        step      365.1 µs   measured, 1 step
        replayed  368.5 µs   unchanged, 0.9 % more
        what if   306.9 µs   type:MatMul takes 50 %: 16.7 % less; between 288.2 µs and 322.3 µs
        critical path: 30 executions before, 30 after
        """
        from tfprof_widget.analysis.replay.prediction import what_if

        return what_if(self._accounted, changes)

    def what_if_curve(self, key: str) -> pandas.DataFrame:
        """The predicted step if what a key names took 0 to 100 % of its time: `share`, `seconds`, `low`, `high`.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().what_if_curve("layer:layer1")["share"].tolist()[:3]
        [0.0, 0.1, 0.2]
        """
        import pandas

        from tfprof_widget.analysis.replay.prediction import what_if_curve

        rows = list(what_if_curve(self._accounted, key))
        return pandas.DataFrame(rows, columns=["share", "seconds", "low", "high"])

    def critical_path(self) -> pandas.DataFrame:
        """The executions on the critical path of the step with the median wall time, in order, a row each.

        `start` counts from the beginning of the step, in microseconds, as `micros` and `slack` are; `steps_on_path`
        says in how many of the recorded steps the node was on the path, such as `7 of 10`.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().critical_path()["name"].tolist()[-2:]
        ['GradientDescent/update_layer1/w/ApplyGradientDescent', 'GradientDescent']
        """
        return self._path_frame(on_path=True)

    def slack(self) -> pandas.DataFrame:
        """The executions beside the critical path, as `critical_path` gives those on it.

        `slack` is how much later each could have ended without the step taking longer.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().slack().columns.tolist()
        ['name', 'type', 'layer', 'line', 'start', 'micros', 'slack', 'steps_on_path']
        """
        return self._path_frame(on_path=False)

    def _path_frame(self, *, on_path: bool) -> pandas.DataFrame:
        import pandas

        from tfprof_widget.analysis.replay.critical_path import COLUMNS, path_rows

        return pandas.DataFrame(list(path_rows(self._accounted, on_path=on_path)), columns=list(COLUMNS))
