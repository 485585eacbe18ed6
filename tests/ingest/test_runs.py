"""Columns come out of packing as they went in, whatever their values, and take few bytes meanwhile."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfprof_widget.ingest.parts.runs import PackedColumn, PackedColumns, constant_as_one

KINDS = {"int64": (-(2**63), 2**63 - 1), "uint64": (0, 2**64 - 1), "int32": (-(2**31), 2**31 - 1), "bool": (0, 1)}
COLUMNS = st.sampled_from(sorted(KINDS)).flatmap(
    lambda kind: st.lists(st.integers(*KINDS[kind]), max_size=8).map(lambda values: np.array(values, kind))
)


@given(COLUMNS)
def test_all_values_come_back(values: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = pickle.loads(pickle.dumps(PackedColumn.of(values))).whole()
    assert whole.dtype == values.dtype
    assert whole.tolist() == values.tolist()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([10**18, 10**18 + 255], "uint8"),
        ([10**18, 10**18 + 256], "uint16"),
        ([-(2**31), 2**31 - 1], "uint32"),
        ([-1, 2**32 - 1], "uint64"),
        ([-(2**63), 2**63 - 1], "uint64"),
    ],
)
def test_the_narrowest_kind_that_holds_all_is_taken(values: list[int], kind: str) -> None:
    column = PackedColumn.of(np.array(values, np.int64))
    assert column.beyond is not None
    assert column.beyond.dtype == kind


def test_one_value_throughout_takes_no_array() -> None:
    columns = PackedColumns.of({"nothing": np.zeros(1000, np.int64), "flags": np.ones(3, np.bool_)})
    assert [column.beyond for column in columns.columns.values()] == [None, None]
    assert columns["nothing"].strides == (0,)
    assert columns["flags"].tolist() == [True] * 3


@given(COLUMNS)
def test_what_is_held_once_reads_the_same(values: Any) -> None:
    held = constant_as_one(values)
    assert held.dtype == values.dtype
    assert held.tolist() == values.tolist()
    if len(values) > 1:
        assert (held.strides == (0,)) == (len(set(values.tolist())) == 1)
