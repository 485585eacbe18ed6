"""What rows add up to: in every view the totals are the sums of their parts, whatever is shown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.models import BOUNDED, OPS, Model, Node, choices, models
from tests.sketches import CPU, profile_of
from tfprof_widget.api.view import View
from tfprof_widget.engine.measures import MEASURES, measures
from tfprof_widget.engine.tree import ROOT_NAME
from tfprof_widget.profiles.options import VIEWS, Options

EVERY_VIEW = pytest.mark.parametrize("view", VIEWS)
EVERY_TREE = pytest.mark.parametrize("view", ["scope", "graph", "code"])


def column(model: Model, measure: str, **options: Any) -> dict[str, int]:
    """What each node costs, in the units of the column."""
    values = measures(model.profile, Options.of(**options)).columns[measure]
    return dict(zip(model.profile.nodes.names, values.tolist(), strict=True))


def asked(model: Model, view: str, data: st.DataObject, **fixed: Any) -> View:
    """A view of the model under random options."""
    return with_traces(model).profile.view(view, **data.draw(choices(model, view, **fixed)))


def with_traces(model: Model) -> Model:
    """The model, in which the first node has a stack: without any there is no code view."""
    first, *others = model.nodes
    return model if first.stack else Model((replace(first, stack=("a.py:1:main",)), *others))


def children(view: View) -> dict[int, list[int]]:
    """The rows right below each row; those of the op view are a chain, each below the one before."""
    found = defaultdict(list)
    parents = range(-1, len(view) - 1) if view.view == "op" else view.parent.tolist()
    for row, parent in enumerate(parents):
        found[parent].append(row)
    return found


@EVERY_VIEW
@BOUNDED
@given(models(), st.data())
def test_a_row_is_the_sum_of_its_own_nodes(view: str, model: Model, data: st.DataObject) -> None:
    found = asked(model, view, data)
    costs = measures(found.profile, found.options)
    for measure in MEASURES:
        weighted = costs.columns[measure][found.forest.tree.rows] * found.forest.weight
        start = found.forest.tree.row_start
        for place, own in zip(found.places.tolist(), found.own[measure].tolist(), strict=True):
            assert own == sum(weighted[start[place] : start[place + 1]].tolist())


@EVERY_VIEW
@BOUNDED
@given(models(), st.data())
def test_a_total_is_the_rows_own_and_the_totals_below_it(view: str, model: Model, data: st.DataObject) -> None:
    model = with_traces(model)
    timing, step = data.draw(st.sampled_from(("exact", "tfprof"))), data.draw(st.integers(-1, model.steps - 1))
    found = model.profile.view(view, timing=timing, step=step, max_depth=100)
    below = children(found)
    for measure in MEASURES:
        own, total = found.own[measure].tolist(), found.total[measure].tolist()
        assert total == [own[row] + sum(total[child] for child in below[row]) for row in range(len(found))]


@EVERY_VIEW
@BOUNDED
@given(models(), st.data())
def test_totals_of_what_is_displayed_are_the_sums_of_the_shown_rows(
    view: str, model: Model, data: st.DataObject
) -> None:
    found = asked(model, view, data, account_displayed_op_only=True, timing="exact")
    below = children(found)
    for measure in MEASURES:
        own, total = found.own[measure].tolist(), found.total[measure].tolist()
        assert total == [own[row] + sum(total[child] for child in below[row]) for row in range(len(found))]
        assert found.grand_total[measure][0] == sum(own)


@EVERY_TREE
@BOUNDED
@given(models(), st.data())
def test_hidden_rows_still_count_in_what_is_above_them(view: str, model: Model, data: st.DataObject) -> None:
    """But for what is not accounted at all, a total is the same whatever else is hidden."""
    filtered = asked(model, view, data, account_displayed_op_only=False)
    options = filtered.options
    whole = filtered.profile.view(
        view, step=options.step, timing=options.timing, account_type_regexes=options.account_type_regexes
    )
    for measure in MEASURES:
        everything = dict(zip(whole.places.tolist(), whole.total[measure].tolist(), strict=True))
        assert filtered.total[measure].tolist() == [everything[place] for place in filtered.places.tolist()]
        assert filtered.grand_total[measure][0] == whole.total[measure][0]


@BOUNDED
@given(models(), st.data())
def test_in_the_op_view_too_hidden_rows_count_in_those_before(model: Model, data: st.DataObject) -> None:
    order = data.draw(st.sampled_from(("name", "micros", "bytes", "occurrence")))
    filtered = asked(model, "op", data, account_displayed_op_only=False, account_type_regexes=[".*"], order_by=order)
    whole = filtered.profile.view(
        "op", step=filtered.options.step, timing=filtered.options.timing, order_by=order, max_depth=100
    )
    row_of = {place: row for row, place in enumerate(whole.places.tolist())}
    rows = [row_of[place] for place in filtered.places.tolist()]
    assert rows == sorted(rows)
    for measure in (*MEASURES, "definitions"):
        assert filtered.total[measure].tolist() == whole.total[measure][rows].tolist()
    for measure in MEASURES:
        assert filtered.grand_total[measure][0] == whole.grand_total[measure][0]


@EVERY_TREE
@BOUNDED
@given(models(), st.data())
def test_a_row_is_either_shown_or_counted_among_the_hidden(view: str, model: Model, data: st.DataObject) -> None:
    found = asked(model, view, data)
    accounted = sum(found.forest.accounted.tolist())
    assert found.total["hidden"][0] == accounted - sum(found.accounted.tolist())
    below = children(found)
    for row in range(len(found)):
        assert found.total["hidden"][row] >= sum(found.total["hidden"][child] for child in below[row])


@pytest.mark.parametrize("timing", ["exact", "tfprof"])
@BOUNDED
@given(models(whole=True), st.data())
def test_the_four_views_agree_on_the_grand_total_for_all_nodes(timing: str, model: Model, data: st.DataObject) -> None:
    step = data.draw(st.integers(-1, model.steps - 1))
    found = {view: model.profile.view(view, step=step, timing=timing) for view in VIEWS}
    for measure in MEASURES:
        expected = sum(column(model, measure, step=step, timing=timing).values())
        assert {view: int(each.grand_total[measure][0]) for view, each in found.items()} == dict.fromkeys(
            VIEWS, expected
        )


@BOUNDED
@given(models(whole=True), st.lists(st.sampled_from((*OPS, "mine", ".*:cpu:.*")), max_size=3))
def test_the_views_agree_on_what_is_accounted(model: Model, types: list[str]) -> None:
    """Scope view, as natively, counts what is above an accounted node along with it."""
    found = {view: model.profile.view(view, account_type_regexes=types) for view in VIEWS}
    accounted = {node.name for node in model.nodes if has_type(node, types)}
    above = {node.name for node in model.nodes if any(name.startswith(f"{node.name}/") for name in accounted)}
    for measure in MEASURES:
        costs = column(model, measure)
        expected = dict.fromkeys(VIEWS, sum(costs[name] for name in accounted))
        expected["scope"] = sum(costs[name] for name in accounted | above)
        assert {view: int(each.grand_total[measure][0]) for view, each in found.items()} == expected


def has_type(node: Node, types: list[str]) -> bool:
    """Whether one of these is a type of the node: its op, one of the op log's, or its device, the CPU."""
    return bool({node.op, *node.types} & set(types)) or (".*:cpu:.*" in types and node.device == CPU and any(node.runs))


@pytest.mark.parametrize("view", ["graph", "op", "code"])
@BOUNDED
@given(models())
def test_what_is_accounted_op_type_by_op_type_adds_up_to_everything(view: str, model: Model) -> None:
    profile = with_traces(model).profile
    for measure in MEASURES:
        parts = [profile.view(view, account_type_regexes=[op]).grand_total[measure][0] for op in OPS]
        assert sum(parts) == profile.view(view).grand_total[measure][0]


@BOUNDED
@given(models(), st.data())
def test_the_total_of_a_scope_is_that_of_all_names_in_it(model: Model, data: st.DataObject) -> None:
    found = asked(model, "scope", data, account_displayed_op_only=False, account_type_regexes=[".*"])
    costs = column(with_traces(model), "micros", step=found.options.step, timing=found.options.timing)
    for name, total in zip(found.names, found.total["micros"].tolist(), strict=True):
        inside = [each for each in costs if name == ROOT_NAME or each == name or each.startswith(f"{name}/")]
        assert total == sum(costs[each] for each in inside)


@BOUNDED
@given(models())
def test_a_frame_costs_what_the_nodes_of_its_stacks_cost(model: Model) -> None:
    """Of a gradient the stack is that of its forward node, in frames of their own."""
    model = with_traces(model)
    costs = column(model, "micros")
    stacks = {node.name: [_shown(frame) for frame in node.stack] for node in model.nodes if node.stack}
    expected: dict[tuple[str, ...], int] = defaultdict(int)
    for name in stacks:
        *gradient, forward = name.removesuffix("_grad/x").partition("gradients/") if "_grad/x" in name else (name,)
        if forward not in stacks:
            continue
        path = [f"{frame} (gradient)" if gradient else frame for frame in stacks[forward]]
        for length in range(len(path) + 1):
            expected[ROOT_NAME, *path[:length]] += costs[name]
    found = model.profile.view("code")
    paths: list[tuple[str, ...]] = []
    for name, parent in zip(found.names, found.parent.tolist(), strict=True):
        paths.append((*(paths[parent] if parent >= 0 else ()), name))
    assert dict(zip(paths, found.total["micros"].tolist(), strict=True)) == expected


def _shown(frame: str) -> str:
    return f"{frame.rpartition('/')[2]}".replace("a_function_with_quite_a_long_name", "a_function_with_q...")


@BOUNDED
@given(models())
def test_what_an_op_type_costs_itself_is_the_sum_over_its_nodes(model: Model) -> None:
    costs = column(model, "micros")
    expected: dict[str, int] = defaultdict(int)
    for node in model.nodes:
        expected[node.op] += costs[node.name]
    found = model.profile.view("op")
    assert dict(zip(found.names, found.own["micros"].tolist(), strict=True)) == expected


@BOUNDED
@given(models())
def test_what_a_graph_view_does_not_reach_is_fed_by_a_cycle_only(model: Model) -> None:
    names = model.profile.nodes.names
    inputs = {node.name: node.inputs for node in model.nodes}
    reached: set[str] = set()
    pending = sorted(inputs.keys() - {source for each in inputs.values() for source in each})
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            pending.extend(inputs[name])
    found = model.profile.view("graph")
    assert {names[node] for node in found.node.tolist() if node >= 0} == reached
    costs = column(model, "micros")
    assert found.grand_total["micros"][0] == sum(costs[name] for name in reached)


@EVERY_VIEW
@pytest.mark.parametrize(
    "other",
    [
        lambda model: Model(tuple(reversed(model.nodes))),
        lambda model: Model(model.nodes),
    ],
    ids=["in another order", "asked for nothing before"],
)
@BOUNDED
@given(models(), st.data())
def test_the_same_nodes_give_the_same_view(
    view: str, other: Callable[[Model], Model], model: Model, data: st.DataObject
) -> None:
    model = with_traces(model)
    for _ in range(3):
        options = data.draw(choices(model, view))
        one, same = model.profile.view(view, **options), profile_of(repr(other(model))).view(view, **options)
        rows, others = list(range(len(one))), list(range(len(same)))
        if view == "layers":  # which are in the order in which the graph was built
            rows.sort(key=one.names.__getitem__)
            others.sort(key=same.names.__getitem__)
        assert [one.names[row] for row in rows] == [same.names[row] for row in others]
        for measure in MEASURES:
            assert one.own[measure][rows].tolist() == same.own[measure][others].tolist()
            assert one.total[measure][rows].tolist() == same.total[measure][others].tolist()


@EVERY_VIEW
@BOUNDED
@given(models())
def test_executions_that_last_three_times_as_long_give_totals_three_times_as_large(view: str, model: Model) -> None:
    model = with_traces(model)
    longer = Model(
        tuple(
            replace(node, runs=tuple(tuple(3 * nanos for nanos in step) for step in node.runs)) for node in model.nodes
        )
    )
    one, other = model.profile.view(view), longer.profile.view(view)
    assert one.names == other.names
    assert (3 * one.total["micros"]).tolist() == other.total["micros"].tolist()
