"""Defines the methods with which captures and profiles tell where the time of a cell and of its steps went."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from tfprof_widget.profiles.data import ProfileData

if TYPE_CHECKING:
    import pandas

    from tfprof_widget.analysis.account.budget import TimeBudget


class Accounted:
    """What has a profile that tells where time went."""

    @property
    @abstractmethod
    def _accounted(self) -> ProfileData:
        """The profile."""

    def time_budget(self) -> TimeBudget:
        """Where the wall time of the captured cell and that of one of its steps went, in parts that add up.

        Print it, or take its `cell` and `step`; of several tasks its `tasks` has a budget each.

        >>> from tfprof_widget.demo import demo_profile
        >>> print(demo_profile().time_budget())
        step        365.1 µs
          backward  143.4 µs   39.3 %
          forward   109.8 µs   30.1 %
          update     64.2 µs   17.6 %
          runtime    47.7 µs   13.1 %
        """
        from tfprof_widget.analysis.account.budget import time_budget

        return time_budget(self._accounted)

    def python_lines(self) -> pandas.DataFrame:
        """The lines at which Python was while no step ran, the costliest first, by looks at it every few milliseconds.

        What libraries do counts for the user's line that called them. `samples` is how often a line was seen; `share`
        is its share of the cell.

        >>> import tfprof_widget as tfprof
        >>> with tfprof.capture() as prof:
        ...     pass
        >>> prof.python_lines().columns.tolist()
        ['file', 'line', 'function', 'source', 'seconds', 'share', 'samples']
        """
        from tfprof_widget.output.account import python_frame

        return python_frame(self._accounted)

    def phases(self) -> pandas.DataFrame:
        """What the loops of Keras (fit, evaluate, predict) spent on batches, steps, each callback, validation, saving.

        A phase is without the phases within it. `share` is its share of the cell, `times` how often it was done, and
        `line` where a callback's method is defined.

        >>> import tfprof_widget as tfprof
        >>> with tfprof.capture() as prof:
        ...     pass
        >>> prof.phases().columns.tolist()
        ['phase', 'seconds', 'share', 'times', 'line']
        """
        from tfprof_widget.output.account import phases_frame

        return phases_frame(self._accounted)

    def input_pipeline(self) -> pandas.DataFrame:
        """The stages of tf.data that fed the steps, a row each: the first gives the batches, the last are the sources.

        `stage` has the name of the function that it calls, and `line` where that is defined; `seconds` is what it works
        for a batch, and `elements` how many it makes for one. `parallelism` is how many calls it may make at once, and
        `used` how many it made in the mean; `buffer` is how many elements it may hold, and `filled` the share that it
        held in the mean when one was taken. With `tuned`, TensorFlow chooses these. `share` is the time that it needs
        for a batch by the clock, as a share of that of a step. The `bottleneck` is the slowest stage, if steps wait.

        >>> from tfprof_widget.demo import demo_profile
        >>> len(demo_profile().input_pipeline())
        0
        """
        from tfprof_widget.output.account import pipeline_frame

        return pipeline_frame(self._accounted)

    def memory_kinds(self) -> pandas.DataFrame:
        """What the memory of each device was held for at the peak of a step: a row for each node that held some.

        Kinds are weights, gradients, optimizer state, activations, inputs, temporary and unknown; add up `bytes` by
        `device` and `kind`. Where TensorFlow tells of large tensors only, as on a CPU under Keras, what ops hold is a
        `lower_bound`; variables are known by their shapes.

        >>> from tfprof_widget.demo import demo_profile
        >>> "weights" in demo_profile().memory_kinds().groupby("kind")["bytes"].sum()
        True
        """
        from tfprof_widget.output.account import memory_frame

        return memory_frame(self._accounted)

    def to_json(self, limit_bytes: int = 64_000) -> str:
        """Where the time went as JSON, for scripts and assistants: budget, layers, lines, ops, advice, what is missing.

        Rows are the costliest first. Where the text would be longer than the limit, the longest list loses its last
        rows, and `cut` says how many of each are missing. `docs/account.md` describes the schema.

        >>> import json
        >>> from tfprof_widget.demo import demo_profile
        >>> found = json.loads(demo_profile().to_json())
        >>> found["version"], found["layers"][0]["layer"], found["cut"]
        (1, 'layer1', {})
        """
        from tfprof_widget.output.account_json import account_json

        return account_json(self._accounted, limit_bytes, self._account_notes())

    def _account_notes(self) -> tuple[str, ...]:
        """What is to be told of how this was measured."""
        return ()
