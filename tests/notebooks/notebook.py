"""A notebook whose cells nbclient runs one by one, all in one kernel."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import inf
from queue import Empty
from time import monotonic
from typing import Any

from jupyter_core.utils import ensure_async
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from tests.notebooks.forked_kernel import ForkingKernelManager
from tests.notebooks.kernel import ROOT, plain

SECONDS_TO_TAKE_EFFECT = 10


class Client(NotebookClient):
    """A client that interrupts a cell when it has printed what `interrupt_at` says.

    One in thirty interrupts of a fit is lost, also without a profile: TensorFlow ignores what is raised in some of the
    Python that its C++ calls. So a cell that goes on to print is interrupted again.
    """

    interrupt_at = ""
    interrupted = -inf

    def process_message(self, msg: dict[str, Any], cell: Any, cell_index: int) -> Any:
        is_told = self.interrupt_at and self.interrupt_at in msg["content"].get("text", "")
        if is_told and monotonic() - self.interrupted > SECONDS_TO_TAKE_EFFECT:
            self.interrupted = monotonic()
            self.interrupting = asyncio.ensure_future(self._interrupt())
        return super().process_message(msg, cell, cell_index)

    async def _async_poll_output_msg(self, *arguments: Any) -> None:
        """Go on where another poll of the same socket took a message: nbclient's own ends there, and shows no more."""
        while True:
            with suppress(Empty):
                await super()._async_poll_output_msg(*arguments)
                return

    async def _interrupt(self) -> None:
        assert self.km is not None
        await ensure_async(self.km.interrupt_kernel())


@dataclass(frozen=True)
class Notebook:
    """A notebook that is open."""

    client: Client

    def run(self, source: str, interrupt_at: str = "") -> list[Any]:
        """The outputs of another cell, whether it fails or not."""
        cells = self.client.nb.cells
        cells.append(new_code_cell(source))
        self.client.interrupt_at, self.client.interrupted = interrupt_at, -inf
        self.client.execute_cell(cells[-1], len(cells) - 1)
        outputs: list[Any] = cells[-1].outputs
        return outputs

    def run_well(self, source: str) -> list[Any]:
        """The outputs of another cell, which must not fail or complain."""
        outputs = self.run(source)
        assert [told(each) for each in outputs if each.output_type == "error" or each.get("name") == "stderr"] == []
        return outputs

    def value(self, expression: str) -> Any:
        """What the expression gives there: numbers, strings and what is made of them."""
        (output,) = self.run_well(expression)
        return ast.literal_eval(output.data["text/plain"])

    def runs(self, capture: str = "prof") -> dict[str, tuple[int, int]]:
        """How many runs of each kind the capture saw and traced; ops outside of steps are no runs."""
        kinds = self.value(f"[(each.name, (each.seen, each.traced)) for each in {capture}.measurement.runs]")
        return {name: counts for name, counts in kinds if name != "eager ops"}


def told(output: Any) -> str:
    """What an output says in plain text."""
    return str(output.get("text") or plain(output.get("traceback", "")) or output.data["text/plain"])


def parted(outputs: list[Any]) -> tuple[list[Any], str]:
    """The outputs of the cell itself, and the profile below them as a page shows it where no widget can be."""
    left = [output for output in outputs if output.get("data") != {}]  # without the progress line of a slow machine
    own = [output for output in left if output.output_type != "display_data"]
    assert all(output.output_type == "display_data" for output in left[len(own) :])
    return own, left[-1].data["text/html"]


@contextmanager
def opened_notebook() -> Iterator[Notebook]:
    """A new notebook in the repository's folder, whose kernel ends with the block."""
    client = Client(
        new_notebook(),
        timeout=120,
        startup_timeout=120,
        kernel_name="python3",
        kernel_manager_class=ForkingKernelManager,
        allow_errors=True,
        resources={"metadata": {"path": str(ROOT)}},
    )
    with client.setup_kernel():
        yield Notebook(client)
