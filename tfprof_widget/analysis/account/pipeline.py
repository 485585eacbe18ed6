"""Tells of each stage of tf.data what it took for a batch, how it was set, and which stage holds the others up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tfprof_widget.analysis.account.budget import time_budget
from tfprof_widget.engine.roles import DATA_SCOPE
from tfprof_widget.lib.arrays import Flags, Integers
from tfprof_widget.lib.intervals import Intervals
from tfprof_widget.profiles.data import ProfileData, kind_of_steps
from tfprof_widget.profiles.program import DataFunction, PipelineStage, StageSettings, kind_of_stage

WAITED = 0.03
"""From this share of the time on that is waited for input, a stage is told to hold the others up."""

LEAST_SHARE = 0.25
"""A stage that needs a smaller share of the time from one batch to the next holds nothing up."""

FEWEST_ELEMENTS = 4
"""A stage that made fewer elements while steps were recorded may have made them all for one batch."""

_OUTERMOST = re.compile(r"tf\.data/(Root|Model)")
_VERSION = re.compile(r"V\d+$")
_WAITS = re.compile(r"Root|Model|Options|MaxIntraOpParallelism|PrivateThreadPool|Prefetch|.*Parallel.*|MapAndBatch")


def pipeline_stages(profile: ProfileData) -> list[PipelineStage]:
    """The stages of the pipeline that fed the steps, in their order, each after that which takes its elements.

    >>> from tfprof_widget.demo import demo_profile
    >>> pipeline_stages(demo_profile())
    []
    """
    if profile.pipeline_stages is not None:
        return list(profile.pipeline_stages)
    return profile.cache.kept("pipeline", lambda: _stages(profile))


def _stages(profile: ProfileData) -> list[PipelineStage]:
    executions, names = profile.executions, profile.nodes.names
    is_data = np.array([name.startswith(DATA_SCOPE) for name in names], np.bool_)
    outermost = [node for node, name in enumerate(names) if _OUTERMOST.fullmatch(name)]
    counted = _recorded_rows(profile, is_data, outermost)
    batches = int(np.isin(executions.node[counted], outermost).sum())
    if not batches:
        return []
    root = names[outermost[0]]
    nodes = [node for node, name in enumerate(names) if is_data[node] and name.startswith(f"{root}/")]
    functions = dict(_functions(profile, [names[node] for node in nodes]))
    settings = {each.node: each for each in profile.data_stages}
    period = _period(profile)
    found = []
    for node in _in_order(nodes, names):
        rows = counted[executions.node[counted] == node]
        if len(rows):
            function = functions.get(names[node])
            nanos, used = _work(profile, rows, counted, names[node], function)
            elements = len(rows) / batches
            stage = PipelineStage(
                stage=_named(names[node], function),
                node=names[node],
                line=function.line if function is not None else None,
                seconds=nanos * elements / 1e9,
                elements=elements,
                settings=settings.get(names[node], StageSettings(names[node])),
                used=used,
                share=0.0,
            )
            found.append(replace(stage, share=min(stage.wall_seconds / period, 1.0) if period else 0.0))
    many = [stage for stage in found if round(stage.elements * batches) >= FEWEST_ELEMENTS]
    slowest = max(many, key=lambda stage: stage.wall_seconds, default=None)
    is_slow = slowest is not None and slowest.share >= LEAST_SHARE and _waited_share(profile) >= WAITED
    return [replace(stage, is_bottleneck=is_slow and stage is slowest) for stage in found]


def _recorded_rows(profile: ProfileData, is_data: Flags, outermost: Sequence[int]) -> Integers:
    """The executions of tf.data in steps of the busiest kind, early ones too, if batches were taken there; else all."""
    executions = profile.executions
    rows: Integers = np.flatnonzero((executions.start_nanos > 0) & is_data[executions.node])
    busiest = [step for step, name in enumerate(profile.step_names) if kind_of_steps(name) == profile.main_kind]
    own = rows[np.isin(executions.step[rows], busiest)]
    return own if np.isin(executions.node[own], outermost).any() else rows


def _in_order(nodes: Sequence[int], names: Sequence[str]) -> list[int]:
    """The stages from the outermost inwards, each followed by those that it takes its elements from."""
    return sorted(nodes, key=lambda node: names[node].split("/"))


def _period(profile: ProfileData) -> float:
    """The seconds from one batch to the next: those of a step; 0 if they are not known."""
    return time_budget(profile).step_seconds


def _waited_share(profile: ProfileData) -> float:
    """The share of the time that is waited for batches, by steps or between them."""
    budget = time_budget(profile)
    of_step = budget.step["input"] / budget.step_seconds if budget.step_seconds else 0.0
    return max(of_step, budget.cell["input"] / budget.cell_seconds if budget.cell_seconds else 0.0)


def _work(
    profile: ProfileData, rows: Integers, counted: Integers, node: str, function: DataFunction | None
) -> tuple[float, float]:
    """The nanoseconds that a stage works for an element, and how many calls of its function were under way at once.

    A stage that only waits for its threads works as long as the ops of a call of its function.
    """
    executions, names = profile.executions, profile.nodes.names
    own = float(np.median(executions.duration_nanos[rows]))  # the first elements take much longer
    only_waits = _WAITS.fullmatch(_stage(node)) is not None
    if function is None or not function.scope:
        return (0.0 if only_waits else own), 0.0
    inside = f"{function.scope}/"
    within = np.array([name.startswith(inside) for name in names], np.bool_)[executions.node[counted]]
    ops = counted[within]
    if not len(ops):
        return (0.0 if only_waits else own), 0.0
    start, worked = executions.start_nanos[ops], float(executions.duration_nanos[ops].sum())
    used = worked / max(Intervals.of(start, start + executions.duration_nanos[ops]).length, 1)
    each, count = np.unique(executions.node[ops], return_counts=True)
    usual = [float(np.median(executions.duration_nanos[ops][executions.node[ops] == node])) for node in each.tolist()]
    of_call = float((np.array(usual) * count).sum() / np.median(count))
    return (of_call, used) if only_waits else (max(own, of_call), min(used, 1.0))


def _stage(node: str) -> str:
    """The stage that a node is of, without the number of its version."""
    return _VERSION.sub("", node.rpartition("/")[2].partition("[")[0])


def _functions(profile: ProfileData, stages: Sequence[str]) -> Iterator[tuple[str, DataFunction]]:
    """The function of each stage that calls one, from the pipeline whose stages are the most alike."""
    calling = [name for name in sorted(stages, key=lambda name: name.split("/")) if _kind(name)]
    kinds = [_kind(name) for name in calling]
    best = max(profile.pipelines, key=lambda pipeline: _alike(kinds, pipeline), default=())
    waiting = list(best)
    for name, kind in zip(calling, kinds, strict=True):
        at = next((at for at, function in enumerate(waiting) if function.kind == kind), None)
        if at is not None:
            made_inside = f"{name}/Generator"  # a generator is read by a stage in one that flattens
            yield (made_inside if waiting[at].is_python and made_inside in calling else name), waiting[at]
            del waiting[: at + 1]


def _kind(name: str) -> str:
    return kind_of_stage(_stage(name))


def _alike(kinds: Sequence[str], pipeline: Sequence[DataFunction]) -> int:
    """How many stages a pipeline has in common with what ran, and not more stages than that."""
    own = [function.kind for function in pipeline]
    same = sum(one == other for one, other in zip(kinds, own, strict=False))
    return 2 * same - abs(len(own) - len(kinds))


def _named(node: str, function: DataFunction | None) -> str:
    if function is None:
        return _stage(node)
    python = ", py_function" if function.is_python and function.kind != "flat" else ""
    return f"{_stage(node)}({function.name}{python})"
