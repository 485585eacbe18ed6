"""Profiles TensorFlow in Python and notebooks, as tfprof does: what nodes cost, seen by scope, graph, op and code."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfprof_widget.analysis.account.budget import TimeBudget
    from tfprof_widget.analysis.coverage import FlopsCoverage, flops_coverage
    from tfprof_widget.analysis.machines import Machine
    from tfprof_widget.analysis.replay.prediction import WhatIf
    from tfprof_widget.api.capture import capture, last
    from tfprof_widget.api.comparison import Comparison, Regression, assert_no_regression, compare
    from tfprof_widget.api.history import History, history
    from tfprof_widget.api.machine import machine
    from tfprof_widget.api.profile import Profile, load, merge
    from tfprof_widget.api.race import Race, race
    from tfprof_widget.api.result import Capture
    from tfprof_widget.api.view import View
    from tfprof_widget.ingest.flops.operation import Operation
    from tfprof_widget.ingest.flops.registry import register_flops
    from tfprof_widget.jobs.requests import watch
    from tfprof_widget.lib.errors import ProfileError, ProfileWarning
    from tfprof_widget.lib.messages import AdviceProto, GraphNodeProto, MultiGraphNodeProto, OpLogProto
    from tfprof_widget.lib.version import __version__
    from tfprof_widget.model_analyzer import (
        ALL_ADVICE,
        FLOAT_OPS_OPTIONS,
        MORE_ADVICE,
        PRINT_ALL_TIMING_MEMORY,
        TRAINABLE_VARS_PARAMS_STAT_OPTIONS,
        Profiler,
        advise,
        print_model_analysis,
        profile,
    )
    from tfprof_widget.option_builder import ProfileOptionBuilder
    from tfprof_widget.parallel.joining import capture_engines
    from tfprof_widget.profile_context import ProfileContext
    from tfprof_widget.tfprof_logger import write_op_log

__all__ = [
    "ALL_ADVICE",
    "FLOAT_OPS_OPTIONS",
    "MORE_ADVICE",
    "PRINT_ALL_TIMING_MEMORY",
    "TRAINABLE_VARS_PARAMS_STAT_OPTIONS",
    "AdviceProto",
    "Capture",
    "Comparison",
    "FlopsCoverage",
    "GraphNodeProto",
    "History",
    "Machine",
    "MultiGraphNodeProto",
    "OpLogProto",
    "Operation",
    "Profile",
    "ProfileContext",
    "ProfileError",
    "ProfileOptionBuilder",
    "ProfileWarning",
    "Profiler",
    "Race",
    "Regression",
    "TimeBudget",
    "View",
    "WhatIf",
    "__version__",
    "advise",
    "assert_no_regression",
    "capture",
    "capture_engines",
    "compare",
    "flops_coverage",
    "history",
    "last",
    "load",
    "machine",
    "merge",
    "print_model_analysis",
    "profile",
    "race",
    "register_flops",
    "watch",
    "write_op_log",
]

# Names are imported when they are first used: importing the package costs next to nothing.
_HOMES = {
    "__version__": "lib.version",
    "Capture": "api.result",
    "capture": "api.capture",
    "Comparison": "api.comparison",
    "compare": "api.comparison",
    "History": "api.history",
    "Race": "api.race",
    "race": "api.race",
    "Regression": "api.comparison",
    "assert_no_regression": "api.comparison",
    "history": "api.history",
    "Machine": "analysis.machines",
    "machine": "api.machine",
    "capture_engines": "parallel.joining",
    "last": "api.capture",
    "load": "api.profile",
    "write_op_log": "tfprof_logger",
    "merge": "api.profile",
    "AdviceProto": "lib.messages",
    "GraphNodeProto": "lib.messages",
    "MultiGraphNodeProto": "lib.messages",
    "OpLogProto": "lib.messages",
    "FlopsCoverage": "analysis.coverage",
    "Operation": "ingest.flops.operation",
    "flops_coverage": "analysis.coverage",
    "register_flops": "ingest.flops.registry",
    "Profile": "api.profile",
    "ProfileContext": "profile_context",
    "ProfileError": "lib.errors",
    "ProfileOptionBuilder": "option_builder",
    "ProfileWarning": "lib.errors",
    "TimeBudget": "analysis.account.budget",
    "View": "api.view",
    "WhatIf": "analysis.replay.prediction",
    "watch": "jobs.requests",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'model_analyzer')}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


def load_ipython_extension(shell: Any) -> None:
    """Teach an IPython shell the magics `%%tfprof` and `%tfprof`: `%load_ext tfprof_widget` calls this."""
    import_module(f"{__name__}.magic").load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Remove the magics from the shell: `%unload_ext tfprof_widget` calls this."""
    import_module(f"{__name__}.magic").unload(shell)
