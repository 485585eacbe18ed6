"""Two workers and two parameter servers in a notebook: the imbalance of tfprof's documents, seen and mended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.notebooks.notebook import Notebook
from tests.notebooks.shipped import assert_accounted, executed, printed

# A hundredth of the documents' 25.81 and 58.84 million.
FIRST, SECOND = 258_100, 588_400
FLOAT, WORKERS = 4, 2
# 348,400 and 75,000 against 240,000, 96,000 and 87,100: the largest first, to the server with the least.
MENDED = 423_400, 423_100


@pytest.fixture(scope="module")
def distributed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    folder: Path = tmp_path_factory.mktemp("distributed")
    with executed("distributed", folder) as notebook:
        yield notebook
    assert list(folder.iterdir()) == []


def test_the_servers_hold_what_the_documents_say(distributed: Notebook) -> None:
    assert printed(distributed, "balance") == "_TFProfRoot (--/258.10k params)\n_TFProfRoot (--/588.40k params)\n"


def test_the_summary_has_the_same_and_what_each_server_sends(distributed: Notebook) -> None:
    """Every variable to both workers; the empty tensors that tell of an update's end have no bytes."""
    assert printed(distributed, "summary").splitlines()[:2] == [
        f"/job:ps/replica:0/task:{task}: {held:,} parameters, sends {held * FLOAT * WORKERS:,} bytes a step"
        for task, held in enumerate((FIRST, SECOND))
    ]


def test_the_widget_shows_it_by_task(distributed: Notebook) -> None:
    shown = json.loads(distributed.value("json.dumps(prof.profile.cluster().described())"))
    assert shown["parameter_balance"] == {"largest": SECOND, "mean": (FIRST + SECOND) / 2}
    assert len(shown["tasks"]) == 4
    assert {link["kind"] for link in shown["links"]} == {"RecvTensor"}


def test_advice_names_the_server_with_the_most(distributed: Notebook) -> None:
    assert "Parameter server /job:ps/replica:0/task:1 holds 588.4 k parameters" in printed(distributed, "summary")


def test_a_better_placement_mends_it(distributed: Notebook) -> None:
    text = printed(distributed, "summary-again")
    for task, held in enumerate(MENDED):
        assert f"task:{task}: {held:,} parameters, sends {held * FLOAT * WORKERS:,} bytes a step" in text
    assert "_TFProfRoot (--/423.40k params)\n_TFProfRoot (--/423.10k params)\n" in text


def test_little_is_not_accounted_for(distributed: Notebook) -> None:
    assert_accounted(distributed, "prof", "mended")
