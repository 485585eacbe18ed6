"""The widget's Python side: its traits, what it sends, and what follows from the traits without a browser."""

from __future__ import annotations

import gzip
from dataclasses import replace
from typing import Any

import ipywidgets
import pytest
import traitlets

from tfprof_widget.api.profile import Profile
from tfprof_widget.demo import demo_profile, recorded
from tfprof_widget.profiles.options import METRICS, OPTIONS, TABS
from tfprof_widget.widget.shown import Shown, ShownGraph
from tfprof_widget.widget.traits import TfprofWidget, shared_assets

OF_A_VIEW = [option for option in OPTIONS if option.kind != "text"]


@pytest.fixture
def widget() -> TfprofWidget:
    return demo_profile().widget(title="a small network")


@pytest.mark.parametrize("option", OF_A_VIEW, ids=lambda option: option.name)
def test_every_option_of_a_view_is_a_synced_trait_with_its_help(widget: TfprofWidget, option: Any) -> None:
    trait = widget.traits(sync=True)[option.name]
    assert trait.help == option.help
    assert option.name in widget.get_state()


def test_where_output_goes_is_no_trait(widget: TfprofWidget) -> None:
    assert "output" not in widget.trait_names()


def test_costliest_comes_first_of_what_was_measured(widget: TfprofWidget) -> None:
    assert widget.order_by == "micros"
    assert widget.select == ["micros", "bytes", "occurrence", "float_ops"]


def test_graph_that_never_ran_starts_with_what_it_has() -> None:
    widget = Profile.from_protos(recorded("graph"), op_log=recorded("op_log")).widget()
    assert widget.order_by == "float_ops"


def test_options_given_are_those_to_start_from() -> None:
    widget = demo_profile().widget("op", min_micros=10, show_name_regexes=["MatMul"], order_by="name")
    assert (widget.view, widget.min_micros, widget.show_name_regexes) == ("op", 10, ["MatMul"])
    assert widget.order_by == "name"


def test_unknown_option_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="did you mean 'min_micros'"):
        demo_profile().widget(min_micro=3)


@pytest.mark.parametrize(
    ("trait", "value"), [("view", "scop"), ("metric", "money"), ("order_by", "?"), ("min_bytes", -1)]
)
def test_value_that_is_none_is_refused(widget: TfprofWidget, trait: str, value: Any) -> None:
    with pytest.raises(traitlets.TraitError):
        setattr(widget, trait, value)


def test_rows_follow_the_traits(widget: TfprofWidget) -> None:
    widget.view, widget.max_depth = "scope", 2
    frame = widget.to_dataframe()
    assert frame["name"].tolist()[:2] == ["_TFProfRoot", "gradients"]
    widget.hide_name_regexes = ["gradients"]
    assert "gradients" not in widget.to_dataframe()["name"].tolist()


@pytest.mark.parametrize("tab", TABS)
def test_every_tab_can_be_asked_for_its_rows(widget: TfprofWidget, tab: str) -> None:
    widget.view = tab
    assert len(widget.to_dataframe()) > 0


@pytest.mark.parametrize("metric", METRICS)
def test_chart_follows_the_metric(widget: TfprofWidget, metric: str) -> None:
    widget.metric = metric
    assert "vega-lite/v6" in widget.chart.to_dict()["$schema"]


def test_change_can_be_observed_and_linked(widget: TfprofWidget) -> None:
    seen: list[int] = []
    widget.observe(lambda change: seen.append(change["new"]), "min_micros")
    other = demo_profile().widget()
    ipywidgets.link((widget, "min_micros"), (other, "min_micros"))
    other.min_micros = 7
    assert (widget.min_micros, seen) == (7, [7])
    assert ipywidgets.VBox([widget, other]).children == (widget, other)


def test_assets_are_sent_once_for_all_widgets(widget: TfprofWidget) -> None:
    assert widget._assets is demo_profile().widget()._assets is shared_assets()


def test_assets_are_made_anew_after_they_were_closed(widget: TfprofWidget) -> None:
    shared_assets().close()
    assert shared_assets().comm is not None
    assert demo_profile().widget()._assets is shared_assets()


def test_assets_are_told_to_who_asks_and_to_nobody_else(widget: TfprofWidget, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    monkeypatch.setattr(widget, "send", lambda content, buffers: told.append((content, buffers)))
    for message in ({"request": "anything"}, {"code": "request"}, {"request": "code"}):
        widget._handle_custom_msg(message, [])
    assets = shared_assets()
    assert told == [({"answer": "code", "page": assets.page}, [assets.panels, assets.carried, assets.charts])]
    assert b"vega" in gzip.decompress(told[0][1][2])


def test_markdown_states_how_it_was_measured_and_the_options_in_force(widget: TfprofWidget) -> None:
    widget.view, widget.min_micros = "op", 5
    text = widget.to_markdown()
    assert text.startswith("# a small network\n")
    assert "executions **30**" in text
    assert "min\\_micros 5" in text
    assert "Python 3." in text
    assert "| MatMul |" in text


def test_report_is_one_file_that_fetches_nothing(widget: TfprofWidget, tmp_path: Any) -> None:
    widget.view = "code"
    widget.save_report(str(tmp_path / "report.html"))
    page = (tmp_path / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "default-src 'none'" in page
    assert "http:" not in page.split("<script", 1)[0]
    assert "https:" not in page.split("<script", 1)[0]
    assert "a small network" in page


def test_another_graph_shows_runs_of_its_own() -> None:
    profiles = [Profile.from_protos(recorded("graph"), recorded("run_meta")) for _ in range(2)]
    named = [replace(profile, step_names=(name,)) for profile, name in zip(profiles, ("train", "eval"), strict=True)]
    graphs = tuple(
        ShownGraph(name, each, run_name_regexes=(name,)) for each, name in zip(named, ("train", "eval"), strict=True)
    )
    widget = TfprofWidget(Shown("both", graphs, options={"run_name_regexes": ("train",)}))
    widget.graph = 1
    assert widget.run_name_regexes == ["eval"]
    assert widget.profile is named[1]
    assert len(widget.to_dataframe()) > 1
    with pytest.raises(traitlets.TraitError, match="graph is 2, but there are 2"):
        widget.graph = 2
