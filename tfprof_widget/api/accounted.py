"""Defines the methods with which captures and profiles tell where the time of a cell and of its steps went."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tfprof_widget.api.replayed import Replayed

if TYPE_CHECKING:
    import pandas

    from tfprof_widget.analysis.account.budget import TimeBudget
    from tfprof_widget.analysis.machines import Machine
    from tfprof_widget.profiles.data import ProfileData


class Accounted(Replayed):
    """The base of `Capture` and `Profile`: methods that tell where the time of a profile went."""

    def time_budget(self) -> TimeBudget:
        """Where the wall time of the captured cell and that of one of its steps went, in parts that add up.

        Print the result, or use its `cell` and `step`; for a cluster, `tasks` has a budget for each task.

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
        """The lines that Python ran while no step ran, the costliest first, sampled every few milliseconds.

        The time of a library counts for the user's line that called it. `samples` is how often a line was sampled;
        `share` is its share of the cell.

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

        The time of a phase does not include the phases within it. `share` is its share of the cell, `times` how often
        it ran, and `line` the line that defines a callback's method.

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

        `stage` has the name of the function that the stage calls, and `line` is the line that defines this function.
        For one batch, the stage works `seconds` and makes `elements`. `parallelism` is the most calls that it may run
        at once, and `used` how many ran at once on average. `buffer` is the most elements that it may hold, and
        `filled` the share of these that it held on average when one was taken. If `tuned` is true, TensorFlow chooses
        both. `share` is the stage's wall time for a batch, as a share of a step's. The `bottleneck` is the slowest
        stage, if steps wait for input.

        >>> from tfprof_widget.demo import demo_profile
        >>> len(demo_profile().input_pipeline())
        0
        """
        from tfprof_widget.output.account import pipeline_frame

        return pipeline_frame(self._accounted)

    def memory_kinds(self) -> pandas.DataFrame:
        """What held the memory of each device at the peak of a step: a row for each node that held some.

        The kinds are weights, gradients, optimizer state, activations, inputs, temporary and unknown; add up `bytes` by
        `device` and `kind`. Where TensorFlow records only large tensors, as on a CPU under Keras, `lower_bound` is true
        for the bytes of ops; the bytes of variables come from their shapes.

        >>> from tfprof_widget.demo import demo_profile
        >>> "weights" in demo_profile().memory_kinds().groupby("kind")["bytes"].sum()
        True
        """
        from tfprof_widget.output.account import memory_frame

        return memory_frame(self._accounted)

    def roofline(self, machine: Machine | None = None, by: str = "op", **options: Any) -> pandas.DataFrame:
        """What ops compute and move, and whether computing or the memory is what they take their time for.

        A row is an op, with `by` a "layer" or a "type" of ops; the costliest come first. `bytes_moved` are the inputs
        and outputs, each counted once, and `intensity` the float operations for each of these bytes. `of_peak` and
        `of_bandwidth` compare with what `tfprof_widget.machine()` measured, or with what the accelerator of a recording
        says of itself. `bound` is "compute", "memory", or "overhead" where neither explains a tenth of the time; it is
        missing if the work is known for less than half of the time, of which `known` is the share. Where no roof is
        known, a warning says why. Of a capture, the steps that do most of the work count unless you choose others.

        >>> from tfprof_widget.analysis.machines import Band, Machine
        >>> from tfprof_widget.demo import demo_profile
        >>> machine = Machine("float32", Band(1e11, 1e11, 1e11), Band(1e10, 1e10, 1e10), {}, 2**26, 3, 1.0, 0.0)
        >>> frame = demo_profile().roofline(machine, by="type")
        >>> frame[["name", "float_ops", "bytes_moved", "bound"]].values.tolist()[0]
        ['MatMul', 13172736.0, 715776.0, 'compute']
        """
        from tfprof_widget.output.tabular import roofline_frame
        from tfprof_widget.profiles.options import STEP_OPTIONS, Options

        profile = self._accounted
        if profile.main_kind and profile.main_kind in profile.step_names and not options.keys() & set(STEP_OPTIONS):
            options["run_name_regexes"] = [re.escape(profile.main_kind)]
        return roofline_frame(profile, machine, by, Options.of(**options))

    def to_json(self, limit_bytes: int = 64_000, *, source: bool = True) -> str:
        """Where the time went as JSON, for scripts and assistants: budget, layers, lines, ops, advice, what is missing.

        The costliest rows come first. If the text would be longer than the limit, the longest list loses its last rows,
        and `cut` says how many rows of each list are missing. With `source=False` it has no lines of code and no paths.
        `docs/account.md` describes the schema.

        >>> import json
        >>> from tfprof_widget.demo import demo_profile
        >>> found = json.loads(demo_profile().to_json())
        >>> found["version"], found["layers"][0]["layer"], found["cut"]
        (1, 'layer1', {})
        """
        from tfprof_widget.output.account_json import account_json
        from tfprof_widget.output.sourceless import without_paths

        notes = self._account_notes()
        if source:
            return account_json(self._accounted, limit_bytes, notes)
        return account_json(self._bare(), limit_bytes, tuple(map(without_paths, notes)))

    def _bare(self) -> ProfileData:
        """The profile without what tells of the source."""
        from tfprof_widget.ingest.assemble import assemble
        from tfprof_widget.output.sourceless import without_source

        return assemble(without_source(self._accounted))

    def _account_notes(self) -> tuple[str, ...]:
        """Notes on how the profile was measured."""
        return ()
