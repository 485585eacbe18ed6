"""Transposing and padding, on profiles worked out by hand."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.analysis.advisor.advice import run_of
from tests.analysis.advisor.findings import on_cpu, only, ran, shown
from tfprof_widget.analysis.advisor.slow_ops import layout
from tfprof_widget.api.profile import Profile
from tfprof_widget.lib.messages import GraphDef, OpLogProto


@pytest.mark.parametrize(
    ("op", "cause"),
    [
        ("Transpose", "Transposing tensors takes 10 % of the op time and computes nothing."),
        ("ConjugateTranspose", "Transposing tensors takes 10 % of the op time and computes nothing."),
        ("_MklTranspose", "Transposing tensors takes 10 % of the op time and computes nothing."),
        ("Pad", "Padding tensors takes 10 % of the op time, and later ops compute on the padding."),
        ("PadV2", "Padding tensors takes 10 % of the op time, and later ops compute on the padding."),
        ("MirrorPad", "Padding tensors takes 10 % of the op time, and later ops compute on the padding."),
    ],
)
def test_a_tenth_of_the_time(op: str, cause: str) -> None:
    run = on_cpu(("conv", 1000, 900), ("moved", 1900, 100))
    profile = ran({"conv": "Conv2D", "moved": op}, run, inputs={"conv": ["moved"]})
    finding = only(layout(profile))
    assert finding.cause == cause
    assert shown(profile, finding) == [op]


@pytest.mark.parametrize("op", ["Transpose", "Pad"])
def test_less_than_a_tenth(op: str) -> None:
    run = on_cpu(("conv", 1000, 901), ("moved", 1901, 99))
    assert not list(layout(ran({"conv": "Conv2D", "moved": op}, run, inputs={"conv": ["moved"]})))


@pytest.mark.parametrize(
    "ops",
    [
        {"pad": "Pad", "cast": "Cast", "layer": "Conv2D + BiasAdd"},
        {"pad": "Pad", "layer": "_FusedConv2D"},
        {"pad": "PadV2", "layer": "MaxPool"},
        {"batch": "IteratorGetNext", "pad": "Pad", "layer": "GatherV2"},
        {"fed": "Placeholder", "cast": "Cast", "pad": "Pad", "layer": "MatMul"},
        {"argument": "_Arg", "pad": "Pad"},
    ],
)
def test_pads_for_a_convolution_and_of_the_input(ops: dict[str, str]) -> None:
    """Each node takes what the one before it made."""
    assert "Padding tensors" in only(layout(chained(ops))).cause


@pytest.mark.parametrize(
    "ops",
    [
        {"made": "MatMul", "gradients/slice_grad/Pad": "Pad", "added": "AddN"},
        {"made": "Conv2D", "pad": "Pad", "layer": "Conv2DBackpropInput"},
        {"batch": "IteratorGetNext", "layer": "MatMul", "pad": "Pad"},
        {"pad": "Pad", "sum": "Sum", "layer": "Conv2D"},
        {"pad": "Pad"},
    ],
)
def test_pads_that_have_to_be(ops: dict[str, str]) -> None:
    """The gradient of a slice is a pad: there is nothing to let pad."""
    assert not list(layout(chained(ops)))


def chained(ops: dict[str, str]) -> Profile:
    names = list(ops)
    run = on_cpu(*((name, 1000 + 100 * place, 100) for place, name in enumerate(names)))
    return ran(ops, run, inputs={name: [before] for before, name in pairwise(names)})


@pytest.mark.parametrize("op", ["Conv2DBackpropInput", "Reshape", "PaddingFIFOQueueV2", "TransposeLater"])
def test_ops_that_do_something_else(op: str) -> None:
    assert not list(layout(ran({"other": op}, on_cpu(("other", 1000, 900)))))


@pytest.mark.parametrize(
    ("ops", "is_of_input"),
    [
        ({"fed": "Placeholder", "time/first": "Transpose", "flat": "Reshape", "cell": "MatMul"}, True),
        ({"batch": "IteratorGetNext", "cast": "Cast", "channels/first": "Transpose", "layer": "Conv2D"}, True),
        ({"fed": "Placeholder", "layer": "Conv2D", "moved": "Transpose", "next": "Conv2D"}, False),
    ],
)
def test_the_input_is_transposed_once_and_a_layout_is_kept(ops: dict[str, str], is_of_input: bool) -> None:
    """As a recurrent network does that takes its input with the time first."""
    fix = only(layout(chained(ops))).fix
    assert ("before training" in fix, "data_format" in fix) == (is_of_input, not is_of_input)


MINE = "/home/me/model.py"
SITE = "/venv/lib/python3.11/site-packages/"
LSTM = (MINE, f"{SITE}keras/src/layers/rnn/lstm.py", f"{SITE}keras/src/backend/tensorflow/rnn.py")
TENSORFLOW = f"{SITE}tensorflow/python/ops/array_ops.py"
OF_THE_USER = (MINE, f"{SITE}keras/src/layers/layer.py", MINE)


def made_in(stacks: dict[str, tuple[str, ...]]) -> Profile:
    """Three transposes of 100, 100 and 150 us, one of them a gradient, made in these files, outermost first."""
    ops = {"a/transpose": "Transpose", "gradients/a/transpose_grad/transpose": "Transpose", "b/transpose": "Transpose"}
    op_log = OpLogProto()
    files = {
        file: number for number, file in enumerate(dict.fromkeys(file for all_ in stacks.values() for file in all_))
    }
    op_log.id_to_string.update({number: file for file, number in files.items()})
    for name, stack in stacks.items():
        entry = op_log.log_entries.add(name=name)
        for file in stack:
            entry.code_def.traces.add(file_id=files[file], lineno=1, function_id=files[file])
    run = run_of(on_cpu(*((name, 1000, 150 if name.startswith("b/") else 100) for name in ops)))
    graph = GraphDef(node=[{"name": name, "op": op} for name, op in ops.items()])
    return Profile.from_protos(graph, [run], op_log)


A, GRADIENT, B = "a/transpose", "gradients/a/transpose_grad/transpose", "b/transpose"


def test_what_keras_transposes_in_its_layers_is_no_layout_of_the_users() -> None:
    fix = only(layout(made_in({A: (*LSTM, TENSORFLOW), GRADIENT: (MINE,), B: OF_THE_USER}))).fix
    assert "most of these ops are made in layers/rnn/lstm.py and not in your code" in fix
    assert "data_format" not in fix


@pytest.mark.parametrize(
    "wrapper",
    [
        f"{SITE}keras/src/tree/tree_api.py",
        f"{SITE}optree/ops.py",
        f"{SITE}wrapt/wrappers.py",
        "/usr/lib/python3.11/functools.py",
    ],
)
def test_the_layer_is_named_and_not_what_calls_its_functions(wrapper: str) -> None:
    """Keras's LSTM swaps batch and time of each of its inputs by `tree.map_structure`."""
    stack = (*LSTM, wrapper, LSTM[-1], TENSORFLOW)
    assert "made in layers/rnn/lstm.py" in only(layout(made_in({A: stack, B: (*LSTM, wrapper, TENSORFLOW)}))).fix


@pytest.mark.parametrize(
    "stacks",
    [
        {},
        {A: OF_THE_USER, GRADIENT: (f"{SITE}keras/src/trainers/trainer.py",), B: LSTM},
        {A: (*OF_THE_USER, f"{SITE}keras/src/ops/numpy.py", TENSORFLOW), GRADIENT: OF_THE_USER, B: LSTM},
    ],
)
def test_what_the_user_transposes_has_the_fix_of_a_layout(stacks: dict[str, tuple[str, ...]]) -> None:
    """Gradients are made by whoever made the op; what an op of Keras does for the user's layer is the user's."""
    assert "data_format" in only(layout(made_in(stacks))).fix
