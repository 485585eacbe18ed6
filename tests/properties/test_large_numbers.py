"""Numbers near 2**53 and 2**63: each engine is exact or refuses, with its reason, and never rounds silently."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

from tests.properties.columns import ran, with_nodes, with_totals
from tests.properties.two_engines import Question, answer_in_python, answers_in_typescript, in_units_of, new_seed
from tests.sketches import profile_of
from tfprof_widget.api.profile import Profile
from tfprof_widget.profiles.options import VIEWS

EXACT_IN_BROWSER, EXACT_IN_PYTHON = 2**53 - 1, 2**63 - 1
BYTES = ("requested_bytes", "peak_bytes", "residual_bytes", "output_bytes")
CLOCKS = ("accelerator_nanos", "cpu_nanos", "accelerator_micros", "cpu_micros")
# What it is about, the profile and the options.
Case = tuple[Any, Profile, dict[str, Any]]
MEASURED = {"bytes": "requested_bytes", "runs": "run_count", "micros": "cpu_nanos"}

ONE_STEP = """
    a   = Op(a/b) 1us | a.py:1:f
    a/b = Op(c)   1us | a.py:1:f > a.py:2:g
    c   = Add()   1us | a.py:3:h
"""


def answers(directory: Path, cases: Iterable[Case]) -> Iterator[tuple[Any, dict[str, Any], dict[str, Any]]]:
    """Each case, which is anything with a profile and options, with both engines' answers about every view."""
    asked = [(case, Question(profile, view, options)) for case, profile, options in cases for view in VIEWS]
    found = answers_in_typescript(directory, [question for _, question in asked])
    for (case, question), answer in zip(asked, found, strict=True):
        yield case, answer_in_python(question), answer


def test_what_python_counts_exactly_the_browser_counts_or_refuses(tmp_path: Path) -> None:
    sums = {
        (2**53 - 1, 0, 0): True,
        (2**52, 2**51, 2**51 - 1): True,
        (-(2**52), 2**52 - 1, 0): True,
        (2**53, 0, 0): False,  # one value
        (2**53 + 1, 0, 0): False,  # one that no double can hold
        (2**52, 2**52, 0): False,  # the total of a scope
        (2**52, 0, 2**52): False,  # the grand total alone
        (2**53 + 1, -(2**53), 0): False,  # what is large may cancel out
        (2**62, 2**61, 2**61 - 1): False,
    }
    cases: list[Case] = [
        ((measure, values), with_totals(ONE_STEP, **{column: list(values)}), {"step": step})
        for measure, column in MEASURED.items()
        for values in sums
        for step in (0, -1)
    ]
    for (measure, values), ours, answer in answers(tmp_path, cases):
        assert ours["grand_total"][measure] == sum(values)
        if sums[values]:
            assert answer == ours
        else:
            assert answer["refused"].startswith(f"{measure}: the values add up to 2**53 or more")


def test_what_64_bits_cannot_hold_is_refused_by_both(tmp_path: Path) -> None:
    sums = [[2**62, 2**62, 0], [2**63 - 1, 0, 1], [-(2**63), 0, 0], [2**62, 2**62, -(2**62)]]
    cases: list[Case] = [
        (measure, with_totals(ONE_STEP, **{column: values}), {"step": step})
        for measure, column in MEASURED.items()
        for values in sums
        for step in (0, -1)
    ]
    for measure, ours, answer in answers(tmp_path, cases):
        assert ours["refused"].startswith(f"{measure}: the values add up to more than 2**63 - 1")
        assert "2**53" in answer["refused"]


def test_two_clocks_that_fit_may_not_fit_together(tmp_path: Path) -> None:
    for half, limit in ((2**52, "2**53 or more"), (2**62, "2**63 - 1")):
        halves = {clock: [half] for clock in CLOCKS}
        for timing in ("exact", "tfprof"):
            for _, ours, answer in answers(tmp_path, [("", with_totals(ONE_STEP, **halves), {"timing": timing})]):
                told = answer if half == 2**52 else ours
                assert told["refused"].startswith("micros: ")
                assert limit in told["refused"]


def test_the_browsers_mean_is_exact_or_rounded_to_whole_bytes(tmp_path: Path) -> None:
    """The mean over 7 steps is in sevenths, as long as these fit."""
    sums = (EXACT_IN_BROWSER // 7, EXACT_IN_BROWSER // 7 + 1, EXACT_IN_BROWSER, EXACT_IN_BROWSER - 3)
    cases: list[Case] = [
        (total, with_totals(f"{ran(7)}\n{ran(2, 'b')}", requested_bytes=[0, total]), {}) for total in sums
    ]
    for total, ours, answer in answers(tmp_path, cases):
        mean, unit = Fraction(total, 7), 7 if 7 * total <= EXACT_IN_BROWSER else 1
        assert Fraction(ours["grand_total"]["bytes"], 7) == mean
        assert answer["unit"]["bytes"] == unit
        assert answer["grand_total"]["bytes"] == (mean * unit + Fraction(1, 2)) // 1


def test_the_browsers_largest_means_are_rounded_right(tmp_path: Path) -> None:
    """2**53 + 1 is a multiple of 107, but no double: half of 107 is not to be added to the sum before it is divided."""
    total = 2**53 + 1 - 53
    for _, ours, answer in answers(tmp_path, [("", with_totals(ran(107), requested_bytes=[total]), {})]):
        assert Fraction(ours["grand_total"]["bytes"], ours["unit"]["bytes"]) == Fraction(total, 107)
        assert answer["unit"]["bytes"] == 1
        assert answer["grand_total"]["bytes"] == (2**53 + 1) // 107


def test_float_operations_of_a_mean_of_runs_are_exact_or_rounded_to_whole_ones(tmp_path: Path) -> None:
    """The product of the operations and the runs may be beyond 2**53 though the mean is not."""
    rng = Random(1)
    cases: list[Case] = []
    sketch = f"{ran(9)}\n{ran(8, 'b')}"  # in 1 / 72
    for _ in range(200):
        runs = rng.randrange(2, 40)
        float_ops = rng.randrange(2**53 // runs, min(9 * 2**53 // runs, 2**53))
        profile = with_nodes(with_totals(sketch, run_count=[0, runs]), float_ops=[float_ops, 0])
        cases.append((Fraction(float_ops * runs, 9), profile, {}))
    for exact, ours, answer in answers(tmp_path, cases):
        assert Fraction(ours["grand_total"]["float_ops"], ours["unit"]["float_ops"]) == exact
        assert answer["unit"]["float_ops"] == 1
        assert answer["grand_total"]["float_ops"] == (exact + Fraction(1, 2)) // 1


def test_float_operations_that_no_double_holds_are_refused_though_their_mean_would_fit(tmp_path: Path) -> None:
    profile = with_nodes(with_totals(ran(2), run_count=[1, 0]), float_ops=[2**53 + 1])
    for _, ours, answer in answers(tmp_path, [("", profile, {})]):
        assert Fraction(ours["grand_total"]["float_ops"], ours["unit"]["float_ops"]) == Fraction(2**53 + 1, 2)
        assert answer["refused"].startswith("float_ops: the values add up to 2**53 or more")


def test_what_is_known_of_nodes_is_exact_or_refused(tmp_path: Path) -> None:
    sums = [[2**53 - 1, 0, 0], [2**52, 0, 2**52], [2**63 - 1024, 0, 0], [2**62, 2**62, 0]]
    cases: list[Case] = [
        ((measure, values), with_nodes(profile_of(ONE_STEP), **{column: values}), {})
        for measure, column in (("float_ops", "float_ops"), ("params", "parameters"))
        for values in sums
    ]
    for (measure, values), ours, answer in answers(tmp_path, cases):
        if sum(values) > EXACT_IN_PYTHON:
            assert ours["refused"].startswith(f"{measure}: ")
        else:
            assert ours["grand_total"][measure] == sum(values)
        if sum(values) > EXACT_IN_BROWSER:
            assert answer["refused"].startswith(f"{measure}: ")
        else:
            assert answer == ours


def test_random_large_numbers_are_exact_or_refused(tmp_path: Path) -> None:
    """One step, so that nothing is rounded: the browser's rows are Python's, or a sum has 2**53 or more."""
    seed = new_seed()
    rng = Random(seed)
    cases: list[Case] = []
    for _ in range(60):
        columns = {column: _large(rng) for column in (*CLOCKS, *BYTES, "run_count")}
        cases.append((columns, with_totals(ONE_STEP, **columns), _options(rng)))
    refused = 0
    for columns, ours, answer in answers(tmp_path, cases):
        where = f"seed {seed}: {columns}"
        if "refused" in answer:
            refused += 1
            assert _most(columns) > EXACT_IN_BROWSER, where
        else:
            assert answer == in_units_of(ours, answer["unit"]), where
    assert 0 < refused < len(VIEWS) * len(cases)


def _large(rng: Random) -> list[int]:
    """Three values whose sum is near a power of two, or small ones."""
    limit = rng.choice((2**53 - 1, 2**53 - 1, 2**53, 2**63 - 1)) if rng.random() < 0.4 else 1000
    first, second = rng.randrange(limit // 2), rng.randrange(limit // 2)
    return [first, second, limit - first - second]


def _options(rng: Random) -> dict[str, Any]:
    return {
        "step": 0,
        "order_by": rng.choice(("name", "bytes", "micros", "peak_bytes")),
        "min_bytes": rng.choice((0, 1, 2**52, 2**53 - 1)),
        "timing": rng.choice(("exact", "tfprof")),
        "account_displayed_op_only": rng.random() < 0.3,
    }


def _most(columns: dict[str, list[int]]) -> int:
    """The largest sum of a measure by either clock; both clocks' times are two columns."""
    sums = {name: sum(values) for name, values in columns.items()}
    nanos, micros = (sums[f"accelerator_{unit}"] + sums[f"cpu_{unit}"] for unit in ("nanos", "micros"))
    return max(*sums.values(), nanos, micros)
