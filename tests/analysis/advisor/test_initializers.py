"""Initializers in a measurement, on profiles worked out by hand."""

from __future__ import annotations

from tests.analysis.advisor.findings import on_cpu, only, ran, shown
from tfprof_widget.analysis.advisor.slow_ops import initializers

RANDOM = "w/Initializer/random_uniform/RandomUniform"
OPS = {"dense": "MatMul", RANDOM: "RandomUniform"}


def test_initializers_take_a_tenth_of_the_time() -> None:
    """A run of the initializers beside a training step."""
    profile = ran(OPS, on_cpu((RANDOM, 1000, 100)), on_cpu(("dense", 9000, 900)))
    finding = only(initializers(profile))
    assert finding.cause == "Initializers take 10 % of the op time. They run once, and not in every step."
    assert shown(profile, finding) == ["_TFProfRoot", "dense", "w"]


def test_initializers_that_take_less() -> None:
    assert not list(initializers(ran(OPS, on_cpu((RANDOM, 1000, 99)), on_cpu(("dense", 9000, 901)))))


def test_initializers_that_did_not_run() -> None:
    assert not list(initializers(ran(OPS, on_cpu(("dense", 9000, 901)))))


def test_all_the_float_ops_of_a_graph_are_those_of_initializers() -> None:
    """As it comes out where the batch size is not known: 15,681 from initializers, nothing from the product."""
    profile = ran(OPS, float_ops={RANDOM: 15_681})
    finding = only(initializers(profile))
    assert finding.cause == "Initializers do 100 % of the float operations. They run once, and not in every step."
    assert "RandomUniform" not in "".join(shown(profile, finding))
    assert profile.view("scope", **finding.evidence.options).grand_total["float_ops"][0] == 0


def test_float_ops_count_by_runs() -> None:
    """Five runs of 180 beside 100 of an initializer that did not run: a tenth of 1,000."""
    five = on_cpu(*[("dense", 1000 + 10 * number, 10) for number in range(5)])
    assert list(initializers(ran(OPS, five, float_ops={RANDOM: 100, "dense": 180})))
    assert not list(initializers(ran(OPS, five, float_ops={RANDOM: 99, "dense": 180})))
