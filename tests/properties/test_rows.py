"""Which rows are shown and how they follow one another, whatever the options."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.models import BOUNDED, THRESHOLDS, Model, choices, models
from tests.properties.test_totals import EVERY_TREE, EVERY_VIEW, asked, with_traces
from tfprof_widget.api.view import View
from tfprof_widget.engine.measures import MEASURES
from tfprof_widget.profiles.options import ORDERS, PASSES


def places(view: View) -> set[int]:
    return set(view.places.tolist())


def differently(view: View, **options: Any) -> View:
    """The same view with other values of some options."""
    return view.profile.view(view.view, **(vars(view.options) | options))


def _measure(order: str, view: str) -> str:
    """What rows are ordered by: where passes are not told apart, the whole time."""
    return "micros" if order in PASSES and view != "layers" else order


@EVERY_TREE
@BOUNDED
@given(models(), st.data())
def test_an_order_is_a_permutation_of_the_rows(view: str, model: Model, data: st.DataObject) -> None:
    found = asked(model, view, data, order_by="name")
    for order in ORDERS:
        other = differently(found, order_by=order)
        assert sorted(other.places.tolist()) == sorted(found.places.tolist())


@EVERY_TREE
@BOUNDED
@given(models(), st.data(), st.sampled_from(ORDERS))
def test_siblings_are_in_the_order_asked_for_and_ties_in_that_of_the_tree(
    view: str, model: Model, data: st.DataObject, order: str
) -> None:
    found = asked(model, view, data, order_by=order)
    keys: list[Any] = list(found.names)
    if order in (*MEASURES, *PASSES):
        keys = (-found.total[_measure(order, view)]).tolist()
    elif order == "occurrence" and view == "code":
        keys = [-len(found.members_of(row)) for row in range(len(found))]
    ranked = sorted(range(1, len(found)), key=lambda row: found.parent[row])
    for _, siblings in groupby(ranked, key=lambda row: found.parent[row]):
        sort_keys = [(keys[row], found.places[row]) for row in siblings]
        assert sort_keys == sorted(sort_keys)


@BOUNDED
@given(models(), st.data(), st.sampled_from(ORDERS))
def test_op_types_are_in_the_order_asked_for_and_ties_in_that_of_names(
    model: Model, data: st.DataObject, order: str
) -> None:
    found = asked(model, "op", data, order_by=order)
    counts = [len(found.members_of(row)) for row in range(len(found))]
    keys = counts if order == "occurrence" else [0] * len(found)
    if order in (*MEASURES, *PASSES):
        keys = found.own[_measure(order, "op")].tolist()
    sort_keys = [(-key, name) for key, name in zip(keys, found.names, strict=True)]
    assert sort_keys == sorted(sort_keys)


@EVERY_TREE
@BOUNDED
@given(models(), st.data())
def test_a_row_comes_after_the_row_above_it_and_before_all_that_is_not_below_that(
    view: str, model: Model, data: st.DataObject
) -> None:
    found = asked(model, view, data)
    parent, depth = found.parent.tolist(), found.depth.tolist()
    assert parent[0] == -1
    assert depth[0] == 0
    path = [0]
    for row in range(1, len(found)):
        assert parent[row] in path
        path = [*path[: path.index(parent[row]) + 1], row]
        assert depth[row] == len(path) - 1


@EVERY_TREE
@BOUNDED
@given(models(), st.data())
def test_the_row_above_a_row_is_the_nearest_shown_place_above_it(view: str, model: Model, data: st.DataObject) -> None:
    found = asked(model, view, data)
    shown, tree = places(found), found.forest.tree
    for row in range(1, len(found)):
        above = int(tree.parent[found.places[row]])
        while above not in shown:
            above = int(tree.parent[above])
        assert found.places[found.parent[row]] == above


@EVERY_VIEW
@BOUNDED
@given(models(), st.data(), st.integers(0, 6))
def test_a_greater_depth_never_takes_a_row_away(view: str, model: Model, data: st.DataObject, depth: int) -> None:
    shallow = asked(model, view, data, max_depth=depth)
    assert places(shallow) <= places(differently(shallow, max_depth=depth + 1))


@EVERY_TREE
@BOUNDED
@given(models(), st.integers(1, 6))
def test_rows_are_shown_down_to_the_depth_asked_for_and_all_of_these(view: str, model: Model, depth: int) -> None:
    profile = with_traces(model).profile
    whole = profile.view(view, max_depth=100)
    shallow = [place for place, row in zip(whole.places.tolist(), whole.depth.tolist(), strict=True) if row < depth]
    assert profile.view(view, max_depth=depth).places.tolist() == shallow


@EVERY_VIEW
@BOUNDED
@given(models(), st.data(), st.sampled_from(THRESHOLDS), st.integers(0, 20))
def test_a_higher_threshold_never_brings_a_row(
    view: str, model: Model, data: st.DataObject, measure: str, least: int
) -> None:
    low = asked(model, view, data, **{f"min_{measure}": least})
    assert places(differently(low, **{f"min_{measure}": least + 1})) <= places(low)


@EVERY_TREE
@BOUNDED
@given(models(), st.data())
def test_all_filters_together_show_what_each_of_them_shows(view: str, model: Model, data: st.DataObject) -> None:
    """Start and trim aside: these depend on one another."""
    fixed = {"start_name_regexes": [".*"], "trim_name_regexes": [], "step": -1, "timing": "exact"}
    options = data.draw(choices(model, view, **fixed, account_type_regexes=[".*"]))
    filters = {option: value for option, value in options.items() if option not in fixed}
    profile = with_traces(model).profile
    alone = [places(profile.view(view, **{option: value})) for option, value in filters.items()]
    assert places(profile.view(view, **options)) == set.intersection(*alone)


@EVERY_VIEW
@BOUNDED
@given(models(), st.data())
def test_what_is_hidden_is_what_would_be_shown(view: str, model: Model, data: st.DataObject) -> None:
    regexes = data.draw(st.lists(st.sampled_from(("a.*", ".*b", "MatMul", ".*:2:.*", "", ".*")), max_size=2))
    if regexes == [".*"]:
        regexes = ["(?s).*"]
    profile = with_traces(model).profile
    root = set() if view == "op" else {0}
    everything = places(profile.view(view))
    shown, rest = profile.view(view, show_name_regexes=regexes), profile.view(view, hide_name_regexes=regexes)
    assert places(shown) | places(rest) == everything
    assert places(shown) & places(rest) == root


@EVERY_VIEW
@BOUNDED
@given(models(), st.data())
def test_every_filter_takes_rows_away_but_shows_no_other(view: str, model: Model, data: st.DataObject) -> None:
    found = asked(model, view, data)
    options = found.options
    if view == "op":
        whole = found.profile.view(view, account_type_regexes=options.account_type_regexes, max_depth=100)
    else:
        whole = found.profile.view(view, account_type_regexes=options.account_type_regexes)
    assert places(found) <= places(whole)
    assert len(places(found)) == len(found)


@pytest.mark.parametrize("view", ["scope", "graph"])
@BOUNDED
@given(models(), st.data())
def test_definitions_are_the_nodes_and_scopes_that_a_total_counts(view: str, model: Model, data: st.DataObject) -> None:
    found = asked(model, view, data, account_displayed_op_only=False)
    tree = found.forest.tree
    inside = [0] * len(tree)
    for place in range(len(tree) - 1, 0, -1):
        inside[place] += 1
        inside[tree.parent[place]] += inside[place]
    assert found.total["definitions"].tolist() == [inside[place] for place in found.places.tolist()]
