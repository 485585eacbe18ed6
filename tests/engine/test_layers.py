"""The layers view: to which layer and pass each node of a graph belongs, on graphs worked out by hand."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.sketches import profile_of
from tfprof_widget.api.profile import Profile
from tfprof_widget.demo import demo_profile
from tfprof_widget.profiles.program import ModelLayer

TRAINING = """
    x = Placeholder()
    lower/w = VariableV2() 4x4 +_trainable_variables
    upper/w = VariableV2() 4x2 +_trainable_variables
    lower/MatMul = MatMul(x, lower/w) 10us
    lower/Relu = Relu(lower/MatMul) 2us
    upper/MatMul = MatMul(lower/Relu, upper/w) 7us
    loss = Mean(upper/MatMul) 1us
    gradients/loss_grad/Tile = Tile(loss) 3us
    gradients/upper/MatMul_grad/MatMul = MatMul(gradients/loss_grad/Tile, upper/w) 8us
    gradients/upper/MatMul_grad/MatMul_1 = MatMul(lower/Relu, gradients/loss_grad/Tile) 9us
    gradients/lower/Relu_grad/ReluGrad = ReluGrad(gradients/upper/MatMul_grad/MatMul, lower/Relu) 4us
    gradients/lower/MatMul_grad/MatMul = MatMul(x, gradients/lower/Relu_grad/ReluGrad) 20us
    rate = Const() 30us
    train/update_lower = ApplyGradientDescent(lower/w, rate, gradients/lower/MatMul_grad/MatMul) 5us
    train/update_upper = ApplyGradientDescent(upper/w, rate, gradients/upper/MatMul_grad/MatMul_1) 6us
"""

# Rows: name, type, forward, backward, update and all, in microseconds.
Row = tuple[str, str, float, float, float, float]


def rows(profile: Profile) -> list[Row]:
    frame = profile.view("layers").to_dataframe()
    columns = ["name", "type", "forward_micros", "backward_micros", "update_micros", "micros"]
    found: list[Row] = [tuple(row) for row in frame[columns].values.tolist()]
    return found


def test_a_session_graph_has_its_outermost_scopes_as_layers() -> None:
    """What both updates take, as the learning rate, is the optimizer's own."""
    assert rows(profile_of(TRAINING)) == [
        ("lower", "scope", 12.0, 24.0, 5.0, 41.0),
        ("upper", "scope", 7.0, 17.0, 6.0, 30.0),
        ("no layer", "", 0.0, 0.0, 0.0, 0.0),
        ("loss", "", 1.0, 3.0, 0.0, 4.0),
        ("optimizer", "", 0.0, 0.0, 30.0, 30.0),
        ("other", "", 0.0, 0.0, 0.0, 0.0),
    ]


def test_columns_and_totals() -> None:
    frame = profile_of(TRAINING).view("layers").to_dataframe().set_index("name")
    assert frame.columns.tolist()[:10] == [
        "type",
        "forward_micros",
        "backward_micros",
        "update_micros",
        "micros",
        "share",
        "parameters",
        "float_ops",
        "bytes",
        "runs",
    ]
    assert frame.loc["lower", "parameters"] == 16
    assert frame.loc["lower", "share"] == 41 / 105
    assert frame.loc["no layer", "total_micros"] == 34.0
    assert frame["micros"].sum() == 105.0


def test_rows_are_ordered_by_a_pass_and_elsewhere_by_all_of_them() -> None:
    profile = profile_of(TRAINING)
    names = profile.view("layers", order_by="update_micros").names
    assert [each for each in names if each in ("lower", "upper", "no layer")] == ["no layer", "upper", "lower"]
    options = {"account_displayed_op_only": True, "hide_name_regexes": ["lower"]}
    shown = profile.view("layers", order_by="backward_micros", **options)
    assert shown.names[:3] == ("_TFProfRoot", "upper", "no layer")
    assert profile.view("op", order_by="update_micros").names == profile.view("op", order_by="micros").names


MODEL = (
    ModelLayer("model", "model", "Functional"),
    ModelLayer("model/inner", "inner", "Sequential", "model"),
    ModelLayer("model/inner/dense", "dense", "Dense", "model/inner"),
    ModelLayer("model/norm", "norm", "BatchNormalization", "model"),
)

NESTED = """
    next = IteratorGetNext() 2us
    model/inner/dense/MatMul = MatMul(next) 10us
    model/norm/Mul = Mul(model/inner/dense/MatMul) 3us
    model/Cast = Cast(model/norm/Mul) 1us
    compile_loss/mse/Mean = Mean(model/Cast) 1us
    gradient_tape/compile_loss/mse/Tile = Tile(compile_loss/mse/Mean) 1us
    gradient_tape/model/norm/Mul/Mul = Mul(gradient_tape/compile_loss/mse/Tile) 4us
    gradient_tape/model/inner/dense/MatMul/MatMul = MatMul(gradient_tape/model/norm/Mul/Mul) 20us
"""


def test_layers_of_a_model_are_a_tree_in_its_order() -> None:
    profile = replace(profile_of(NESTED), model_layers=MODEL)
    frame = profile.view("layers").to_dataframe()
    assert frame[["name", "depth", "forward_micros", "backward_micros"]].values.tolist() == [
        ["model", 1, 1.0, 0.0],
        ["inner", 1, 0.0, 0.0],
        ["dense", 2, 10.0, 20.0],
        ["norm", 1, 3.0, 4.0],
        ["no layer", 1, 0.0, 0.0],
        ["loss", 2, 1.0, 1.0],
        ["input", 2, 0.0, 0.0],
    ]
    by_name = frame.set_index("name")
    assert by_name.loc["inner", "total_micros"] == 30.0
    assert by_name.loc["input", "micros"] == 2.0


def test_ops_of_a_module_are_found_by_the_variables_that_they_read() -> None:
    """And by the functions in which they were made: the bias is added where the product was made."""
    profile = profile_of("""
        w = VarHandleOp() | t.py:9:main
        head/b = VarHandleOp() | t.py:9:main
        Read = ReadVariableOp(w) 1us | t.py:9:main > t.py:3:call
        MatMul = MatMul(Read) 5us | t.py:9:main > t.py:3:call
        Tanh = Tanh(MatMul) 2us | t.py:9:main > t.py:4:call
        Square = Square(Tanh) 7us | t.py:10:main
    """)
    layers = (ModelLayer("w", "body", "Body", "", is_module=True),)
    found = {row[0]: row[-1] for row in rows(replace(profile, model_layers=layers))}
    assert found["body"] == 1.0 + 5.0 + 2.0
    assert sum(found.values()) == 15.0


def test_options_leave_rows_out_as_in_other_views() -> None:
    profile = replace(profile_of(NESTED), model_layers=MODEL)
    assert profile.view("layers", show_name_regexes=["dense"]).names == ("_TFProfRoot", "dense")
    assert "dense" not in profile.view("layers", max_depth=1).names
    assert "norm" not in profile.view("layers", min_micros=8).names
    assert profile.view("layers", order_by="micros").names[1:4] == ("inner", "dense", "norm")


@pytest.mark.parametrize("timing", ["exact", "tfprof"])
def test_rows_add_up_to_the_time_of_all_ops(timing: str) -> None:
    profile = demo_profile()
    view = profile.view("layers", timing=timing)
    assert view.own["micros"].sum() == profile.view("op", timing=timing).own["micros"].sum()


def training_in(scope: str) -> str:
    """The training above, built in a scope, as that of a net or of a replica, with its gradients in the scope too."""
    inside = re.sub(r"(?<![\w/])(?=(gradients|lower|upper)/)", scope, TRAINING)
    return re.sub(r"(?<=gradients/)(?=(lower|upper)/)", scope, inside)


def test_a_scope_around_the_whole_model_is_no_layer() -> None:
    """As those of slim's nets, of tf.name_scope("Train") and of towers are."""
    found = rows(profile_of(training_in("tower/net/")))
    assert ("lower", "scope", 12.0, 24.0, 5.0, 41.0) in found
    assert ("upper", "scope", 7.0, 17.0, 6.0, 30.0) in found


def test_scopes_in_the_scope_of_a_model_are_layers_though_one_takes_nearly_all_time() -> None:
    """As a recurrent layer between two others: what is in the layer is not layers of the model."""
    profile = profile_of("""
        x = Placeholder()
        model/embedding/GatherV2 = GatherV2(x) 2us
        model/gru/while/cell/MatMul = MatMul(model/embedding/GatherV2) 90us
        model/gru/while/cell/Tanh = Tanh(model/gru/while/cell/MatMul) 7us
        model/top/MatMul = MatMul(model/gru/while/cell/Tanh) 1us
    """)
    assert [(row[0], row[-1]) for row in rows(profile)][:4] == [
        ("embedding", 2.0),
        ("gru", 97.0),
        ("top", 1.0),
        ("no layer", 0.0),
    ]


def test_an_op_that_runs_within_another_is_a_layer_by_its_gradient() -> None:
    """In a session's graph a product, the sum behind it and its activation are one kernel, which is named as the last.

    The gradients are kernels of their own.
    """
    profile = profile_of("""
        x = Placeholder()
        MatMul = MatMul(x)
        Relu = Relu(MatMul) 12us
        gradients/Relu_grad/ReluGrad = ReluGrad(Relu) 4us
        gradients/MatMul_grad/MatMul_1 = MatMul(x, gradients/Relu_grad/ReluGrad) 20us
    """)
    found = {row[0]: row[-1] for row in rows(profile)}
    assert (found["MatMul"], found["Relu"]) == (20.0, 16.0)


def test_a_layer_that_takes_nearly_all_time_stays_one() -> None:
    """Its ops are not layers of a model, nor are the scopes of one of them."""
    profile = profile_of("""
        x = Placeholder()
        rnn/while/cell/MatMul = MatMul(x) 90us
        rnn/while/cell/Tanh = Tanh(rnn/while/cell/MatMul) 9us
        top/MatMul = MatMul(rnn/while/cell/Tanh) 1us
    """)
    assert [(row[0], row[-1]) for row in rows(profile)] == [
        ("rnn", 99.0),
        ("top", 1.0),
        ("no layer", 0.0),
        ("other", 0.0),
    ]


def test_ops_without_a_scope_are_layers_where_they_take_most_of_the_time() -> None:
    """As in a graph of TensorFlow 1 in which nobody named anything; fetches and what makes variables are no layers."""
    profile = profile_of("""
        x = Placeholder()
        random_normal/mul = Mul() 50us
        Variable = VariableV2() 4x4 +_trainable_variables
        Variable/Assign = Assign(Variable, random_normal/mul) 1us
        Variable/read = Identity(Variable)
        MatMul = MatMul(x, Variable/read) 10us
        Relu = Relu(MatMul) 2us
        softmax/Sum = Sum(Relu) 1us
        gradients/softmax/Sum_grad/Tile = Tile(softmax/Sum) 3us
        gradients/Relu_grad/ReluGrad = ReluGrad(gradients/softmax/Sum_grad/Tile, Relu) 4us
        gradients/MatMul_grad/MatMul_1 = MatMul(x, gradients/Relu_grad/ReluGrad) 20us
        descent/update = ApplyGradientDescent(Variable, gradients/MatMul_grad/MatMul_1) 5us
        _retval_softmax/Sum_0_0 = _Retval(softmax/Sum) 1us
    """)
    found = rows(profile)
    assert found[:3] == [
        ("MatMul", "MatMul", 10.0, 20.0, 5.0, 35.0),
        ("Relu", "Relu", 2.0, 4.0, 0.0, 6.0),
        ("softmax", "scope", 1.0, 3.0, 0.0, 4.0),
    ]
    assert [row[0] for row in found[3:]] == ["no layer", *(row[0] for row in found[4:])]
