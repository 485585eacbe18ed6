"""Runs the checkers, and prints or returns what they find."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tfprof_widget.analysis.advisor.cell_time import python_between, retracing
from tfprof_widget.analysis.advisor.cluster import cluster, parameter_servers
from tfprof_widget.analysis.advisor.costliest import (
    accelerator_use,
    accelerator_utilization,
    costliest,
    expensive_operations,
    operations,
    slower_operations,
)
from tfprof_widget.analysis.advisor.finding import Finding
from tfprof_widget.analysis.advisor.input_wait import input_bound
from tfprof_widget.analysis.advisor.slow_ops import flop_rate, initializers, layout, placement, precision
from tfprof_widget.analysis.advisor.waiting import device_idle, eager_ops, tiny_kernels, transfers
from tfprof_widget.lib.errors import ProfileWarning, shortened, value_error
from tfprof_widget.lib.messages import AdviceProto
from tfprof_widget.lib.text import visible_lines
from tfprof_widget.profiles.data import ProfileData

Checker = Callable[[ProfileData], Iterator[str | Finding]]

NATIVE: Mapping[str, Checker] = {
    "AcceleratorUtilizationChecker": accelerator_utilization,
    "ExpensiveOperationChecker": expensive_operations,
    "OperationChecker": operations,
}
NOT_PUBLIC = "JobChecker"
"""Native tfprof knows the name, but the checker's code was never published: it reports nothing."""

OWN: Mapping[str, Checker] = {
    "ClusterChecker": cluster,
    "DeviceIdleChecker": device_idle,
    "EagerOpsChecker": eager_ops,
    "FlopRateChecker": flop_rate,
    "InitializerChecker": initializers,
    "InputBoundChecker": input_bound,
    "LayoutChecker": layout,
    "ParameterServerChecker": parameter_servers,
    "PlacementChecker": placement,
    "PrecisionChecker": precision,
    "PythonChecker": python_between,
    "RetracingChecker": retracing,
    "TinyKernelChecker": tiny_kernels,
    "TransferChecker": transfers,
}

CHECKERS: Mapping[str, Checker] = dict(sorted({**NATIVE, **OWN}.items()))


@dataclass(frozen=True)
class Words:
    """How a checker is called on the screen, what it looks for, and what it needs to be able to say something."""

    title: str
    looks_for: str


WORDS: Mapping[str, Words] = {
    "AcceleratorUtilizationChecker": Words(
        "Accelerator use",
        "accelerators that stood idle during the steps; it needs runs on an accelerator",
    ),
    "ExpensiveOperationChecker": Words(
        "What costs most",
        "the op types, graph nodes and lines of code that take the most time; it needs traced runs",
    ),
    "OperationChecker": Words("Faster alternatives", "ops and data formats for which there is a faster one"),
    "ClusterChecker": Words(
        "Waiting for other tasks",
        "a task that others wait for, slow links, and transfers during which no task computes",
    ),
    "DeviceIdleChecker": Words(
        "Idle devices",
        "long gaps in a step in which nothing runs on an accelerator or, without one, on the host",
    ),
    "EagerOpsChecker": Words(
        "Ops one by one",
        "a loop whose ops Python starts one by one, where a tf.function would run them as a graph; it needs a capture",
    ),
    "FlopRateChecker": Words(
        "Slow products",
        "matrix products and convolutions that run far below the best rate on their device",
    ),
    "InitializerChecker": Words("Initializers", "initializers of variables among the measured ops"),
    "InputBoundChecker": Words(
        "Waiting for input",
        "steps that wait for the next batch, Python that waits for it, and the slowest stage of tf.data",
    ),
    "LayoutChecker": Words("Transposing and padding", "ops that only change the layout or size of tensors"),
    "ParameterServerChecker": Words(
        "Balance of parameter servers",
        "a server that holds or does much more than the others",
    ),
    "PlacementChecker": Words("Placement", "matrix products and convolutions on a CPU beside an accelerator"),
    "PrecisionChecker": Words("Precision", "float64, and on accelerators float32 where half precision would do"),
    "PythonChecker": Words(
        "Python between steps",
        "callbacks, saving, validation and other Python between steps that take much of the cell; it needs a capture",
    ),
    "RetracingChecker": Words(
        "Retracing", "functions that are built again and again, and a first step that takes half of the cell"
    ),
    "TinyKernelChecker": Words("Tiny ops", "ops that take longer to start than to run"),
    "TransferChecker": Words("Copies and waits", "steps that wait while tensors travel between devices and hosts"),
}


def advise_on(profile: ProfileData, options: Mapping[str, Mapping[str, str]]) -> AdviceProto:
    """The reports of the checkers named in `options`; they are printed too, in the order of their names.

    >>> from tfprof_widget.demo import demo_profile
    >>> advice = advise_on(demo_profile(), {"OperationChecker": {}})
    <BLANKLINE>
    OperationChecker:
    >>> list(advice.checkers)
    ['OperationChecker']
    """
    _check(options)
    advice = AdviceProto()
    for name, check in CHECKERS.items():
        if name in options:
            advice.checkers[name].reports.extend(map(str, check(profile)))
            sys.stdout.write("\n".join(["", f"{name}:", *advice.checkers[name].reports, ""]))
    sys.stdout.flush()
    return advice


def _check(options: Any) -> None:
    names = sorted([*CHECKERS, NOT_PUBLIC])
    if not isinstance(options, Mapping):
        raise value_error(
            f"options is {shortened(repr(options), 40)}, but must be a dict from the names of checkers to {{}}; "
            f"the checkers are {', '.join(names)}"
        )
    for name, of_checker in options.items():
        if name not in names:
            raise value_error(f"there is no checker {shortened(repr(name), 40)}; choose from {', '.join(names)}")
        if not isinstance(of_checker, Mapping) or of_checker:
            raise value_error(f"the options of {name} are {of_checker!r}, but it takes none: give {{}}")


# For the widget: steady steps only, exact to the nanosecond, graph nodes where native tfprof names scopes, and ops that
# are newer than native tfprof.
FOR_PEOPLE = {
    **CHECKERS,
    "AcceleratorUtilizationChecker": accelerator_use,
    "ExpensiveOperationChecker": costliest,
    "OperationChecker": slower_operations,
}


@dataclass(frozen=True)
class Advice:
    """The reports of each checker; most have none."""

    reports: Mapping[str, tuple[str | Finding, ...]]

    def text(self) -> str:
        """The reports of the checkers that found something, and how many found nothing.

        >>> print(Advice({"OperationChecker": ("Found operation using NHWC",), "LayoutChecker": ()}).text())
        OperationChecker:
        Found operation using NHWC
        <BLANKLINE>
        1 other checker found nothing.
        """
        told = [
            f"{checker}:\n" + "\n".join(visible_lines(str(report)) for report in reports)
            for checker, reports in self.reports.items()
            if reports
        ]
        return "\n\n".join([*told, *_silent(len(self.reports) - len(told), beside=bool(told))])

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__


def advice_on(profile: ProfileData) -> Advice:
    """Let every checker look at a profile.

    >>> from tfprof_widget.demo import demo_profile
    >>> print(advice_on(demo_profile()).text().splitlines()[1])
    top 1 operation type: MatMul, cpu: 123.19us, accelerator: 0ns, total: 123.19us (38.40%)
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProfileWarning)  # the advice itself says what is missing
        return Advice({checker: tuple(check(profile)) for checker, check in FOR_PEOPLE.items()})


def _silent(checkers: int, beside: bool) -> list[str]:
    if not checkers:
        return []
    return [f"{checkers} {'other ' if beside else ''}{'checker' if checkers == 1 else 'checkers'} found nothing."]
