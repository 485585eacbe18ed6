"""The advice on ops with a faster equivalent, against what the tfprof documents say and native tfprof."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tensorflow.core.framework import graph_pb2

from tests.analysis.advisor.advice import graph_of, run_of, same_advice
from tests.oracle.native import NativeTfprof
from tfprof_widget.analysis.advisor.runner import advice_on
from tfprof_widget.api.profile import Profile
from tfprof_widget.lib.messages import GraphDef, OpLogProto

FUSE = "Maybe use faster FusedBatchNorm instead of BatchNorm"
TRANSPOSE = "Found operation using NHWC data_format on GPU. Maybe NCHW is faster."


def operations(native: NativeTfprof, graph: Any, *steps: Any, op_log: Any = None) -> list[str]:
    return same_advice(native, graph, steps, op_log, ["OperationChecker"])["OperationChecker"]


@pytest.mark.parametrize(
    ("ops", "reports"),
    [
        ({"conv/BatchNorm/mul": "Mul"}, [FUSE]),
        ({"conv/MyBatchNorm_1": "Mul"}, [FUSE]),
        ({"conv/BatchNorm/mul": "Mul", "bn": "FusedBatchNorm"}, []),
        ({"conv/BatchNorm": "FusedBatchNormV3"}, [FUSE]),  # native has not heard of it, and so do we say
        ({"conv/batchnorm/mul": "Mul"}, []),
        ({}, []),
    ],
)
def test_batch_norm_of_many_ops(native: NativeTfprof, ops: Mapping[str, str], reports: list[str]) -> None:
    assert operations(native, graph_of(ops)) == reports


def test_a_type_of_the_op_log_may_name_the_fused_one(native: NativeTfprof) -> None:
    graph = graph_of({"BatchNorm": "Mul"})
    op_log = OpLogProto(log_entries=[{"name": "BatchNorm", "types": ["FusedBatchNorm"]}])
    assert operations(native, graph, op_log=op_log) == []


def convolution(data_format: Mapping[str, Any]) -> GraphDef:
    graph = graph_of({"conv": "Conv2D", "rest": "NoOp"})
    for field, value in data_format.items():
        setattr(graph.node[0].attr["data_format"], field, value)
    return graph


@pytest.mark.parametrize(
    ("data_format", "device", "reports"),
    [
        ({"s": b"NHWC"}, "/device:GPU:0", [TRANSPOSE]),
        ({"s": b"NCHW"}, "/device:GPU:0", []),
        ({"s": b"NHWC"}, "/device:CPU:0", []),
        ({"s": b"NHWC"}, "/device:GPU:0/stream:all", []),  # no device of its own
        ({"i": 3}, "/device:GPU:0", []),
        ({}, "/device:GPU:0", []),
    ],
)
def test_channels_last_on_a_gpu(
    native: NativeTfprof, data_format: Mapping[str, Any], device: str, reports: list[str]
) -> None:
    graph, run_meta = convolution(data_format), run_of({device: [("conv", 1000, 10)]})
    assert operations(native, graph, run_meta) == reports
    theirs = graph_pb2.GraphDef.FromString(graph.SerializeToString())
    assert operations(native, theirs, run_meta) == reports


def test_channels_last_elsewhere(native: NativeTfprof) -> None:
    run_meta = run_of({"/gpu:0": [("rest", 1000, 10)], "/cpu:0": [("conv", 1000, 10)]})
    assert operations(native, convolution({"s": b"NHWC"}), run_meta) == []


def test_of_two_nodes_of_a_name_the_first_counts(native: NativeTfprof) -> None:
    run_meta = run_of({"/gpu:0": [("conv", 1000, 10)]})
    first, last = convolution({"s": b"NHWC"}), convolution({"s": b"NCHW"})
    assert operations(native, GraphDef(node=[*first.node, *last.node]), run_meta) == [TRANSPOSE]
    assert operations(native, GraphDef(node=[*last.node, *first.node]), run_meta) == []


def test_both(native: NativeTfprof) -> None:
    graph = convolution({"s": b"NHWC"})
    graph.node[1].name = "BatchNorm"
    assert operations(native, graph, run_of({"/gpu:0": [("conv", 1000, 10)]})) == [FUSE, TRANSPOSE]


@pytest.mark.parametrize(
    ("ops", "reports"),
    [
        ({"conv/BatchNorm": "FusedBatchNormV3"}, []),
        ({"conv/BatchNorm": "_FusedBatchNormEx"}, []),
        ({"conv/BatchNorm/mul": "Mul"}, [FUSE]),
    ],
)
def test_for_people_every_version_of_the_fused_one_counts(ops: Mapping[str, str], reports: list[str]) -> None:
    """As TensorFlow 2 names it: native tfprof advises to replace it by itself."""
    profile = Profile.from_protos(graph_of(ops))
    assert advice_on(profile).reports["OperationChecker"] == tuple(reports)
