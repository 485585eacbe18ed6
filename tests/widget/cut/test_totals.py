"""Whatever is put together, the totals of all that is left are those of the whole: random models, every size of cut."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.made import profile_of_tables
from tests.properties.models import BOUNDED, OPS, Model, models
from tfprof_widget.api.profile import Profile
from tfprof_widget.engine.evaluate import view_tree
from tfprof_widget.engine.measures import MEASURES
from tfprof_widget.widget.cut import candidates_of, cut, merged
from tfprof_widget.widget.cut_plan import Limits
from tfprof_widget.widget.cut_tables import CutRows, rows_of


def cuts(model: Model) -> list[tuple[CutRows, Profile]]:
    """The profile with all its places kept, with all but one, and so on to none."""
    profile = model.profile
    tree = view_tree(profile, "scope")
    candidates = candidates_of(profile, np.zeros(len(profile.nodes), np.bool_))
    found = []
    for places in range(0, 2 * len(tree) + 2, 2):
        rows = rows_of(profile, tree, candidates.plan(places))
        found.append((rows, profile_of_tables(merged(profile, rows))))
    return found


def totals(profile: Profile, view: str, **options: object) -> dict[str, dict[str, int]]:
    """The totals of each row of a view by its path; of an op type its own, for its total is also of those after it."""
    found = profile.view(view, max_depth=1000, **options)
    values = found.own if view == "op" else found.total
    paths: list[str] = []
    for name, parent in zip(found.names, found.parent.tolist(), strict=True):
        paths.append(f"{paths[parent]} > {name}" if parent >= 0 and view != "op" else name)
    return {
        path: {"scale": found.scale, **{measure: int(values[measure][row]) for measure in MEASURES}}
        for row, path in enumerate(paths)
    }


@BOUNDED
@given(models(), st.data())
def test_scopes_op_types_and_frames_keep_their_totals(model: Model, data: st.DataObject) -> None:
    options = {
        "step": data.draw(st.integers(-1, model.steps - 1)),
        "account_type_regexes": [data.draw(st.sampled_from((".*", *OPS, "mine", ".*gpu.*")))],
    }
    for view in ("scope", "op", "code"):
        if view == "code" and not model.profile.has_traces:
            continue
        whole = totals(model.profile, view, **options)
        for _, small in cuts(model):
            if view == "code" and not small.has_traces:
                continue
            left = totals(small, view, **options)
            assert left.keys() - whole.keys() <= {path for path in left if " more " in path}
            assert {path: left[path] for path in left.keys() & whole.keys()} == {
                path: whole[path] for path in left.keys() & whole.keys()
            }
            if view != "scope":
                assert left.keys() == whole.keys()


@BOUNDED
@given(models())
def test_the_graph_view_reaches_what_it_reached(model: Model) -> None:
    whole = totals(model.profile, "graph")["_TFProfRoot"]
    for _, small in cuts(model):
        assert totals(small, "graph")["_TFProfRoot"] == whole


@BOUNDED
@given(models())
def test_by_the_native_clock_single_steps_keep_their_totals_and_means_nearly(model: Model) -> None:
    """Native cuts off what is left of each node's mean, so that of nodes put together is less than 1 µs a node more."""
    for step in range(-1, model.steps):
        options = {"step": step, "timing": "tfprof"}
        whole = totals(model.profile, "scope", **options)
        for rows, small in cuts(model):
            left = totals(small, "scope", **options)
            together = int(rows.count[~rows.is_kept].sum())
            for path in left.keys() & whole.keys():
                for measure in ("micros", "bytes", "runs"):
                    more = left[path][measure] - whole[path][measure]
                    assert 0 <= more <= (together if step < 0 else 0)


@BOUNDED
@given(models(), st.integers(1, 12), st.integers(1, 20))
def test_a_cut_is_within_its_limits_or_puts_all_together_that_it_may(model: Model, nodes: int, rows: int) -> None:
    found = cut(model.profile, Limits(nodes, rows, 5, 5))
    small = found.profile
    assert len(small.executions) <= 5
    if found.left_out is None:
        assert small is model.profile
        return
    assert found.left_out.nodes == len(model.nodes)
    shown = Profile.of(small)
    fits = len(small.nodes) <= nodes and len(small.step_totals.node) <= rows
    if not fits:
        assert not found.left_out.grouped_by.runs
        assert all(name.startswith("(") for name in small.nodes.names if " more " in name)
    for step in range(model.steps):
        assert totals(shown, "op", step=step).keys() == totals(model.profile, "op", step=step).keys()
        for path, before in totals(model.profile, "op", step=step).items():
            after = totals(shown, "op", step=step)[path]
            for measure in ("micros", "cpu_micros", "accelerator_micros", "bytes", "params", "runs"):
                assert after[measure] == before[measure]
