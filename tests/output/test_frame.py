"""A view as a DataFrame: a row a row, the tree kept, numbers in their own units."""

from __future__ import annotations

import pytest

from tests.sketches import profile_of
from tfprof_widget.engine.measures import MEASURES
from tfprof_widget.profiles.options import PASSES, VIEWS

PROFILE = profile_of("""
    layer/mul = MatMul(layer/w) 1500ns;1us 64B 8flops | train.py:3:main > ops.py:1:mul
    layer/w   = VariableV2() 532ns 2x3                | train.py:3:main
    loss      = Mean(layer/mul) 2us;3us               | train.py:4:main
""")
CPU = "/job:localhost/replica:0/task:0/device:cpu:0"


def test_the_rows_of_a_tree() -> None:
    frame = PROFILE.view("scope", step=0).to_dataframe()
    assert frame[["name", "depth", "parent", "op", "device", "micros", "total_micros"]].values.tolist() == [
        ["_TFProfRoot", 0, -1, "", "", 0.0, 4.032],
        ["layer", 1, 0, "", "", 0.0, 2.032],
        ["layer/mul", 2, 1, "MatMul", CPU, 1.5, 1.5],
        ["layer/w", 2, 1, "VariableV2", CPU, 0.532, 0.532],
        ["loss", 1, 0, "Mean", CPU, 2.0, 2.0],
    ]


def test_parents_are_positions_in_the_order_shown() -> None:
    frame = PROFILE.view("scope", order_by="micros", hide_name_regexes=["layer"]).to_dataframe()
    assert frame["name"].tolist() == ["_TFProfRoot", "loss", "layer/mul", "layer/w"]
    assert frame["parent"].tolist() == [-1, 0, 0, 0]


def test_the_rows_of_an_op_view() -> None:
    frame = PROFILE.view("op", order_by="micros").to_dataframe()
    assert frame[["name", "op", "depth", "parent", "micros", "total_micros"]].values.tolist() == [
        ["Mean", "Mean", 0, -1, 2.5, 4.016],
        ["MatMul", "MatMul", 0, -1, 1.25, 1.516],
        ["VariableV2", "VariableV2", 0, -1, 0.266, 0.266],
    ]


@pytest.mark.parametrize("view", VIEWS)
def test_every_measure_has_its_own_and_its_total_column(view: str) -> None:
    frame = (
        PROFILE.view(view).to_dataframe().rename(columns={"parameters": "params", "total_parameters": "total_params"})
    )
    assert len(frame) == len(PROFILE.view(view)) - (view == "layers")  # whose root is none
    for measure in MEASURES if view != "layers" else ("micros", "bytes", "runs", "float_ops", "params", *PASSES):
        assert frame[measure].dtype.kind in "if"
        assert (frame[f"total_{measure}"] >= frame[measure]).all()


def test_counts_and_bytes_of_one_step_are_whole_numbers() -> None:
    frame = PROFILE.view("scope", step=0).to_dataframe()
    row = frame.set_index("name").loc["layer/mul"]
    assert (row["bytes"], row["runs"], row["float_ops"], row["params"]) == (64, 1, 8, 0)
    assert frame["bytes"].dtype == frame["params"].dtype == "int64"
    assert frame["total_params"].iloc[0] == 6


def test_a_mean_of_steps_may_have_parts() -> None:
    profile = profile_of("a = Op() 1us+1us;1us 3B")
    frame = profile.view("scope").to_dataframe()
    assert frame["total_runs"].iloc[0] == 1.5
    assert frame["total_bytes"].iloc[0] == 4.5


def test_natives_clock_gives_natives_numbers() -> None:
    frame = PROFILE.view("scope", timing="tfprof").to_dataframe().set_index("name")
    assert frame["micros"].tolist() == [0, 0, 1, 1, 2]  # (2 + 3) / 2 and (1 + 1) / 2, without the rest


def test_what_is_not_accounted_says_so() -> None:
    frame = PROFILE.view("scope", account_type_regexes=["MatMul"]).to_dataframe()
    assert frame[["name", "accounted"]].values.tolist() == [
        ["_TFProfRoot", False],
        ["layer", False],
        ["layer/mul", True],
    ]


def test_definitions_and_hidden_ops() -> None:
    frame = PROFILE.view("scope", hide_name_regexes=["layer/.*"]).to_dataframe()
    assert frame[["name", "definitions", "hidden_ops"]].values.tolist() == [
        ["_TFProfRoot", 4, 2],
        ["layer", 3, 2],
        ["loss", 1, 0],
    ]


def test_a_view_without_rows_is_a_frame_without_rows_but_with_columns() -> None:
    frame = PROFILE.view("op", show_name_regexes=["nothing"]).to_dataframe()
    assert len(frame) == 0
    assert {"name", "micros", "total_micros", "hidden_ops"} <= set(frame.columns)


def test_a_frame_is_the_callers_own() -> None:
    view = PROFILE.view("scope", step=0)
    frame = view.to_dataframe()
    frame.loc[:, "total_params"] = 0
    frame.loc[:, "depth"] = 7
    assert view.total["params"].tolist()[0] == 6
    assert view.depth.tolist()[0] == 0
    assert view.to_dataframe()["total_params"].iloc[0] == 6
