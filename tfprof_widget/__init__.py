"""tfprof for Python and notebooks: profiles of TensorFlow graphs, seen by scope, graph, op and code."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    "Profile",
    "ProfileError",
    "ProfileOptionBuilder",
    "ProfileWarning",
    "Profiler",
    "View",
    "advise",
    "print_model_analysis",
    "profile",
]

# Names are imported when they are first used: importing the package costs next to nothing.
_HOMES = {
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
