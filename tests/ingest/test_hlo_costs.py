"""Float operations of XLA's ops, counted by hand, and as XLA's own model of GPUs counts them in real recordings."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

import tfprof_widget as tfprof
from tests.analysis.test_device_steps import COMPUTE, GPU, profile_of
from tests.ingest.spaces import Space
from tests.ingest.test_recordings import FOLDER
from tests.ingest.test_xspace_accelerators import add_program
from tfprof_widget.ingest.xspace.hlo import float_ops_of, number_of, read_programs
from tfprof_widget.lib.messages import HloModuleProto, XSpace

IMAGE, FILTER = {"dimensions": [1, 3, 8]}, {"dimensions": [5, 3, 2]}  # batch or outputs, channels, space
NUMBERS = {
    "input_batch_dimension": 0,
    "input_spatial_dimensions": [2],
    "output_spatial_dimensions": [2],
    "kernel_output_feature_dimension": 0,
    "kernel_spatial_dimensions": [2],
}


def counted(op: dict[str, Any], *operands: dict[str, Any], inside: tuple[dict[str, Any], ...] = ()) -> int:
    """The float operations of an op, which calls a computation of the ops `inside`."""
    sources = [{"opcode": "parameter", "shape": shape, "id": 10 + at} for at, shape in enumerate(operands)]
    own = {"id": 1, "operand_ids": [each["id"] for each in sources], "called_computation_ids": [7], **op}
    called = {"id": 7, "instructions": [{"id": 100 + at, **each} for at, each in enumerate(inside)]}
    module = HloModuleProto(computations=[{"id": 1, "instructions": [*sources, own]}, called])
    return float_ops_of(module)(module.computations[0].instructions[-1])


def shaped(*dimensions: int) -> dict[str, Any]:
    return {"dimensions": dimensions}


def window(**more: int) -> dict[str, Any]:
    return {"dimensions": [{"size": 2, "stride": 1, "window_dilation": 1, "base_dilation": 1, **more}]}


def test_a_product_is_two_for_each_multiply_accumulate() -> None:
    product = {"opcode": "dot", "dot_dimension_numbers": {"lhs_contracting_dimensions": [1]}, "shape": shaped(4, 6)}
    assert counted(product, shaped(4, 10), shaped(10, 6)) == 2 * 4 * 6 * 10


@pytest.mark.parametrize("target", ["__cublas$gemm", "__cublas$lt$matmul$f8"])
def test_a_product_by_a_library_has_working_memory_beside_it(target: str) -> None:
    shape = {"tuple_shapes": [shaped(2, 4, 6), shaped(67_108_864)]}
    call = {"opcode": "custom-call", "custom_call_target": target, "shape": shape}
    assert counted(call, shaped(2, 4, 10), shaped(2, 10, 6)) == 2 * 2 * 4 * 6 * 10


def test_a_call_of_something_else_is_not_counted() -> None:
    call = {"opcode": "custom-call", "custom_call_target": "te_fused_attn_forward_ffi", "shape": shaped(4, 6)}
    assert counted(call, shaped(4, 10), shaped(10, 6)) == 0


@pytest.mark.parametrize(
    ("more", "results", "positions"),
    [
        ({}, 7, 14),
        ({"padding_low": 1, "padding_high": 1}, 9, 16),  # of 18 two are padding
        ({"stride": 2}, 4, 8),
        ({"window_dilation": 3}, 5, 10),
        ({"base_dilation": 2}, 14, 14),  # every other place is a hole
    ],
    ids=["plain", "padded", "strided", "dilated", "of a gradient"],
)
def test_a_convolution_counts_where_the_window_meets_the_image(
    more: dict[str, int], results: int, positions: int
) -> None:
    shape = {"tuple_shapes": [shaped(1, 5, results), shaped(64)]}
    named = {"window": window(**more), "convolution_dimension_numbers": NUMBERS}
    call = {"opcode": "custom-call", "custom_call_target": "__cudnn$convForward", "shape": shape, **named}
    plain = {"opcode": "convolution", "shape": shaped(1, 5, results), **named}
    for each in (call, plain):
        assert counted(each, IMAGE, FILTER) == 2 * 5 * 3 * positions


@pytest.mark.parametrize(
    ("target", "operands", "result"),
    [
        ("__cudnn$convBackwardInput", (shaped(1, 5, 7), FILTER), IMAGE),
        ("__cudnn$convBackwardFilter", (IMAGE, shaped(1, 5, 7)), FILTER),
    ],
)
def test_a_gradient_of_a_convolution_is_as_large(target: str, operands: Any, result: dict[str, Any]) -> None:
    call = {"opcode": "custom-call", "custom_call_target": target, "shape": {"tuple_shapes": [result]}}
    named = {"window": window(), "convolution_dimension_numbers": NUMBERS}
    assert counted(call | named, *operands) == 2 * 5 * 3 * 14


def test_elements_and_reductions_inside_a_fusion() -> None:
    """XLA's model of GPUs takes an elementwise op for three; what moves data counts nothing."""
    inside = ({"opcode": "add", "shape": shaped(4, 6)}, {"opcode": "transpose", "shape": shaped(6, 4)})
    assert counted({"opcode": "fusion", "shape": shaped(6, 4)}, inside=inside) == 3 * 4 * 6
    assert counted({"opcode": "reduce", "shape": shaped(4)}, shaped(4, 6), shaped(), inside=inside[:1]) == 20 * 72


def test_windows_that_are_reduced_and_what_is_joined() -> None:
    """As XLA counts: of a window all elements but one are added; an element that is joined is six operations."""
    added = ({"opcode": "add", "shape": shaped()},)
    sums = {"opcode": "reduce-window", "shape": shaped(2, 5), "window": {"dimensions": [{"size": 3}, {"size": 2}]}}
    assert counted(sums, shaped(4, 6), shaped(), inside=added) == 2 * 5 * (3 * 2 - 1) * 3
    assert counted({"opcode": "concatenate", "shape": shaped(3)}, shaped(1), shaped(2)) == 3 * 6


@pytest.mark.parametrize(
    "op",
    [
        {"opcode": "dot", "dot_dimension_numbers": {"lhs_contracting_dimensions": [9]}, "shape": shaped(4)},
        {"opcode": "dot", "dot_dimension_numbers": {"lhs_contracting_dimensions": [-1]}, "shape": shaped(4)},
        {"opcode": "custom-call", "custom_call_target": "__cublas$gemm", "shape": shaped(3, 3), "operand_ids": [77]},
        {"opcode": "multiply", "shape": shaped(2**40, 2**40)},
        {"opcode": "add", "shape": shaped(-5)},
        {"opcode": "custom-call", "custom_call_target": "__cublas$gemm", "shape": shaped(-2, 2)},
    ],
)
def test_what_is_damaged_counts_nothing(op: dict[str, Any]) -> None:
    assert counted(op, shaped(4), shaped(4)) == 0


def test_a_window_without_measure_is_damaged() -> None:
    op = {"opcode": "convolution", "window": window(size=2**40), "convolution_dimension_numbers": NUMBERS}
    assert counted({**op, "shape": shaped(1, 5, 2**40)}, IMAGE, FILTER) == 0


def test_a_computation_that_calls_itself_is_damaged() -> None:
    inside = ({"opcode": "fusion", "called_computation_ids": [7]},)
    assert counted({"opcode": "fusion"}, inside=inside) == 0


@pytest.mark.parametrize("kernels", [("gemm",), ("im2col", "gemm")], ids=["one kernel", "two kernels"])
def test_an_op_that_runs_several_kernels_does_its_work_once(kernels: tuple[str, ...]) -> None:
    space = Space()
    shape = {"dimensions": [10, 100]}
    add_program(space, 77, {"name": "fusion.1", "opcode": "add", "shape": shape, "metadata": {"op_name": "jit(f)/add"}})
    for run in range(3):
        for number, kernel in enumerate(kernels):
            stats = {"hlo_op": "fusion.1", "hlo_module": "jit_f", "program_id": 77, "tf_op": "XlaModule:"}
            space.add(COMPUTE, kernel, 1000 + 2000 * run + 500 * number, 300, GPU, **stats)
    view = profile_of(space).view("op")
    assert view.total["float_ops"][view.names.index("add")] == 3 * 3000


F32, BF16, S8, PRED = 11, 16, 2, 1
"""Of XLA's xla_data.proto."""


def of_type(element_type: int, *dimensions: int) -> dict[str, Any]:
    return {"element_type": element_type, "dimensions": dimensions}


@pytest.mark.parametrize(
    ("op", "accessed"),
    [
        ({"opcode": "add", "shape": of_type(F32, 10)}, 4 * 10 + 2 * 6 + 3),
        ({"opcode": "fusion", "shape": {"tuple_shapes": [of_type(F32, 10), of_type(PRED, 5)]}}, 4 * 10 + 5 + 2 * 6 + 3),
        (
            {
                "opcode": "custom-call",
                "custom_call_target": "__cublas$gemm",
                "shape": {"tuple_shapes": [of_type(BF16, 10), of_type(S8, 67_108_864)]},
            },
            2 * 10 + 2 * 6 + 3,
        ),
        ({"opcode": "custom-call", "custom_call_target": "te_fused_attn_forward_ffi", "shape": of_type(F32, 9)}, 0),
        ({"opcode": "while", "shape": of_type(F32, 10)}, 0),
        ({"opcode": "add", "shape": of_type(F32, -5)}, 0),
        ({"opcode": "add", "shape": of_type(F32, 2**62)}, 0),
    ],
    ids=["of each type", "several results", "library", "of something else", "loop", "damaged", "too many"],
)
def test_an_op_reads_its_operands_and_writes_its_results(op: dict[str, Any], accessed: int, tmp_path: Path) -> None:
    """A library has its working memory beside them; two kernels do the work of an op together."""
    space = Space()
    parameters = [
        {"name": "p.1", "opcode": "parameter", "shape": of_type(BF16, 6), "id": 1},
        {"name": "p.2", "opcode": "parameter", "shape": of_type(S8, 3), "id": 2},
    ]
    add_program(space, 77, *parameters, {"name": "op.1", "id": 3, "operand_ids": [1, 2], **op})
    stats = {"hlo_op": "op.1", "hlo_module": "jit_f", "program_id": 77, "tf_op": "XlaModule:"}
    for number in range(2):
        space.add(COMPUTE, f"part_{number}", 1000 + 500 * number, 300, GPU, **stats)
    profile = profile_of(space)
    profile.save(tmp_path / "saved")
    for each in (profile, tfprof.load(tmp_path / "saved")):
        assert each.device_kernels()["accessed_bytes"].tolist() == [accessed // 2] * 2


COUNTED = sorted(path.parent for path in FOLDER.glob("jax-*/hlo_stats.tsv") if "tpu" not in path.parent.name)


@pytest.mark.skipif(not COUNTED, reason=f"there are no recordings in {FOLDER}, which is kept beside the repository")
def test_real_recordings_have_as_many_as_xprof_tells() -> None:
    """Of products by libraries it tells none, and of a concatenation of three integers too many."""
    compared = 0
    for folder in COUNTED:
        programs = read_programs(XSpace.FromString((folder / "recording.xplane.pb").read_bytes()))
        with (folder / "hlo_stats.tsv").open() as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                theirs = float(row["model_flop_rate"]) * float(row["avg_time"]) * 1000
                if theirs and row["hlo_op_name"] != "input_concatenate_fusion":
                    ours = programs[number_of(int(row["program_id"]))][row["hlo_op_name"]].float_ops
                    assert ours == pytest.approx(theirs, rel=0.01), row["hlo_op_name"]
                    compared += 1
    assert compared == 16
