"""The tfprof guide, example by example: a ResNet of 32 layers is profiled, and prints what the guide prints."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import tfprof_widget as tfprof
from tests.documents.resnet import convolutions, resnet
from tests.documents.session import Session, document, node_rows, values
from tests.sketches import Protos, protos_of

FILTER = "gradients/{}/Conv2D_grad/Conv2DBackpropFilter"


@pytest.fixture(scope="module")
def model() -> Protos:
    return protos_of(resnet())


@pytest.fixture
def tfprof_prompt(model: Protos) -> Session:
    return Session(model)


def test_examine_the_shapes_and_sizes_of_all_trainable_variables(
    model: Protos, capsys: pytest.CaptureFixture[str]
) -> None:
    param_stats = tfprof.print_model_analysis(
        model.graph, op_log=model.op_log, tfprof_options=tfprof.TRAINABLE_VARS_PARAMS_STAT_OPTIONS
    )
    sys.stdout.write(f"total_params: {param_stats.total_parameters}\n")

    printed = capsys.readouterr().out
    assert "_TFProfRoot (--/464.15k params)" in printed
    assert "unit_2_1/sub1/conv1/DW (3x3x32x32, 9.22k/9.22k params)" in printed
    assert printed.endswith("total_params: 464154\n")


def test_examine_the_number_of_floating_point_operations(model: Protos, capsys: pytest.CaptureFixture[str]) -> None:
    tfprof.print_model_analysis(model.graph, op_log=model.op_log, tfprof_options=tfprof.FLOAT_OPS_OPTIONS)

    printed = capsys.readouterr().out
    assert "_TFProfRoot (--/17.63b flops)" in printed
    assert "unit_1_0/sub1/conv1/Conv2D (603.98m/603.98m flops)" in printed


def test_examine_the_timing_and_memory_usage(capsys: pytest.CaptureFixture[str]) -> None:
    graph, (run_metadata,), _ = protos_of("""
        multiply = MatMul() 54960us 16384B
        negate = Neg(multiply) 40us 16384B
    """)
    tfprof.print_model_analysis(graph, run_meta=run_metadata, tfprof_options=tfprof.PRINT_ALL_TIMING_MEMORY)

    printed = capsys.readouterr().out
    assert "_TFProfRoot (--/32.77KB, --/55.00ms, --/0us, --/55.00ms)" in printed
    assert "multiply (16.38KB/16.38KB, 54.96ms/54.96ms, 0us/0us, 54.96ms/54.96ms)" in printed


def test_example_3_gammas_of_batch_normalization(tfprof_prompt: Session) -> None:
    line = "scope -show_name_regexes unit_1_0.*gamma -select tensor_value -max_depth 5 -account_type_regexes"
    assert tfprof_prompt.run(f"{line} _checkpoint_variables") == document("""
        _TFProfRoot ()
          unit_1_0/shared_activation/init_bn/gamma ()
          unit_1_0/sub2/bn2/gamma ()
    """)


def test_example_4_checkpoint_tensors_and_their_number_of_parameters() -> None:
    tfprof_prompt = Session(protos_of(resnet(global_step="")))
    line = "scope -account_type_regexes _checkpoint_variables -select params -max_depth 4"
    assert tfprof_prompt.run(line) == document("""
        _TFProfRoot (--/930.58k params)
          global_step (0/0 params)
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


def test_example_5_which_ops_that_the_cost_depends_on_take_long() -> None:
    ran = {
        "random_shuffle_queue_DequeueMany": 3_090_000,
        "init/init_conv/Conv2D": 11_750,
        "unit_1_0/sub1/conv1/Conv2D": 9_250,
        "unit_1_0/sub2/conv2/Conv2D": 74_140,
        "unit_1_1/sub1/conv1/Conv2D": 94_860,
        "unit_1_3/sub2/conv2/Conv2D": 60_750,
        "unit_2_0/sub1/conv1/Conv2D": 125_670,
        "unit_2_4/sub2/conv2/Conv2D": 73_580,
        "unit_3_0/sub1/conv1/Conv2D": 49_740,
        "unit_3_3/sub2/conv2/Conv2D": 10_260,
        "unit_3_4/sub1/conv1/Conv2D": 8_000,
        "cost": 2_000,
    }
    tfprof_prompt = Session(protos_of(resnet(micros=ran)))
    line = "graph -start_name_regexes cost.* -max_depth 100 -min_micros 10000 -select micros -account_type_regexes .*"
    printed = values(tfprof_prompt.run(line))
    # Each op is the input of the next one down: today's rows nest, where the guide's stand side by side.
    assert (
        printed.items()
        >= values(
            document("""
            _TFProfRoot (0us/3.61sec)
              init/init_conv/Conv2D (11.75ms/3.10sec)
                random_shuffle_queue_DequeueMany (3.09sec/3.09sec)
              unit_1_0/sub2/conv2/Conv2D (74.14ms/3.19sec)
              unit_1_3/sub2/conv2/Conv2D (60.75ms/3.34sec)
              unit_2_4/sub2/conv2/Conv2D (73.58ms/3.54sec)
              unit_3_3/sub2/conv2/Conv2D (10.26ms/3.60sec)
        """)
        ).items()
    )


def test_example_6_expensive_operations_during_the_back_propagation() -> None:
    told = {
        "init/init_conv": 10_000,  # this and another take less than -min_micros: the guide does not show them
        "unit_1_0/sub1/conv1": 54_960,
        "unit_1_0/sub2/conv2": 83_630,
        "unit_1_1/sub1/conv1": 99_250,
        "unit_1_1/sub2/conv2": 15_000,
        "unit_1_2/sub1/conv1": 95_400,
        "unit_1_2/sub2/conv2": 99_830,
        "unit_1_3/sub1/conv1": 95_390,
    }
    others = (2_290_000 - sum(told.values())) // (len(convolutions()) - len(told))
    ran = {FILTER.format(each.scope): told.get(each.scope, others) for each in convolutions()}
    tfprof_prompt = Session(protos_of(resnet(micros=ran)))
    line = (
        "scope -start_name_regexes gradient.* -max_depth 100 -min_micros 20000 -select micros -account_type_regexes .*"
    )
    assert tfprof_prompt.run(line).startswith(
        document("""
            _TFProfRoot (0us/2.29sec)
              gradients/unit_1_0/sub1/conv1/Conv2D_grad/Conv2DBackpropFilter (54.96ms/54.96ms)
              gradients/unit_1_0/sub2/conv2/Conv2D_grad/Conv2DBackpropFilter (83.63ms/83.63ms)
              gradients/unit_1_1/sub1/conv1/Conv2D_grad/Conv2DBackpropFilter (99.25ms/99.25ms)
              gradients/unit_1_2/sub1/conv1/Conv2D_grad/Conv2DBackpropFilter (95.40ms/95.40ms)
              gradients/unit_1_2/sub2/conv2/Conv2D_grad/Conv2DBackpropFilter (99.83ms/99.83ms)
              gradients/unit_1_3/sub1/conv1/Conv2D_grad/Conv2DBackpropFilter (95.39ms/95.39ms)
        """)
    )


def test_example_7_the_number_of_float_operations_in_the_model(tfprof_prompt: Session) -> None:
    line = "scope -min_float_ops 1 -max_depth 10 -select float_ops -account_type_regexes .*"
    assert tfprof_prompt.run(line).startswith(
        document("""
            _TFProfRoot (0/17.63b flops)
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


def test_example_8_the_parameters_of_all_trainable_variables(tfprof_prompt: Session) -> None:
    tfprof_prompt.run("set -account_type_regexes _trainable_variables")
    assert tfprof_prompt.run("scope -max_depth 4 -select params") == document("""
        _TFProfRoot (--/464.15k params)
          init/init_conv/DW (3x3x3x16, 432/432 params)
          pool_logit/DW (64x10, 640/640 params)
          pool_logit/biases (10, 10/10 params)
          unit_last/final_bn/beta (64, 64/64 params)
          unit_last/final_bn/gamma (64, 64/64 params)
    """)


def test_example_9_lazy_use_names_to_select_a_group_of_ops(tfprof_prompt: Session) -> None:
    tfprof_prompt.run("set -account_type_regexes .*")
    line = "scope -show_name_regexes unit_2_1.*DW -max_depth 100 -account_displayed_op_only"
    assert tfprof_prompt.run(line) == document("""
        _TFProfRoot (0/18.43k params)
          unit_2_1/sub1/conv1/DW (3x3x32x32, 9.22k/9.22k params)
          unit_2_1/sub2/conv2/DW (3x3x32x32, 9.22k/9.22k params)
    """)


def test_example_10_the_built_in_type_variable_has_more_than_the_model(tfprof_prompt: Session) -> None:
    assert tfprof_prompt.run("scope -account_type_regexes Variable -max_depth 4 -select params") == document("""
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


def test_example_11_an_extra_op_type_by_op_log(model: Protos) -> None:
    op_log = type(model.op_log)()
    entry = op_log.log_entries.add()
    entry.name = "pool_logit/DW"
    entry.types.append("pool_logit")
    entry = op_log.log_entries.add()
    entry.name = "pool_logit/biases"
    entry.types.append("pool_logit")

    tfprof_prompt = Session(Protos(model.graph, [], op_log))
    assert tfprof_prompt.run("scope -account_type_regexes pool_logit -max_depth 4 -select params") == document("""
        _TFProfRoot (--/650 params)
          pool_logit/DW (64x10, 640/640 params)
          pool_logit/biases (10, 10/10 params)
    """)


def test_example_12_one_shot_and_dump_the_result_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph, _, op_log = protos_of(resnet(global_step=""))
    dump = tmp_path / "dump"
    options = {"max_depth": 3, "account_type_regexes": ["Variable"], "select": ["params"], "dump_to_file": str(dump)}
    tfprof.profile(graph, op_log=op_log, cmd="scope", options=options)

    assert capsys.readouterr().out == ""
    assert node_rows(dump.read_text(), {node.name for node in graph.node}) == document("""
        _TFProfRoot (--/930.58k params)
          global_step (0/0 params)
          pool_logit/DW (64x10, 640/1.28k params)
          pool_logit/biases (10, 10/20 params)
    """)


def test_example_13_how_balanced_variables_are_on_parameter_servers() -> None:
    tfprof_prompt = Session(
        protos_of("""
            encoder/embedding = VariableV2() 50000x512 3us @/job:ps/replica:0/task:0/cpu:0
            encoder/lstm      = VariableV2() 210x1000 3us @/job:ps/replica:0/task:0/cpu:0
            decoder/embedding = VariableV2() 50000x1024 3us @/job:ps/replica:0/task:1/cpu:0
            decoder/lstm      = VariableV2() 7640x1000 3us @/job:ps/replica:0/task:1/cpu:0
            local_step        = VariableV2() 1000x1000 1us @/job:worker/replica:0/task:0/gpu:0
        """)
    )
    # Looks like ps task 1 is holding twice more parameters than task 0.
    line = "scope -select device,params -account_type_regexes .*ps.*task:{}.* -max_depth 1"
    assert tfprof_prompt.run(line.format(0)) == "_TFProfRoot (--/25.81m params)"
    assert tfprof_prompt.run(line.format(1)) == "_TFProfRoot (--/58.84m params)"
