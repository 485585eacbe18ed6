"""The page on profiling a model's architecture: its parameters and float operations, and their caveats."""

from __future__ import annotations

import sys

import pytest

import tfprof_widget as tfprof
from tests.documents.resnet import resnet
from tests.documents.session import Session, document
from tests.sketches import Protos, profile_of, protos_of


@pytest.fixture(scope="module")
def model() -> Protos:
    return protos_of(resnet("VariableV2"))


@pytest.fixture
def tfprof_prompt(model: Protos) -> Session:
    return Session(model)


def test_parameters_are_created_by_operation_type_variable_v2(tfprof_prompt: Session) -> None:
    assert tfprof_prompt.run("scope -account_type_regexes VariableV2 -max_depth 4 -select params") == document("""
        _TFProfRoot (--/930.58k params)
          global_step (1/1 params)
          init/init_conv/DW (3x3x3x16, 432/864 params)
          pool_logit/DW (64x10, 640/1.28k params)
            pool_logit/DW/Momentum (64x10, 640/640 params)
          pool_logit/biases (10, 10/20 params)
            pool_logit/biases/Momentum (10, 10/10 params)
          unit_last/final_bn/beta (64, 64/128 params)
          unit_last/final_bn/gamma (64, 64/128 params)
          unit_last/final_bn/moving_mean (64, 64/64 params)
          unit_last/final_bn/moving_variance (64, 64/64 params)
    """)


def test_the_python_api_profiles_trainable_variables(model: Protos, capsys: pytest.CaptureFixture[str]) -> None:
    param_stats = tfprof.profile(
        model.graph,
        op_log=model.op_log,
        options=tfprof.ProfileOptionBuilder.trainable_variables_parameter(),
    )
    sys.stdout.write(f"total_params: {param_stats.total_parameters}\n")
    # By default, it's printed to stdout. The result is always returned as a proto buffer.
    printed = capsys.readouterr().out
    assert "_TFProfRoot (--/464.15k params)" in printed
    assert "total_params: 464154" in printed


def test_float_operations_by_scope(tfprof_prompt: Session) -> None:
    # The rows go on to the last unit: the page shows the first of them.
    line = "scope -min_float_ops 1 -select float_ops -account_displayed_op_only -account_type_regexes .* -max_depth 100"
    assert tfprof_prompt.run(line).startswith(
        document("""
            _TFProfRoot (--/17.63b flops)
              gradients/pool_logit/xw_plus_b/MatMul_grad/MatMul (163.84k/163.84k flops)
              gradients/pool_logit/xw_plus_b/MatMul_grad/MatMul_1 (163.84k/163.84k flops)
              init/init_conv/Conv2D (113.25m/113.25m flops)
              pool_logit/xw_plus_b (1.28k/165.12k flops)
                pool_logit/xw_plus_b/MatMul (163.84k/163.84k flops)
              unit_1_0/sub1/conv1/Conv2D (603.98m/603.98m flops)
              unit_1_0/sub2/conv2/Conv2D (603.98m/603.98m flops)
              unit_1_1/sub1/conv1/Conv2D (603.98m/603.98m flops)
              unit_1_1/sub2/conv2/Conv2D (603.98m/603.98m flops)
        """)
    )


def test_float_operations_aggregated_by_operation_type(tfprof_prompt: Session) -> None:
    tfprof_prompt.run("set -account_type_regexes .*")
    view = tfprof_prompt.view("op -min_float_ops 1 -select float_ops -account_displayed_op_only -order_by float_ops")
    rows = """
        Conv2D                   17.63b float_ops (100.00%, 100.00%)
        MatMul                   491.52k float_ops (0.00%, 0.00%)
        BiasAdd                  1.28k float_ops (0.00%, 0.00%)
    """
    assert view.text().partition("# float_ops\n")[2].strip() == document(rows)


def test_float_operations_in_the_python_api(model: Protos, capsys: pytest.CaptureFixture[str]) -> None:
    found = tfprof.profile(model.graph, op_log=model.op_log, options=tfprof.ProfileOptionBuilder.float_operation())
    assert round(found.total_float_ops, -7) == 17_630_000_000
    assert "unit_1_1/sub2/conv2/Conv2D (603.98m/603.98m flops)" in capsys.readouterr().out


def test_without_run_metadata_each_node_counts_once_else_as_often_as_it_ran() -> None:
    in_a_loop = "while/MatMul = MatMul() 100flops"
    assert profile_of(in_a_loop).view("scope").total["float_ops"][0] == 100
    assert profile_of(f"{in_a_loop} 5us+5us+5us").view("scope").total["float_ops"][0] == 3 * 100


def test_a_variable_that_was_not_made_by_the_user_does_not_count_as_model_capacity() -> None:
    profile = profile_of("""
        mine        = VariableV2() 10x10 +_trainable_variables
        mine/Slot   = VariableV2() 10x10
        global_step = VariableV2() []
    """)
    by_type = {
        types: int(profile.view("scope", account_type_regexes=[types]).total["params"][0])
        for types in ("VariableV2", "_trainable_variables")
    }
    assert by_type == {"VariableV2": 201, "_trainable_variables": 100}
