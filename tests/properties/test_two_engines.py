"""Python and TypeScript give the same views of random profiles beyond the corpus, or both say why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.made import changed
from tests.oracle.random_options import random_options
from tests.oracle.random_profiles import RandomProfile, random_profile
from tests.properties.two_engines import Question, answer_in_python, answers_in_typescript, in_units_of, new_seed
from tfprof_widget.api.profile import Profile, merge
from tfprof_widget.engine.steps import chosen_steps
from tfprof_widget.profiles.options import ACROSS_WORKERS, KEEP_ALL_ROWS, OPTIONS, STEP_OPTIONS, VIEWS, Options
from tfprof_widget.profiles.tables import OtherStacks

pytestmark = pytest.mark.filterwarnings("ignore::tfprof_widget.ProfileWarning")

PROFILES, QUESTIONS_A_VIEW = 60, 3
STEP_IDS = ((0,), (0, 1, 2), (100, 3, 3), (5, 2, 9, 4))
DEVICES = (".*gpu.*", ".*cpu:0", "", ".*")
RUNS = ("train", "test", "")
WORKERS = ("worker 2", "worker 10", "before", "Ünit")


def test_both_engines_give_the_same_rows(tmp_path: Path) -> None:
    seed = new_seed()
    questions = list(random_questions(seed))
    answers = answers_in_typescript(tmp_path, questions)
    rows = 0
    blamed: Counter[bool] = Counter()
    seen: Counter[str] = Counter()
    for number, (question, answer) in enumerate(zip(questions, answers, strict=True)):
        expected = answer_in_python(question)
        where = f"seed {seed}, question {number}: {question.view} {question.options}"
        reasons = answer.get("refused"), expected.get("refused")
        assert (reasons[0] is None) == (reasons[1] is None), f"{where}: {reasons}"
        if any(reasons):
            continue
        rows += len(expected["names"])
        if expected["blamed"] is not None:
            blamed[bool(expected["blamed"][1])] += 1
        seen.update(kinds_of(question))
        assert answer == in_units_of(expected, answer["unit"]), where
    assert rows > 5 * len(questions)
    assert blamed[True] > 2, "views that are empty for regexes that match parts of names"
    assert blamed[False] > 20
    assert all(
        seen[kind] > 5
        for kind in (
            "runs by name",
            "workers",
            "workers by name",
            "told forward nodes",
            "stacks of these steps",
            "float operations by step",
        )
    ), seen


def test_options_that_keep_all_rows_take_none_away() -> None:
    """What a view is empty for is never one of these: both languages leave them out of the reason."""
    rng = Random(new_seed())
    found = 0
    for question in random_questions(rng.randrange(2**32)):
        kept = {name: value for name, value in question.options.items() if name in KEEP_ALL_ROWS}
        answer = answer_in_python(replace(question, options=kept))
        if "refused" not in answer:
            # other steps may have other lines, of which none is taken away
            steps = {name: value for name, value in kept.items() if name in STEP_OPTIONS}
            assert len(answer["names"]) == len(question.profile.view(question.view, **steps)), kept
            found += 1
    assert found > 100
    assert set(KEEP_ALL_ROWS) < {option.name for option in OPTIONS}


def kinds_of(question: Question) -> Iterator[str]:
    """What is special about a question that has an answer."""
    profile, options = question.profile, question.options
    if any(profile.step_names) and "run_name_regexes" in options:
        yield "runs by name"
    if len(set(profile.step_workers)) > 1:
        yield "workers"
        if "worker_regexes" in options:
            yield "workers by name"
    if profile.traces.forward and question.view == "code":
        yield "told forward nodes"
    if question.view == "code" and profile.other_stacks.group_of(chosen_steps(profile, Options.of(**options))) >= 0:
        yield "stacks of these steps"
    if profile.step_totals.float_ops is not None and options.get("timing") == "exact":
        yield "float operations by step"


def random_questions(seed: int) -> Iterator[Question]:
    rng = Random(seed)
    for _ in range(PROFILES):
        made = random_profile(rng.randrange(2**32), rng.choice(STEP_IDS))
        profile = random_recording(rng, made)
        for view in VIEWS:
            for _ in range(QUESTIONS_A_VIEW):
                options = random_question(rng, view, made) | random_choice_of_runs(rng)
                yield Question(profile, view, options, with_costs=True)


def random_recording(rng: Random, made: RandomProfile) -> Profile:
    """The profile as it might have been captured: several workers, runs by name, forward nodes that are told."""
    profile = profile_of(made)
    if rng.random() < 0.4:
        others = [profile_of(random_profile(rng.randrange(2**32), rng.choice(STEP_IDS))) for _ in range(2)]
        profile = merge(dict(zip(rng.sample(WORKERS, 3), (profile, *others), strict=True)))
    if rng.random() < 0.5:
        profile = changed(profile, step_names=tuple(rng.choice(RUNS) for _ in profile.steps))
    nodes = range(len(profile.nodes))
    if rng.random() < 0.5:
        forward = {rng.choice(nodes): rng.choice(nodes) for _ in nodes[::3]}
        profile = changed(profile, traces=replace(profile.traces, forward=forward))
    if rng.random() < 0.5:
        profile = changed(profile, other_stacks=random_other_stacks(rng, profile))
    if rng.random() < 0.5:
        totals = profile.step_totals
        values = np.array([rng.choice((0, 1, rng.randrange(10**7))) for _ in totals.node], np.int64)
        profile = changed(profile, step_totals=totals.with_float_ops(values, profile.nodes))
    return profile


def random_other_stacks(rng: Random, profile: Profile) -> OtherStacks:
    """Stacks and forward nodes that some nodes have in some steps only."""
    traces, nodes = profile.traces, range(len(profile.nodes))
    of_groups = []
    for _ in range(2):
        stack = traces.stack.copy()
        stack[rng.choices(nodes, k=3)] = rng.choices([-1, *range(len(traces.stacks))], k=3)
        forward = {node: of for node, of in traces.forward.items() if rng.random() < 0.9}
        of_groups.append(replace(traces, stack=stack, forward=forward | {rng.choice(nodes): rng.choice(nodes)}))
    return OtherStacks.beside(traces, [rng.choice((-1, 0, 1)) for _ in profile.steps], of_groups)


def random_choice_of_runs(rng: Random) -> dict[str, Any]:
    """Options that choose among the names of runs and workers, some of which the profile does not have."""
    chosen: dict[str, Any] = {"across_workers": rng.choice(ACROSS_WORKERS)}
    if rng.random() < 0.3:
        chosen["run_name_regexes"] = rng.sample((*RUNS, "t.*"), 2)
    if rng.random() < 0.3:
        chosen["worker_regexes"] = rng.sample((*WORKERS, "worker.*"), 2)
    return chosen


def profile_of(made: RandomProfile) -> Profile:
    run_metas: dict[int, list[Any]] = {}
    for step, run_meta in made.steps:
        run_metas.setdefault(step, []).append(run_meta)
    return Profile.from_protos(made.graph, run_metas, made.op_log)


def random_question(rng: Random, view: str, made: RandomProfile) -> dict[str, Any]:
    options = random_options(rng, view, made)
    del options["output"]
    more = {
        "timing": rng.choice(("exact", "tfprof")),
        "step": rng.choice((-1, options["step"])),
        "device_regexes": rng.sample(DEVICES, rng.choice((1, 1, 2))) if rng.random() < 0.2 else [".*"],
    }
    return options | more
