"""Which checkers run, what is printed, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import pytest

import tfprof_widget as tfprof
from tests.analysis.advisor.advice import CHECKERS, graph_of, run_of, same_advice
from tests.oracle.native import NativeTfprof

GRAPH = graph_of({"BatchNorm": "Mul"})
RUN = run_of({"/gpu:0": [("BatchNorm", 1000, 10)]})

pytestmark = pytest.mark.filterwarnings("ignore:ExpensiveOperationChecker:tfprof_widget.ProfileWarning")


@pytest.mark.parametrize("checker", CHECKERS)
def test_only_what_is_asked_for_runs(native: NativeTfprof, checker: str) -> None:
    expected = [checker] if checker != "JobChecker" else []  # native's never left Google
    assert list(same_advice(native, GRAPH, [RUN], checkers=[checker])) == expected


def test_nothing_is_asked_for(native: NativeTfprof) -> None:
    assert same_advice(native, GRAPH, [RUN], checkers=[]) == {}


def test_printed_in_the_order_of_names(capsys: pytest.CaptureFixture[str]) -> None:
    tfprof.advise(GRAPH, RUN)
    assert capsys.readouterr().out == (
        "\nAcceleratorUtilizationChecker:\n"
        "device: /gpu:0 low utilization: 0.00\n"
        "\nExpensiveOperationChecker:\n"
        "top 1 operation type: Mul, cpu: 10us, accelerator: 0us, total: 10us (100.00%)\n"
        "\nOperationChecker:\n"
        "Maybe use faster FusedBatchNorm instead of BatchNorm\n"
    )


def test_a_profiler_advises_on_its_steps() -> None:
    profiler = tfprof.Profiler(GRAPH)
    profiler.add_step(4, RUN)
    assert profiler.advise({"AcceleratorUtilizationChecker": {}}) == tfprof.advise(
        GRAPH, RUN, {"AcceleratorUtilizationChecker": {}}
    )


def test_the_options_have_an_older_name() -> None:
    chosen: dict[str, dict[str, str]] = {"AcceleratorUtilizationChecker": {}}
    assert tfprof.advise(GRAPH, RUN, tfprof_options=chosen) == tfprof.advise(GRAPH, RUN, chosen)


def test_a_warning_points_to_the_caller() -> None:
    with pytest.warns(tfprof.ProfileWarning, match="ExpensiveOperationChecker") as caught:
        tfprof.advise(GRAPH, RUN)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"OperationCheker": {}}, "there is no checker 'OperationCheker'; choose from Accelerator.*, Oper"),
        (["OperationChecker"], r"options is \['OperationChecker'\], but must be a dict.*; the checkers are Acc"),
        ("OperationChecker", "options is 'OperationChecker', but must be a dict"),
        ({"OperationChecker": None}, "the options of OperationChecker are None, but it takes none"),
        ({"JobChecker": {"a": "b"}}, re.escape("the options of JobChecker are {'a': 'b'}, but it takes none")),
    ],
)
def test_wrong_options(capsys: pytest.CaptureFixture[str], options: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        tfprof.advise(GRAPH, RUN, options)
    assert capsys.readouterr().out == ""
