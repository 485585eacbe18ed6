"""Comparisons of made up runs: the step, the tables, and the surroundings."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.comparing.runs import Maker, ops_of
from tfprof_widget.analysis.comparing.aligned import BY
from tfprof_widget.analysis.comparing.compared import ComparedRuns
from tfprof_widget.api.comparison import Comparison, Regression, assert_no_regression
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.output.compared import headline
from tfprof_widget.profiles.kept_run import KeptRun

TRIALS = 200


def test_an_op_that_became_slower_while_the_step_did_not() -> None:
    made = Maker()
    table = ComparedRuns(made.runs(5), made.runs(5, ops={17: 1.6})).table("op")
    called = [table.names[row] for row in range(len(table)) if table.verdicts[row] == "slower"]
    assert called == [made.ops.names[17]]
    row = table.names.index(made.ops.names[17])
    assert table.low[row] < 1.6 < table.high[row]
    assert table.q[row] < 0.05
    assert table.matched_by[row] == "name"


def test_if_all_became_slower_ops_are_told_as_they_are() -> None:
    made = Maker()
    compared = ComparedRuns(made.runs(5), made.runs(5, factor=1.5))
    assert compared.step.verdict == "slower"
    table = compared.table("op")
    assert table.verdicts.count("slower") > 250
    assert np.median(table.ratio) == pytest.approx(1.5, rel=0.05)
    np.testing.assert_allclose(table.ratio, table.after_micros / table.before_micros)


@pytest.mark.parametrize("by", BY)
def test_roles_swapped(by: str) -> None:
    made = Maker(60)
    before, after = made.runs(4), made.runs(4, factor=1.3, ops={3: 2.0})
    there, back = (ComparedRuns(*sides).table(by) for sides in ((before, after), (after, before)))  # type: ignore[arg-type]
    assert there.names == back.names
    swapped = {"slower": "faster", "faster": "slower"}
    assert [swapped.get(each, each) for each in there.verdicts] == list(back.verdicts)
    np.testing.assert_allclose(there.ratio, 1 / back.ratio)
    np.testing.assert_allclose(there.low, 1 / back.high)


def test_ops_outside_of_scopes_make_an_empty_table_of_scopes() -> None:
    made = Maker(3)
    made.ops = ops_of(["MatMul", "Relu", "Sum"])
    compared = ComparedRuns(made.runs(2), made.runs(2))
    assert len(compared.table("scope")) == 0
    assert len(compared.table("op")) == 3


def test_one_run_against_one_claims_nothing_of_ops() -> None:
    made = Maker(50)
    compared = ComparedRuns(made.runs(1), made.runs(1, factor=1.5))
    table = compared.table("op")
    assert set(table.verdicts) == {"cannot tell"}
    assert np.isnan(table.q).all()
    assert np.isnan(table.low).all()
    np.testing.assert_allclose(table.ratio, table.after_micros / table.before_micros)
    assert compared.step.verdict == "slower"
    assert "two runs" in compared.step.reason


def test_ops_that_came_and_went() -> None:
    made, other = Maker(40), Maker(40)
    names = (*made.ops.names[:39], "extra/Cast_7")
    types = (*made.ops.types, "Cast")
    kind = np.append(made.ops.type[:39], len(made.ops.types)).astype(np.int32)
    other.ops = replace(made.ops, names=names, types=types, type=kind)
    table = ComparedRuns(made.runs(3), other.runs(3)).table("op")
    status = dict(zip(table.names, table.status, strict=True))
    assert status["extra/Cast_7"] == "added"
    assert status[made.ops.names[39]] == "removed"
    assert list(status.values()).count("matched") == 39
    row = table.names.index("extra/Cast_7")
    assert math.isnan(table.before_micros[row])
    assert table.matched_by[row] == ""


def test_layers_under_new_names_are_rows_of_their_own_no_more() -> None:
    made, other = Maker(40), Maker(40)
    other.ops = replace(made.ops, names=tuple(name.replace("layer_", "layer_1") for name in made.ops.names))
    other.ops = replace(other.ops, layers=tuple(name.replace("layer_", "layer_1") for name in made.ops.layers))
    compared = ComparedRuns(made.runs(3), other.runs(3))
    for by in ("op", "scope", "layers"):
        table = compared.table(by)
        assert set(table.status) == {"matched"}
        assert set(table.matched_by) == {"name without counter"}
    assert compared.table("layers").before_names[0] in made.ops.layers


def test_the_parts_of_the_same_code_are_seldom_called_different() -> None:
    """Any one of twelve parts, in one of twenty comparisons; each by itself would be in almost every fourth."""
    random = np.random.default_rng(0)
    called = 0
    for _ in range(TRIALS):
        runs = [KeptRun(parts={f"part {part}": float(np.exp(random.normal(0, 0.02))) for part in range(12)})
                for _ in range(8)]  # fmt: skip
        parts = ComparedRuns(runs[:4], runs[4:]).parts.values()
        called += any(part.verdict in ("slower", "faster") for part in parts)
    assert called <= 0.05 * TRIALS


def test_a_part_that_takes_no_time_is_left_out() -> None:
    runs = [KeptRun(parts={"steps": 1.0, "trainer": 0.0})] * 3
    assert list(ComparedRuns(runs, runs).parts) == ["steps"]


def test_what_differs_in_the_surroundings_comes_first() -> None:
    made = Maker(20)
    before = made.runs(3)
    after = [run.told(fingerprint={}, label=run.label) for run in made.runs(3)]
    after = [replace(run, fingerprint={**run.fingerprint, "tensorflow": "2.22.0"}) for run in after]
    found = Comparison(before, after)
    assert found.fingerprint_differences == {"tensorflow": ("2.21.0", "2.22.0")}
    assert found.text().startswith("note: tensorflow differs: 2.21.0 before, 2.22.0 after\n")


def test_a_machine_that_was_busier_may_be_the_reason() -> None:
    made = Maker(20)
    after = [replace(run, others_cores=1.2) for run in made.runs(3, factor=1.5)]
    found = Comparison(made.runs(3), after)
    assert found.step.verdict == "cannot tell"
    assert found.step.reason == "other processes kept 0.1 cores busy before and 1.2 after"
    assert not {"slower", "faster"} & set(found.table("op").verdicts)


@pytest.mark.parametrize(
    ("factor", "answer"),
    [(1.3, "slower"), (1 / 1.3, "faster"), (1.0, "no difference seen")],
)
def test_sentences(factor: float, answer: str) -> None:
    made = Maker(30, of_run=0.01)
    found = headline(ComparedRuns(made.runs(4), made.runs(4, factor=factor)))
    assert found.startswith("From In[1] … In[4] to In[5] … In[8] ")
    assert answer in found
    assert "4 runs against 4" in found


def test_the_sentence_where_nothing_can_be_told() -> None:
    assert "it cannot be told whether a step changed" in headline(ComparedRuns([KeptRun()], [KeptRun()]))


class TestGuard:
    def test_a_regression(self) -> None:
        made = Maker(30, of_run=0.01)
        with pytest.raises(Regression, match=r"a step became .* slower") as raised:
            assert_no_regression(made.runs(4), made.runs(4, factor=1.2))
        assert raised.value.comparison.step.verdict == "slower"
        assert isinstance(raised.value, AssertionError)

    @pytest.mark.parametrize("factor", [1.0, 0.8, 1.04])
    def test_what_is_none(self, factor: float) -> None:
        made = Maker(30, of_run=0.001, of_step=0.01)
        assert_no_regression(made.runs(4), made.runs(4, factor=factor))

    def test_the_share_that_is_allowed(self) -> None:
        made = Maker(30, of_run=0.001, of_step=0.01)
        assert assert_no_regression(made.runs(4), made.runs(4, factor=1.2), by=0.3).step.verdict == "slower"

    def test_another_machine(self) -> None:
        made = Maker(10)
        before = [replace(run, fingerprint={**run.fingerprint, "processor": "another"}) for run in made.runs(3)]
        with pytest.raises(ProfileError, match=r"another machine .processor: another before, made up after"):
            assert_no_regression(before, made.runs(3))
        assert_no_regression(before, made.runs(3), other_machine=True)

    def test_no_share(self) -> None:
        made = Maker(10)
        with pytest.raises(ValueError, match=r"by is -1, but must be a share such as 0\.05"):
            assert_no_regression(made.runs(3), made.runs(3), by=-1)
