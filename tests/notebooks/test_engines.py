"""Two trainings on engines in a notebook: one widget, with a worker each, in which the larger batch takes longer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.notebooks.notebook import Notebook, told
from tests.notebooks.shipped import assert_accounted, executed, outputs_of

EXAMPLES, EPOCHS = 2048, 3


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    folder: Path = tmp_path_factory.mktemp("engines")
    with pytest.MonkeyPatch.context() as patches:
        patches.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        with executed("engines", folder) as notebook:
            yield notebook
    assert list(folder.iterdir()) == []


def test_each_engine_tells_of_its_training_and_the_profile_comes_below(engines: Notebook) -> None:
    left = [output for output in outputs_of(engines, "fit") if output.data]  # without the progress line, taken away
    *printed, widget, profile = left
    assert sorted(told(each).rpartition(" 0.")[0] for each in printed if "stdout" in told(each)) == [
        "[stdout:0] batches of 32: loss",
        "[stdout:1] batches of 512: loss",
    ]
    assert "application/vnd.jupyter.widget-view+json" in widget.data
    assert "two batch sizes" in profile.data["text/html"]


def test_both_engines_have_their_steps(engines: Notebook) -> None:
    assert engines.runs()["fit: train_step"][0] == EPOCHS * (EXAMPLES // 32 + EXAMPLES // 512)
    assert engines.value("sorted(set(prof.profile.step_workers))") == ["engine 0", "engine 1"]


FASTEST = """[
    min(
        nanos
        for node, step, nanos in zip(*(getattr(prof.profile.executions, name).tolist() for name in COLUMNS))
        if 'MatMul' in prof.profile.nodes.ops[prof.profile.nodes.op[node]]
        and prof.profile.step_workers[step] == engine
    )
    for engine in ('engine 0', 'engine 1')
]""".replace("COLUMNS", "('node', 'step', 'duration_nanos')")
"""The fastest product of each engine: on a busy machine a mean says more of what else runs."""


def test_the_products_of_the_larger_batch_take_longer(engines: Notebook) -> None:
    small, large = engines.value(FASTEST)
    assert small < large
    assert engines.value("bool(compared.name.str.contains('MatMul').any())")


def test_little_is_not_accounted_for(engines: Notebook) -> None:
    assert_accounted(engines, "prof")
