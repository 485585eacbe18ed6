"""Bytes that ops move, by hand: shapes times the width of their types, and of what an op does not touch nothing."""

from __future__ import annotations

import pytest

from tests.sketches import shaped
from tfprof_widget.ingest.flops.moved import count_moved, moved_by
from tfprof_widget.ingest.flops.operation import Operation

FLOAT, DOUBLE, INT32, INT64, HALF = 1, 2, 3, 9, 19


@pytest.mark.parametrize(
    ("op", "inputs", "outputs", "attributes", "wanted"),
    [
        ("MatMul", ((64, 32), (32, 16)), ((64, 16),), {"T": FLOAT}, 4 * (64 * 32 + 32 * 16 + 64 * 16)),
        ("MatMul", ((64, 32), (32, 16)), ((64, 16),), {"T": HALF}, 2 * (64 * 32 + 32 * 16 + 64 * 16)),
        ("_MklMatMul", ((8, 8), (8, 8)), ((8, 8),), {"T": DOUBLE}, 8 * 3 * 64),
        ("AddV2", ((1024,), (1024,)), ((1024,),), {"T": FLOAT}, 4 * 3 * 1024),
        ("Cast", ((100,),), ((100,),), {"SrcT": INT32, "DstT": HALF}, 400 + 200),
        ("Less", ((100,), (1,)), ((100,),), {"T": DOUBLE}, 808 + 100),
        ("ArgMax", ((10, 10), (1,)), ((10,),), {"T": FLOAT, "output_type": INT64}, 404 + 80),
        ("Transpose", ((10, 20), (2,)), ((20, 10),), {"T": FLOAT}, 808 + 800),
        # Ten of a thousand rows are gathered: the others are not read.
        ("GatherV2", ((1000, 8), (10,), (1,)), ((10, 8),), {"Tparams": FLOAT}, 2 * 320 + 44),
        ("StridedSlice", ((1000, 8), (2,), (2,), (2,)), ((5, 8),), {"T": FLOAT}, 2 * 160 + 24),
        # The variable and both moments are read and written; the gradient and six numbers are read.
        ("ResourceApplyAdam", ((1,),) * 9 + ((50, 2),), (), {"T": FLOAT}, 4 * (3 * 2 * 100 + 100 + 6)),
        ("ResourceApplyGradientDescent", ((1,), (1,), (50, 2)), (), {"T": FLOAT}, 4 * (2 * 100 + 100 + 1)),
        ("AssignAddVariableOp", ((1,), (100,)), (), {"dtype": FLOAT}, 4 * 3 * 100),
        ("Reshape", ((10, 20), (1,)), ((200,),), {"T": FLOAT}, 0),
        ("ReadVariableOp", ((1,),), ((10, 20),), {"dtype": FLOAT}, 0),
        ("StatefulPartitionedCall", ((10,),), ((10,),), {}, 0),
        ("Relu", ((-1, 3),), ((2, 3),), {"T": FLOAT}, -1),
        ("Relu", (None,), ((2, 3),), {"T": FLOAT}, -1),
        ("IteratorGetNext", ((1,),), ((8, 8),), {}, -1),
        ("Mystery", (), (), {}, -1),
    ],
)
def test_bytes_by_hand(
    op: str, inputs: tuple[object, ...], outputs: tuple[object, ...], attributes: dict[str, int], wanted: int
) -> None:
    assert moved_by(Operation(op, inputs, outputs, attributes)) == wanted  # type: ignore[arg-type]


def test_types_that_a_run_tells_are_preferred() -> None:
    gathered = Operation("GatherV2", ((1000, 8), (10,), (1,)), ((10, 8),), {"Tparams": FLOAT})
    assert moved_by(gathered, (FLOAT, INT64, INT32)) == 2 * 320 + 80 + 4


def test_nodes_count_what_their_sources_put_out() -> None:
    profile = shaped(
        """
        a = Placeholder()
        b = Placeholder()
        c = MatMul(a, b) 5us;7us
        d = Relu(c)      1us;1us
        e = Mystery(d)   1us;1us
        """,
        a=(8, 4),
        b=(4, 2),
        c=(8, 2),
        d=(8, 2),
    )
    moved = count_moved(profile)
    assert dict(zip(profile.nodes.names, moved.of_one_run.tolist(), strict=True)) == {
        "a": 0,
        "b": 0,
        "c": 4 * (32 + 8 + 16),
        "d": 4 * (16 + 16),
        "e": 4 * 16,
    }
    known = dict(zip(profile.nodes.names, moved.is_known.tolist(), strict=True))
    assert (known["c"], known["d"], known["e"]) == (True, True, False)
