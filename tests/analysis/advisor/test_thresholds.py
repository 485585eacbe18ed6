"""The page on advice names each threshold of each checker, as it is in the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tfprof_widget
from tfprof_widget.analysis import steady
from tfprof_widget.analysis.account import pipeline
from tfprof_widget.analysis.account import python as account
from tfprof_widget.analysis.advisor import cell_time, cluster, costliest, input_wait, slow_ops, waiting
from tfprof_widget.analysis.advisor.finding import LEAST_OF_CELL
from tfprof_widget.analysis.advisor.runner import OWN
from tfprof_widget.capturing import python_sampler

ROOT = Path(tfprof_widget.__file__).parent.parent
PAGE = (ROOT / "docs" / "advise.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", PAGE, re.MULTILINE))


def percent(share: float) -> str:
    return f"{share * 100:g} %"


ELSEWHERE = {
    "advisor/cluster.py": {"SLOW_LINK", "FEWEST_BYTES"},  # what ClusterChecker names: docs/distributed.md
    "advisor/cell_time.py": {"MOST_OF_A_LOOK"},  # part of the standard error, which is told below the table
    "advisor/slow_ops.py": {"MOST_CORES"},  # where the machine is not known
    "advisor/costliest.py": {"DEEPEST", "LEAST_MICROS_OF_A_LINE", "LOW", "MOST"},  # native tfprof's own
    "account/pipeline.py": {"WAITED"},  # less than what is worth saying of a cell
    "steady.py": {"MOST_SELECTED"},  # a number of rows, and no threshold
}
TOLD = {
    "DeviceIdleChecker": (
        f"{percent(waiting.IDLE_SHARE)} of the steps",
        f"gaps from {waiting.ACCELERATOR_GAP_NANOS / 1e6:g} ms on (host: {waiting.HOST_GAP_NANOS / 1e6:g} ms)",
        f"if shorter ones take {percent(waiting.MORE_IN_SHORT_GAPS)} more",
    ),
    "EagerOpsChecker": (
        f"{percent(waiting.IDLE_SHARE)} of the cell",
        f"Python takes {percent(steady.WORTHWHILE)} of the cell",
        f"steps of {waiting.FEWEST_EAGER} eager ops, {percent(waiting.MOSTLY)} of their ops",
        f"Python takes {percent(steady.WORTHWHILE)} of the steps",
    ),
    "FlopRateChecker": (
        f"{percent(steady.WORTHWHILE)} of the op time",
        {0.1: "a tenth"}[slow_ops.SLOW] + " of the best rate",
        f"{slow_ops.FEWEST_FLOAT_OPS:,} float ops",
        f"{slow_ops.FEWEST_ON_A_HOST} executions on a host",
        f"less than {percent(slow_ops.LEAST_SHARE_TO_COMPARE)} of the op time",
        f"{slow_ops.MOST_OF_A_CORE:g} billion float ops a second a core",
        f"{slow_ops.MOST_OF_AN_ACCELERATOR / 1e6:g} million billion an accelerator",
    ),
    "InitializerChecker": (f"{percent(steady.WORTHWHILE)} of the op time",),
    "InputBoundChecker": (
        f"for a stage that needs {percent(pipeline.LEAST_SHARE)} of the time of a step, and made "
        f"{pipeline.FEWEST_ELEMENTS} elements",
        f"{percent(input_wait.INPUT_SHARE)} of the steps or of the cell",
        f"{input_wait.WAKING_NANOS / 1e6:g} ms of a step where stages work for a moment only",
    ),
    "LayoutChecker": (f"{percent(steady.WORTHWHILE)} of the op time",),
    "ParameterServerChecker": (
        f"{cluster.UNBALANCED:g} times the mean",
        f"{cluster.FEWEST_PARAMETERS:,} parameters",
        f"{percent(steady.WORTHWHILE)} of the steps",
    ),
    "PlacementChecker": (f"{percent(steady.WORTHWHILE)} of the op time",),
    "PrecisionChecker": (
        f"{percent(steady.WORTHWHILE)} of the op time",
        f"nodes from {percent(slow_ops.LEAST_SHARE_OF_A_NODE)} on",
        f"for the products {percent(slow_ops.FLOAT32_PRODUCTS)}",
    ),
    "PythonChecker": (
        f"{percent(LEAST_OF_CELL)} of the cell",
        f"the {cell_time.MOST_CALLBACKS} costliest callbacks",
        f"for validation {percent(cell_time.VALIDATION_SHARE)}",
        {1 / 3: "a third"}[cell_time.LIBRARYS_SHARE] + " for the library's own loop",
    ),
    "RetracingChecker": (
        f"built {cell_time.FEWEST} times",
        f"all but the first time take {percent(LEAST_OF_CELL)} of the cell",
        f"{percent(steady.WORTHWHILE)} of its recorded calls",
        {0.5: "half"}[cell_time.HALF] + " of the cell for a first step",
    ),
    "TinyKernelChecker": (
        f"{waiting.CPU_START_NANOS // 1000} µs, and {waiting.KERNEL_START_NANOS // 1000} µs for kernels",
        f"{waiting.FEWEST} such ops",
        f"{percent(waiting.MOST_OF_THE_STEP)} of the steps",
    ),
    "TransferChecker": (f"{percent(steady.WORTHWHILE)} of the steps",),
}
IN_TEXT = (
    f"less than {percent(LEAST_OF_CELL)} of the cell",
    f"looks every {python_sampler.INTERVAL * 1000:g} ms",
    f"fewer than {account.FEWEST_LOOKS} times",
    f"lines of your own code, from {percent(costliest.SMALLEST_SHARE)} of the time on",
)


def test_each_checker_has_a_row() -> None:
    assert ROWS.keys() - {"checker"} == OWN.keys()


@pytest.mark.parametrize("checker", TOLD)
def test_a_row_has_the_thresholds_of_its_checker(checker: str) -> None:
    assert [told for told in TOLD[checker] if told not in ROWS[checker]] == []


def test_the_text_has_the_thresholds_of_all() -> None:
    text = " ".join(PAGE.split())
    assert [told for told in IN_TEXT if told not in text] == []


def test_no_threshold_is_left_out() -> None:
    """A constant that this test does not read is a threshold that nobody tells."""
    read = set(re.findall(r"\.([A-Z][A-Z0-9_]+)\b", Path(__file__).read_text(encoding="utf-8")))
    for module in (
        "account/pipeline.py",
        "advisor/cell_time.py",
        "advisor/cluster.py",
        "advisor/costliest.py",
        "advisor/input_wait.py",
        "advisor/slow_ops.py",
        "advisor/waiting.py",
        "steady.py",
    ):
        numbers = set(constants(ROOT / "tfprof_widget" / "analysis" / module))
        assert numbers - read - ELSEWHERE.get(module, set()) == set(), module


def constants(module: Path) -> Iterator[str]:
    """The public names that stand for a number."""
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.BinOp):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            is_number = not isinstance(node.value, ast.Constant) or isinstance(node.value.value, int | float)
            yield from (name for name in names if is_number and not name.startswith("_"))
