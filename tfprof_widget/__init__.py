"""tfprof for Python and notebooks: profiles of TensorFlow graphs, seen by scope, graph, op and code."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfprof_widget._version import __version__
    from tfprof_widget.capturing.context import capture, last
    from tfprof_widget.capturing.result import Capture
    from tfprof_widget.compat import (
        ALL_ADVICE,
        FLOAT_OPS_OPTIONS,
        MORE_ADVICE,
        PRINT_ALL_TIMING_MEMORY,
        TRAINABLE_VARS_PARAMS_STAT_OPTIONS,
        Profiler,
        advise,
        print_model_analysis,
        profile,
        write_op_log,
    )
    from tfprof_widget.engine.view import View
    from tfprof_widget.errors import ProfileError, ProfileWarning
    from tfprof_widget.flops.coverage import FlopsCoverage, flops_coverage
    from tfprof_widget.flops.operation import Operation
    from tfprof_widget.flops.registry import register_flops
    from tfprof_widget.loading.load import load
    from tfprof_widget.merging.merge import merge
    from tfprof_widget.messages import AdviceProto, GraphNodeProto, MultiGraphNodeProto, OpLogProto
    from tfprof_widget.option_builder import ProfileOptionBuilder
    from tfprof_widget.parallel.capture import capture_engines
    from tfprof_widget.profile_context.context import ProfileContext
    from tfprof_widget.profiles import Profile

__all__ = [
    "ALL_ADVICE",
    "FLOAT_OPS_OPTIONS",
    "MORE_ADVICE",
    "PRINT_ALL_TIMING_MEMORY",
    "TRAINABLE_VARS_PARAMS_STAT_OPTIONS",
    "AdviceProto",
    "Capture",
    "FlopsCoverage",
    "GraphNodeProto",
    "MultiGraphNodeProto",
    "OpLogProto",
    "Operation",
    "Profile",
    "ProfileContext",
    "ProfileError",
    "ProfileOptionBuilder",
    "ProfileWarning",
    "Profiler",
    "View",
    "__version__",
    "advise",
    "capture",
    "capture_engines",
    "flops_coverage",
    "last",
    "load",
    "merge",
    "print_model_analysis",
    "profile",
    "register_flops",
    "write_op_log",
]

# Names are imported when they are first used: importing the package costs next to nothing.
_HOMES = {
    "__version__": "_version",
    "Capture": "capturing.result",
    "capture": "capturing.context",
    "capture_engines": "parallel.capture",
    "last": "capturing.context",
    "load": "loading.load",
    "merge": "merging.merge",
    "AdviceProto": "messages",
    "GraphNodeProto": "messages",
    "MultiGraphNodeProto": "messages",
    "OpLogProto": "messages",
    "FlopsCoverage": "flops.coverage",
    "Operation": "flops.operation",
    "flops_coverage": "flops.coverage",
    "register_flops": "flops.registry",
    "Profile": "profiles",
    "ProfileContext": "profile_context.context",
    "ProfileError": "errors",
    "ProfileOptionBuilder": "option_builder",
    "ProfileWarning": "errors",
    "View": "engine.view",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'compat')}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


def load_ipython_extension(shell: Any) -> None:
    """Teach an IPython shell the magics `%%tfprof` and `%tfprof`: `%load_ext tfprof_widget` calls this."""
    import_module(f"{__name__}.magic").load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Take the magics away again: `%unload_ext tfprof_widget` calls this."""
    import_module(f"{__name__}.magic").unload(shell)
