"""Finds steps, and Python between them, that wait for their input, and the stage of tf.data that holds them up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from tfprof_widget.analysis.account.budget import time_budget
from tfprof_widget.analysis.account.pipeline import LEAST_SHARE, pipeline_stages
from tfprof_widget.analysis.advisor.cell_time import at, of_cell, of_step
from tfprof_widget.analysis.advisor.finding import Evidence, Finding, felt, with_gain
from tfprof_widget.analysis.advisor.patches import faster_input, prefetched_loop
from tfprof_widget.analysis.own_statements import CodeChange
from tfprof_widget.analysis.steady import SteadySteps
from tfprof_widget.lib.arrays import Flags
from tfprof_widget.lib.text import written_percent, written_seconds
from tfprof_widget.profiles.cell import CellTimes, CodeLine, PythonTime
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.program import PipelineStage

FETCHES = r".*IteratorGetNext\w*|.*Queue(TryDequeue|Dequeue)\w*|Reader(Read|ReadUpTo)(V2)?"
"""The ops that fetch input."""

INPUT_SHARE = 0.2
"""From this share on TensorFlow's own analysis of input pipelines calls a step highly input-bound."""

WAKING_NANOS = 5_000_000
"""For the threads of tf.data to be woken a step may wait for so long, where other processes run, too."""

_PYTHON_STAGE = re.compile(r"Generator(Dataset)?|(Eager|Stateless)?PyFunc\w*|NumpyFunction")
"""The ops of tf.data that run Python: the items of a generator or a keras.utils.Sequence, or a tf.py_function."""

_AHEAD = "end the pipeline with .prefetch(tf.data.AUTOTUNE)"
_FIX = (
    f"Let tf.data make batches ahead and on several threads: {_AHEAD}, give .map() "
    "num_parallel_calls=tf.data.AUTOTUNE, and .cache() what is the same in every epoch."
)
_FIX_OF_PYTHON = (
    "Do less Python for each batch: Python makes the items one at a time. Give a keras.utils.Sequence or PyDataset "
    "several workers (workers=4, use_multiprocessing=True). Replace the Python of a generator or tf.py_function with "
    "TensorFlow ops, or run it before training. A loop of your own can read its items from "
    "tf.data.Dataset.from_generator(...).prefetch(tf.data.AUTOTUNE), which makes them while steps run."
)
_FIX_OF_ONE_THREAD = (
    f"Give this stage num_parallel_calls=tf.data.AUTOTUNE, and {_AHEAD}; or .cache() its results if they are the "
    "same in every epoch."
)
_FIX_OF_MANY = (
    "Let the function of this stage do less: several calls of it run at once already. Run it before training, or "
    ".cache() its results if they are the same in every epoch, or call it on whole batches, after .batch()."
)


@felt
def input_bound(profile: ProfileData) -> Iterator[Finding]:
    """The stage that holds steps up; if none is known, whether steps wait for input, and whether Python does.

    Of a stage that holds them up, less is worth saying.
    """
    stages = pipeline_stages(profile)
    slowest = next((each for each in stages if each.is_bottleneck), None)
    if slowest is not None and profile.cell is not None:
        yield from _of_stage(profile, profile.cell, stages, slowest)
    if slowest is not None:
        return
    # Where all stages work for a moment only, a short step waits for their threads to be woken; what a longer one waits
    # for was made between the steps that were recorded.
    is_brief = bool(stages) and sum(each.share for each in stages) < LEAST_SHARE
    steady = SteadySteps.of(profile)
    fetches = steady.ops(FETCHES)
    fix = _FIX_OF_PYTHON if _makes_input_in_python(steady, fetches) else _FIX
    if profile.cell is not None and not is_brief:
        yield from _of_python(profile.cell, steady, stages, fix)
    if not fetches.any() or not steady.are_steps:
        return
    of_input = steady.of_nodes(fetches | steady.is_data)
    waited = steady.of_clock(steady.alone(of_input), ~of_input)
    least = WAKING_NANOS * len(steady.steps) if is_brief else 0
    if steady.of_wall(waited) >= INPUT_SHARE and waited >= least:
        seen = max(stages, key=lambda stage: stage.wall_seconds, default=None)
        told, share = _as_accounted(profile) or (of_step(steady, waited, "its"), steady.of_wall(waited))
        found = Finding(
            f"A step waits {told} for the next batch.{_slowest_of_few(stages)}",
            Evidence("timeline", steady.options, steady.costliest(fetches)),
            fix,
            of_step=share,
            line=seen.line if seen is not None else None,
            patch=faster_input(profile.own_code, stages, seen) if stages else None,
        )
        yield with_gain(found, profile, {"input": 0})


def _as_accounted(profile: ProfileData) -> tuple[str, float] | None:
    """The wait for input in the words and figures of the account of a captured cell, which stands beside the advice."""
    budget = time_budget(profile)
    waited = budget.step.get("input", 0.0)
    if profile.cell is None or not waited:
        return None
    share = waited / budget.step_seconds
    told = f"{written_seconds(waited)} of its {written_seconds(budget.step_seconds)} ({written_percent(share, 0)})"
    return told, share


def _slowest_of_few(stages: Sequence[PipelineStage]) -> str:
    """The stage that took the longest, if it has a line, where too few batches were recorded to call it slow."""
    slowest = max(stages, key=lambda stage: stage.wall_seconds, default=None)
    if slowest is None or slowest.line is None or not slowest.wall_seconds:
        return ""
    return f" The slowest stage of the input is {_with_line(slowest)} (few batches were recorded)."


def _with_line(stage: PipelineStage) -> str:
    return f"{stage.stage}{at(stage.line, ', ')}"


def _of_stage(
    profile: ProfileData, cell: CellTimes, stages: Sequence[PipelineStage], stage: PipelineStage
) -> Iterator[Finding]:
    budget = time_budget(profile)
    of_steps = budget.step["input"] / budget.step_seconds * budget.cell["steps"] if budget.step_seconds else 0.0
    waited = of_steps + budget.cell["input"]
    by_clock = f" on all its threads, {written_seconds(stage.wall_seconds)} by the clock" if stage.used > 1 else ""
    yield Finding(
        f"Steps wait {of_cell(waited, cell)} for their next batch. The slowest stage of the input is "
        f"{_with_line(stage)}: it takes {written_seconds(stage.seconds)} a batch{by_clock}.",
        Evidence("timeline", SteadySteps.of(profile).options, (stage.node,)),
        _fix_of(stage),
        of_cell=waited / cell.seconds,
        line=stage.line,
        patch=faster_input(profile.own_code, stages, stage),
    )


def _fix_of(stage: PipelineStage) -> str:
    if "py_function" in stage.stage or _PYTHON_STAGE.match(stage.stage):
        return _FIX_OF_PYTHON
    if stage.settings.parallelism > 1 or stage.settings.is_tuned or stage.used > 1:
        return _FIX_OF_MANY
    return _FIX_OF_ONE_THREAD if stage.stage.startswith(("Map", "Interleave")) else _FIX


def _makes_input_in_python(steady: SteadySteps, fetches: Flags) -> bool:
    """Whether Python makes the input: no op fetches it, or a stage of tf.data runs Python.

    Such a stage is that of a generator, of a keras.utils.Sequence or of a tf.py_function.
    """
    nodes = steady.profile.nodes
    stages = {nodes.ops[op] for op in np.unique(nodes.op[steady.is_data]).tolist()}
    return any(_PYTHON_STAGE.fullmatch(stage) for stage in stages) or not (stages or fetches.any())


def _of_python(cell: CellTimes, steady: SteadySteps, stages: Sequence[PipelineStage], fix: str) -> Iterator[Finding]:
    """A finding if Python waits for the next batch for much of the cell."""
    waited = next((each for each in cell.between or cell.outside if each.doing == "input"), None)
    if waited is not None and waited.seconds >= INPUT_SHARE * cell.seconds:
        place = f", mostly at {waited.place}" if waited.place else ""
        yield Finding(
            f"Python waits {of_cell(waited.seconds, cell)} for the next batch{place}. No step runs meanwhile.",
            Evidence("timeline", steady.options),
            fix,
            of_cell=waited.seconds / cell.seconds,
            line=CodeLine(waited.file, waited.line, waited.function) if waited.file else None,
            patch=_patch_of_waiting(steady.profile, stages, waited),
        )


def _patch_of_waiting(profile: ProfileData, stages: Sequence[PipelineStage], waited: PythonTime) -> CodeChange | None:
    """That of the stage which took longest; else of the line that waits, if a pipeline of tf.data is read there."""
    slowest = max(stages, key=lambda stage: stage.wall_seconds, default=None)
    found = faster_input(profile.own_code, stages, slowest)
    if found is not None or not (profile.pipelines or stages):
        return found
    return prefetched_loop(profile.own_code, waited.file, waited.line)
