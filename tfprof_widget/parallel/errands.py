"""What the engines of a cluster are asked to do beside the cell itself; each errand travels there by its name."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Any

from tfprof_widget._version import __version__


@dataclass(frozen=True)
class GetReady:
    """Teach the engine's shell the magics, and forget what was captured there before."""

    code: str

    def __call__(self) -> tuple[str, str, bool]:
        """The version of this package there, the engine's host, and whether the code would never be answered."""
        from IPython.core.getipython import get_ipython

        from tfprof_widget.capturing.context import remember

        shell: Any = get_ipython()
        if "tfprof" not in shell.magics_manager.magics["cell"]:
            shell.run_line_magic("load_ext", "tfprof_widget")
        remember(None)
        return __version__, platform.node(), _awaits_in_vain(shell, self.code)


@dataclass(frozen=True)
class HandOver:
    """Hand over what was recorded of the cell."""

    def __call__(self) -> bytes | None:
        """The recording as bytes, None if there is none."""
        from tfprof_widget.capturing.context import last
        from tfprof_widget.parallel.parcels import packed

        capture = last()
        return None if capture is None else packed(capture.recorded)


def _awaits_in_vain(shell: Any, code: str) -> bool:
    """Whether code awaits on an engine of ipykernel 7, which lacks a thread there and breaks off without an answer."""
    lacks_thread = getattr(shell.kernel, "shell_channel_thread", shell) is None
    return lacks_thread and bool(shell.should_run_async(code, transformed_cell=shell.transform_cell(code)))
