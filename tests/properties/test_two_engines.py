"""Python and TypeScript give the same views of random profiles beyond the corpus, or both say why not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.oracle.random_options import random_options
from tests.oracle.random_profiles import RandomProfile, random_profile
from tests.properties.two_engines import Question, answer_in_python, answers_in_typescript, in_units_of, new_seed
from tfprof_widget.api.profile import Profile
from tfprof_widget.profiles.options import VIEWS

pytestmark = pytest.mark.filterwarnings("ignore::tfprof_widget.ProfileWarning")

PROFILES, QUESTIONS_A_VIEW = 60, 3
STEP_IDS = ((0,), (0, 1, 2), (100, 3, 3), (5, 2, 9, 4))
DEVICES = (".*gpu.*", ".*cpu:0", "", ".*")


def test_both_engines_give_the_same_rows(tmp_path: Path) -> None:
    seed = new_seed()
    questions = list(random_questions(seed))
    answers = answers_in_typescript(tmp_path, questions)
    rows = 0
    for number, (question, answer) in enumerate(zip(questions, answers, strict=True)):
        expected = answer_in_python(question)
        where = f"seed {seed}, question {number}: {question.view} {question.options}"
        reasons = answer.get("refused"), expected.get("refused")
        assert (reasons[0] is None) == (reasons[1] is None), f"{where}: {reasons}"
        if any(reasons):
            continue
        rows += len(expected["names"])
        assert answer == in_units_of(expected, answer["unit"]), where
    assert rows > 5 * len(questions)


def random_questions(seed: int) -> Iterator[Question]:
    rng = Random(seed)
    for _ in range(PROFILES):
        made = random_profile(rng.randrange(2**32), rng.choice(STEP_IDS))
        profile = profile_of(made)
        for view in VIEWS:
            for _ in range(QUESTIONS_A_VIEW):
                yield Question(profile, view, random_question(rng, view, made))


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
