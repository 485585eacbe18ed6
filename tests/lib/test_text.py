"""Numbers as native tfprof prints them, at the edges between its units, and in parts of a unit as only we have them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.oracle.native import NativeAnswer, NativeTfprof, Request
from tests.oracle.random_options import DEFAULTS, options_proto
from tests.sketches import protos_of
from tfprof_widget.lib.text import whole, written_bytes, written_count, written_exactly, written_time

EDGES = (0, 1, 999, 1000, 1004, 1005, 1234, 999_994, 999_995, 999_999, 10**6, 1_005_000, 999_999_999, 10**9, 5 * 10**12)


@pytest.mark.parametrize(
    ("written", "values"),
    [
        (written_count, {0: "0", 999: "999", 1000: "1.00k", 1234: "1.23k", 999_999: "1000.00k", 10**6: "1.00m"}),
        (
            written_count,
            {603_979_776: "603.98m", 17_630_000_000: "17.63b", 5 * 10**12: "5000.00b", -5: "-5", -5000: "-5000"},
        ),
        (
            written_time,
            {0: "0us", 999: "999us", 1000: "1.00ms", 54_960: "54.96ms", 3_610_000: "3.61sec", 10**9: "1000.00sec"},
        ),
        (
            written_bytes,
            {0: "0B", 999: "999B", 1000: "1.00KB", 1234: "1.23KB", 10**6: "1.00MB", 5 * 10**9: "5000.00MB"},
        ),
        (written_exactly, {0: "0", 12345: "12345", 10**9: "1000000000"}),
    ],
)
def test_whole_numbers(written: Callable[[int], str], values: dict[int, str]) -> None:
    assert {value: written(value) for value in values} == values


@pytest.mark.parametrize(
    ("column", "sketch", "written", "values"),
    [
        (
            "params",
            "x = Op() {}",
            lambda value: f"{value}, {written_count(value)}/{written_count(value)} params",
            EDGES[1:],
        ),
        ("float_ops", "x = Op() {}flops", lambda value: f"{written_count(value)}/{written_count(value)} flops", EDGES),
        ("bytes", "x = Op() 1us {}B", lambda value: f"{written_bytes(value)}/{written_bytes(value)}", EDGES),
        ("cpu_micros", "x = Op() {}us", lambda value: f"{written_time(value)}/{written_time(value)}", EDGES[1:]),
    ],
    ids=["params", "float_ops", "bytes", "cpu_micros"],
)
def test_native_prints_them_so(
    native: NativeTfprof, column: str, sketch: str, written: Callable[[int], str], values: tuple[int, ...]
) -> None:
    for value in values:
        graph, run_metas, op_log = protos_of(sketch.format(value))
        run_meta = run_metas[0].SerializeToString() if run_metas else b""
        request = Request("scope", options_proto(DEFAULTS | {"select": [column]}))
        answer = native.analyze(request, graph.SerializeToString(), run_meta, op_log.SerializeToString())
        assert isinstance(answer, NativeAnswer)
        assert f"\n  x ({written(value)})\n" in answer.stdout.decode()


@pytest.mark.parametrize(
    ("value", "scale", "text"),
    [
        (3, 2, "1.50"),
        (4, 2, "2"),
        (1, 3, "0.33"),
        (2_468, 2, "1.23k"),
        (1_999, 2, "999.50"),
        (-3, 2, "-1.50"),
    ],
)
def test_counts_in_parts(value: int, scale: int, text: str) -> None:
    assert written_count(value, scale) == text


@pytest.mark.parametrize(
    ("value", "scale", "text"),
    [
        (532, 1000, "532ns"),
        (0, 1000, "0ns"),
        (999, 1000, "999ns"),
        (1000, 1000, "1us"),
        (1_500, 1000, "1.50us"),
        (999_999, 1000, "1000.00us"),
        (1_000_000, 1000, "1.00ms"),
        (3_610_000_000, 1000, "3.61sec"),
        (1, 3000, "0.33ns"),
        (1500, 3000, "500ns"),
        (-532, 1000, "-532ns"),
    ],
)
def test_times_in_parts_of_a_microsecond(value: int, scale: int, text: str) -> None:
    assert written_time(value, scale) == text


def test_memory_in_parts() -> None:
    assert written_bytes(3, 2) == "1.50B"
    assert written_bytes(2_468, 2) == "1.23KB"


def test_no_digit_of_a_large_number_is_lost_to_a_float() -> None:
    assert written_exactly(2**63 - 1) == "9223372036854775807"
    assert written_exactly((2**62 - 1) * 2, 2) == str(2**62 - 1)


@pytest.mark.parametrize(
    ("value", "scale", "rounded"),
    [(1499, 1000, 1), (1500, 1000, 2), (0, 7, 0), (-1500, 1000, -1), (-1501, 1000, -2), (2**62, 1, 2**62)],
)
def test_the_nearest_whole_number(value: int, scale: int, rounded: int) -> None:
    assert whole(value, scale) == rounded
