"""What a node costs: counted by hand from the executions of random models."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.models import ACCELERATOR, BOUNDED, Model, Node, models
from tests.sketches import CPU
from tfprof_widget.engine.measures import measures
from tfprof_widget.profiles.options import Options

SIZES = {"": 0, "[]": 1, "3x4": 12, "?x4": 0, "7": 7}


def costs(model: Model, measure: str, **options: Any) -> dict[str, Fraction]:
    """What each node costs, by its name."""
    found = measures(model.profile, Options.of(**options))
    values = [Fraction(value, found.unit(measure)) for value in found.columns[measure].tolist()]
    return dict(zip(model.profile.nodes.names, values, strict=True))


def mean(values: list[int]) -> Fraction:
    return Fraction(sum(values), max(len(values), 1))


def seen(node: Node) -> list[tuple[int, ...]]:
    """The executions in each step in which the node ran."""
    return [step for step in node.runs if step]


@BOUNDED
@given(models())
def test_the_time_of_a_node_is_the_exact_mean_over_all_steps(model: Model) -> None:
    expected = {node.name: Fraction(sum(map(sum, node.runs)), 1000 * model.steps) for node in model.nodes}
    assert costs(model, "micros") == expected


@BOUNDED
@given(models(), st.data())
def test_the_time_of_a_node_in_a_step_is_the_sum_of_its_executions_there(model: Model, data: st.DataObject) -> None:
    step = data.draw(st.integers(0, model.steps - 1))
    assert costs(model, "micros", step=step) == {
        node.name: Fraction(sum(node.runs[step]), 1000) for node in model.nodes
    }


@BOUNDED
@given(models())
def test_natives_time_counts_an_execution_as_whole_microseconds_but_at_least_one(model: Model) -> None:
    micros = {node.name: [sum(max(nanos // 1000, 1) for nanos in step) for step in seen(node)] for node in model.nodes}
    assert costs(model, "micros", timing="tfprof") == {name: mean(each) // 1 for name, each in micros.items()}
    for step in range(model.steps):
        assert costs(model, "micros", timing="tfprof", step=step) == {
            node.name: sum(max(nanos // 1000, 1) for nanos in node.runs[step]) for node in model.nodes
        }


@BOUNDED
@given(models())
def test_time_is_spent_on_an_accelerator_or_on_a_cpu_and_adds_up(model: Model) -> None:
    both = costs(model, "accelerator_micros"), costs(model, "cpu_micros")
    assert costs(model, "micros") == {name: both[0][name] + both[1][name] for name in both[0]}
    for node in model.nodes:
        assert both[node.device == ACCELERATOR][node.name] == 0


@BOUNDED
@given(models())
def test_runs_are_the_mean_number_of_executions_and_each_requests_its_bytes(model: Model) -> None:
    # Of a stream no memory counts, nor do runs: the device itself has them.
    nodes = [node for node in model.nodes if node.device == CPU]
    runs = {node.name: Fraction(sum(map(len, node.runs)), model.steps) for node in nodes}
    found = costs(model, "runs"), costs(model, "bytes")
    assert {name: found[0][name] for name in runs} == runs
    assert {node.name: found[1][node.name] for node in nodes} == {
        node.name: runs[node.name] * node.bytes for node in nodes
    }


@BOUNDED
@given(models())
def test_float_operations_are_those_of_one_execution_times_the_runs_once_there_is_a_run(model: Model) -> None:
    runs = costs(model, "runs")
    assert costs(model, "float_ops") == {
        node.name: node.float_ops * (runs[node.name] if seen(node) else 1) for node in model.nodes
    }


@pytest.mark.parametrize("timing", ["exact", "tfprof"])
@BOUNDED
@given(models(), st.data())
def test_parameters_are_those_of_the_shape_in_every_step(timing: str, model: Model, data: st.DataObject) -> None:
    step = data.draw(st.integers(-1, model.steps - 1))
    assert costs(model, "params", timing=timing, step=step) == {node.name: SIZES[node.shape] for node in model.nodes}
