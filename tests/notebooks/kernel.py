"""A real kernel that cells are run in, interrupted if wanted, and what they showed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager, start_new_kernel

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Kernel:
    """A running kernel, and what it answers."""

    manager: KernelManager
    client: BlockingKernelClient

    def run(self, cell: str, interrupt_at: str = "") -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """A cell's output messages and its reply; interrupted once it has printed what `interrupt_at` says."""
        outputs: list[dict[str, Any]] = []

        def collect(message: dict[str, Any]) -> None:
            kind, content = message["header"]["msg_type"], message["content"]
            if kind in ("stream", "display_data", "update_display_data", "execute_result", "error"):
                outputs.append({"kind": kind, **content})
            if interrupt_at and interrupt_at in content.get("text", ""):
                self.manager.interrupt_kernel()

        reply = self.client.execute_interactive(cell, output_hook=collect, timeout=120)
        return outputs, reply["content"]


@contextmanager
def running_kernel() -> Iterator[Kernel]:
    """A kernel in the repository's folder, which ends with the block."""
    manager, client = start_new_kernel(
        startup_timeout=120, kernel_name="python3", cwd=str(ROOT), extra_arguments=["--HistoryManager.enabled=False"]
    )
    try:
        yield Kernel(manager, client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def shown(outputs: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """What was shown, in order: streams joined, and of displays and errors the plain text."""
    told: list[tuple[str, str]] = []
    for output in outputs:
        text = output.get("text") or output.get("data", {}).get("text/plain") or plain(output.get("traceback", ""))
        if told and output["kind"] == "stream" and told[-1][0] == output["name"]:
            told[-1] = output["name"], told[-1][1] + text
        else:
            told.append((output.get("name", output["kind"]), text))
    return told


def plain(traceback: Any) -> str:
    """A traceback without colours, and without the cell's number, which is another at each run."""
    return re.sub(r"\x1b\[[\d;]*m|In\[\d+\]|ipykernel_\d+/\d+", "", "\n".join(traceback))
