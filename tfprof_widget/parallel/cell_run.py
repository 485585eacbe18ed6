"""Runs a cell on engines, shows what they write as it comes, and fetches what each recorded or why it did not."""

from __future__ import annotations

import signal
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from tfprof_widget._version import __version__
from tfprof_widget.capturing.interrupts import interrupted_later
from tfprof_widget.capturing.recorded import Recorded
from tfprof_widget.parallel.clusters import Engines
from tfprof_widget.parallel.errands import GetReady, HandOver
from tfprof_widget.parallel.parcels import unpacked

# An engine that was interrupted has so long to come back from what it is in, such as a step of TensorFlow's.
STOPPING_SECONDS = 10.0
# What an engine wrote at its end may come after its answer.
OUTPUT_SECONDS = 1.0


@dataclass(frozen=True)
class Ran:
    """What became of the cell on one engine: what was recorded, or `missing` says why nothing was.

    `error` is what ended the cell there, None where it came to its end.
    """

    engine: int
    host: str
    recorded: Recorded | None
    missing: str
    error: Exception | None


@dataclass(frozen=True)
class Answer:
    """What an engine answered, or the error that came in its place."""

    value: Any = None
    error: Exception | None = None


class CellRun:
    """One run of a cell on engines; `arguments` are those of `%%tfprof` there, as text.

    An interrupt goes to all engines, and what they recorded until then is fetched all the same.
    """

    def __init__(self, engines: Engines, code: str, arguments: str) -> None:
        self._client = engines.client
        self._numbers = engines.numbers
        self._code = code
        self._arguments = arguments
        self._running: Mapping[int, Any] = {}
        self.was_interrupted = False

    def progress(self) -> str | None:
        """One line on how far the engines are, None before they have begun.

        >>> CellRun(Engines(None, (0, 1)), "train()", "").progress() is None
        True
        """
        done = sum(each.done() for each in self._running.values())
        return f"tfprof: {done} of {len(self._running)} engines have run the cell" if self._running else None

    def run(self) -> tuple[Ran, ...]:
        """Run the cell and wait for it; what became of it on each engine."""
        asked = self._answers(self._numbers, lambda engine, _: engine.apply_async(GetReady(self._code)))
        if self.was_interrupted:
            raise KeyboardInterrupt
        ready = {number: _unless_in_vain(answer) for number, answer in asked.items()}
        unready = {number: reason for number, answer in ready.items() if (reason := _why_unready(answer))}
        there = [number for number, answer in ready.items() if not isinstance(answer.error, NoAnswer)]
        ran = self._answers(there, partial(self._execute, unready), shows=True)
        done = [number for number, answer in ran.items() if not isinstance(answer.error, NoAnswer)]
        profiled = [number for number in done if number not in unready]
        parcels = self._answers(profiled, lambda engine, _: engine.apply_async(HandOver()))
        return tuple(
            _ran(number, ready[number], unready.get(number, ""), ran.get(number, ready[number]), parcels.get(number))
            for number in self._numbers
        )

    def _execute(self, unready: Container[int], engine: Any, number: int) -> Any:
        code = self._code if number in unready else f"%%tfprof --quiet {self._arguments}\n{self._code}"
        return engine.execute(code, silent=False, block=False)

    def _answers(
        self, numbers: Iterable[int], send: Callable[[Any, int], Any], shows: bool = False
    ) -> dict[int, Answer]:
        """What engines answer to what each is sent; `shows` what they write meanwhile."""
        sent: dict[int, Any] = {}
        unsent: dict[int, Answer] = {}
        with ExitStack() as streams:
            try:
                with interrupted_later():  # so that there is no engine that nobody knows of
                    for number in numbers:
                        try:
                            sent[number] = send(self._client[number], number)
                        except Exception as error:
                            unsent[number] = Answer(error=NoAnswer(f"it cannot be reached ({error})"))
                    if shows:
                        self._running = sent
                        for each in sent.values():
                            streams.enter_context(each.stream_output())
                self._wait(sent, shows)
            except KeyboardInterrupt:
                self._stop(sent)
        return unsent | {number: _answer(each) for number, each in sent.items()}

    def _wait(self, sent: Mapping[int, Any], shows: bool) -> None:
        self._client.wait(list(sent.values()))
        if shows:
            for each in sent.values():
                each.wait_for_output(OUTPUT_SECONDS)

    def _stop(self, sent: Mapping[int, Any]) -> None:
        """Interrupt the engines that have not answered, and wait a while for them; a second interrupt ends that."""
        self.was_interrupted = True
        pending = {number: each for number, each in sent.items() if not each.done()}
        with suppress(KeyboardInterrupt):
            for number, each in pending.items():
                with suppress(Exception):  # it has gone
                    self._client.abort(each, targets=number, block=False)
                    self._client.send_signal(signal.SIGINT, targets=number, block=False)
            self._client.wait(list(pending.values()), timeout=STOPPING_SECONDS)


class NoAnswer(Exception):
    """An engine is gone or stuck."""


def _answer(sent: Any) -> Answer:
    if not sent.done():
        return Answer(error=NoAnswer(f"it did not stop within {STOPPING_SECONDS:g} s of the interrupt"))
    error = sent.exception()
    if getattr(error, "ename", "") == "EngineError":
        return Answer(error=NoAnswer("its process ended"))
    return Answer(None if error else sent.result(), error)


def _unless_in_vain(ready: Answer) -> Answer:
    if ready.error is not None or not ready.value[2]:
        return ready
    return Answer(error=NoAnswer("its ipykernel cannot answer a cell that awaits; install ipykernel<7 there"))


def _why_unready(ready: Answer) -> str:
    """Why the cell runs without a profile on an engine, empty if it does not."""
    if ready.error is None:
        version = ready.value[0]
        return "" if version == __version__ else f"it has tfprof_widget {version} and not {__version__}, as is here"
    told = str(getattr(ready.error, "evalue", ready.error))
    if getattr(ready.error, "ename", "") != "ModuleNotFoundError":
        return f"tfprof_widget does not work there ({told})"
    if "'tfprof_widget'" in told:
        return "tfprof_widget is not installed there: pip install tfprof-widget"
    return f"tfprof_widget {__version__} is not wholly installed there ({told})"


def _ran(number: int, ready: Answer, unready: str, ran: Answer, parcel: Answer | None) -> Ran:
    """What became of the cell on one engine."""
    host = ready.value[1] if ready.error is None else ""
    if parcel is None or parcel.error is not None or parcel.value is None:
        missing = unready or (str(parcel.error or "nothing was recorded") if parcel is not None else "")
        return Ran(number, host, None, missing, ran.error)
    try:
        return Ran(number, host, unpacked(parcel.value), "", ran.error)
    except Exception as error:  # such as of another numpy
        return Ran(number, host, None, f"what it recorded cannot be read here ({error})", ran.error)
