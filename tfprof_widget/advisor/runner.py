"""Runs the checkers that are asked for, prints what they report and returns it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tfprof_widget.advisor.accelerator_utilization import accelerator_utilization
from tfprof_widget.advisor.cluster import cluster
from tfprof_widget.advisor.device_idle import device_idle
from tfprof_widget.advisor.expensive_operations import expensive_operations
from tfprof_widget.advisor.finding import Finding
from tfprof_widget.advisor.flop_rate import flop_rate
from tfprof_widget.advisor.initializers import initializers
from tfprof_widget.advisor.input_bound import input_bound
from tfprof_widget.advisor.layout import layout
from tfprof_widget.advisor.operations import operations
from tfprof_widget.advisor.parameter_servers import parameter_servers
from tfprof_widget.advisor.placement import placement
from tfprof_widget.advisor.precision import precision
from tfprof_widget.advisor.retracing import retracing
from tfprof_widget.advisor.tiny_kernels import tiny_kernels
from tfprof_widget.advisor.transfers import transfers
from tfprof_widget.messages import AdviceProto
from tfprof_widget.profiles import Profile

Checker = Callable[[Profile], Iterator[str | Finding]]

NATIVE: Mapping[str, Checker] = {
    "AcceleratorUtilizationChecker": accelerator_utilization,
    "ExpensiveOperationChecker": expensive_operations,
    "OperationChecker": operations,
}
NOT_PUBLIC = "JobChecker"
"""Native tfprof knows it by name, but its code never left Google: it reports nothing."""

OWN: Mapping[str, Checker] = {
    "ClusterChecker": cluster,
    "DeviceIdleChecker": device_idle,
    "FlopRateChecker": flop_rate,
    "InitializerChecker": initializers,
    "InputBoundChecker": input_bound,
    "LayoutChecker": layout,
    "ParameterServerChecker": parameter_servers,
    "PlacementChecker": placement,
    "PrecisionChecker": precision,
    "RetracingChecker": retracing,
    "TinyKernelChecker": tiny_kernels,
    "TransferChecker": transfers,
}

CHECKERS: Mapping[str, Checker] = dict(sorted({**NATIVE, **OWN}.items()))


def advise_on(profile: Profile, options: Mapping[str, Mapping[str, str]]) -> AdviceProto:
    """What the checkers named in `options` report; it is printed too, in the order of their names.

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
        raise ValueError(
            f"options is {options!r}, but must be a dict from the names of checkers to their options; "
            f"the checkers are {', '.join(names)}"
        )
    for name, of_checker in options.items():
        if name not in names:
            raise ValueError(f"there is no checker {name!r}; choose from {', '.join(names)}")
        if not isinstance(of_checker, Mapping) or of_checker:
            raise ValueError(f"the options of {name} are {of_checker!r}, but it takes none: give {{}}")
