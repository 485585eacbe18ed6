"""The error of a cell that failed on all engines: IPython tells it in short, as the engines' traces were shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ipyparallel.error import CompositeError

from tfprof_widget.parallel.engines import EngineResult


class EnginesFailed(CompositeError):  # type: ignore[misc]
    """The cell ended in an error on all engines; `elist` has them, `print_traceback()` shows their traces again."""

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()


def failure(outcomes: Sequence[EngineResult]) -> EnginesFailed:
    """The errors of all engines as one."""
    return EnginesFailed("the cell failed on all engines", [_entry(ran, ran.error) for ran in outcomes])


def _entry(ran: EngineResult, error: Any) -> tuple[str, str, str, dict[str, Any]]:
    """A name, a message, a trace and an engine, as ipyparallel lists errors."""
    return (
        getattr(error, "ename", type(error).__name__),
        str(getattr(error, "evalue", error)),
        getattr(error, "traceback", None) or "",
        {"engine_id": ran.engine, "engine_uuid": "", "method": "execute"},
    )
