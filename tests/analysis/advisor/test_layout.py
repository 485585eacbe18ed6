"""Transposing and padding, on profiles worked out by hand."""

from __future__ import annotations

import pytest

from tests.analysis.advisor.findings import on_cpu, only, ran, shown
from tfprof_widget.analysis.advisor.slow_ops import layout


@pytest.mark.parametrize(
    ("op", "what"),
    [
        ("Transpose", "to transpose tensors, which computes nothing"),
        ("ConjugateTranspose", "to transpose tensors, which computes nothing"),
        ("_MklTranspose", "to transpose tensors, which computes nothing"),
        ("Pad", "to pad tensors, and what follows computes on the padding"),
        ("PadV2", "to pad tensors, and what follows computes on the padding"),
        ("MirrorPad", "to pad tensors, and what follows computes on the padding"),
    ],
)
def test_a_tenth_of_the_time(op: str, what: str) -> None:
    profile = ran({"conv": "Conv2D", "moved": op}, on_cpu(("conv", 1000, 900), ("moved", 1900, 100)))
    finding = only(layout(profile))
    assert finding.cause == f"10% of the op time is spent {what}."
    assert shown(profile, finding) == [op]


@pytest.mark.parametrize("op", ["Transpose", "Pad"])
def test_less_than_a_tenth(op: str) -> None:
    ops = {"conv": "Conv2D", "moved": op}
    assert not list(layout(ran(ops, on_cpu(("conv", 1000, 901), ("moved", 1901, 99)))))


@pytest.mark.parametrize("op", ["Conv2DBackpropInput", "Reshape", "PaddingFIFOQueueV2", "TransposeLater"])
def test_ops_that_do_something_else(op: str) -> None:
    assert not list(layout(ran({"other": op}, on_cpu(("other", 1000, 900)))))
