"""All advice on a profile: what has been found, and that the rest has been looked for."""

from __future__ import annotations

from tests.sketches import profile_of


def test_only_checkers_that_found_something_are_printed() -> None:
    advice = profile_of("a = MatMul() 3us").advice()
    assert advice.text() == (
        "ExpensiveOperationChecker:\n"
        "top 1 operation type: MatMul, cpu: 3us, accelerator: 0ns, total: 3us (100.00%)\n"
        "top 1 graph node: a, cpu: 3us, accelerator: 0ns, total: 3us (100.00%)\n"
        "\n"
        f"{len(advice.reports) - 1} other checkers found nothing."
    )


def test_without_a_run_nothing_is_found_and_nothing_is_warned_of() -> None:
    advice = profile_of("a = MatMul()").advice()
    assert str(advice) == f"{len(advice.reports)} checkers found nothing."
