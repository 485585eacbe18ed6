"""tfprof for Python and notebooks: profiles of TensorFlow graphs, seen by scope, graph, op and code."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfprof_widget.capturing.context import capture, last
    from tfprof_widget.capturing.result import Capture
    from tfprof_widget.compat import (
        ALL_ADVICE,
        FLOAT_OPS_OPTIONS,
        PRINT_ALL_TIMING_MEMORY,
        TRAINABLE_VARS_PARAMS_STAT_OPTIONS,
        Profiler,
        advise,
        print_model_analysis,
        profile,
    )
    from tfprof_widget.engine.view import View
    from tfprof_widget.errors import ProfileError, ProfileWarning
    from tfprof_widget.option_builder import ProfileOptionBuilder
    from tfprof_widget.profiles import Profile

__all__ = [
    "ALL_ADVICE",
    "FLOAT_OPS_OPTIONS",
    "PRINT_ALL_TIMING_MEMORY",
    "TRAINABLE_VARS_PARAMS_STAT_OPTIONS",
    "Capture",
    "Profile",
    "ProfileError",
    "ProfileOptionBuilder",
    "ProfileWarning",
    "Profiler",
    "View",
    "advise",
    "capture",
    "last",
    "print_model_analysis",
    "profile",
]

# Names are imported when they are first used: importing the package costs next to nothing.
_HOMES = {
    "Capture": "capturing.result",
    "capture": "capturing.context",
    "last": "capturing.context",
    "Profile": "profiles",
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
