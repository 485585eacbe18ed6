"""Finds the engines of an ipyparallel cluster, and runs a cell on them."""

from __future__ import annotations

import ast
import re
import signal
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tfprof_widget.capturing.recording import Recording
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.private_names import gone_names
from tfprof_widget.lib.safely import postpone_ctrl_c
from tfprof_widget.lib.threads import parse_python
from tfprof_widget.lib.version import __version__
from tfprof_widget.parallel.errands import GetReady, HandOver, unpacked

INSTALL = 'pip install "tfprof-widget[distributed]"'
START = "    import ipyparallel\n    rc = ipyparallel.Cluster(n=4).start_and_connect_sync()"
_RANGE = re.compile(r"(-?\d*):(-?\d*)")
_NUMBERS = re.compile(r"\d+(,\d+)*")


@dataclass(frozen=True)
class Engines:
    """The numbers of some engines of a cluster, and the client that reaches them."""

    client: Any
    numbers: tuple[int, ...]


@contextmanager
def named_engines(name: str, variables: Mapping[str, Any]) -> Iterator[Engines]:
    """The engines that a text names by numbers (`0:2`), or by a variable or a part of it (`rc[:2]`); empty means all.

    If no variable is named, the engines are those of the only client among the variables, else of the only cluster that
    runs under the user's IPython profile; the connection to this cluster is closed after the block.
    """
    numbers = _numbers(name)
    with ExitStack() as opened:
        if numbers is None:
            yield engines_of(_value(name, variables), opened)
        else:
            engines = engines_of(_only_cluster(variables), opened)
            yield Engines(engines.client, _chosen(numbers, engines.numbers, name))


def engines_of(meant: Any, opened: ExitStack) -> Engines:
    """The engines of a client, a view or a cluster; the connection to a cluster is closed with `opened`."""
    parallel, views = _ipyparallel()
    if isinstance(meant, parallel.Cluster):
        client = meant.connect_client_sync()
        opened.callback(client.close)
        numbers = client.ids
    elif isinstance(meant, parallel.Client):
        client, numbers = meant, meant.ids
    elif isinstance(meant, views.View):
        client = meant.client
        numbers = client.ids if meant.targets in (None, "all") else meant.targets
    else:
        raise ProfileError(
            f"engines: {meant!r} is of the type {type(meant).__name__}, "
            "but must be an ipyparallel Client, Cluster or view"
        )
    if not numbers and numbers != 0:
        raise ProfileError("engines: none are running yet; `rc.wait_for_engines(4)` waits for four")
    return Engines(client, (numbers,) if isinstance(numbers, int) else tuple(dict.fromkeys(numbers)))


def _numbers(name: str) -> slice | list[int] | None:
    """The numbers of engines in a text, or a range of them; None if the text names a variable.

    >>> _numbers(""), _numbers("0:2"), _numbers("0,2"), _numbers("rc")
    (slice(None, None, None), slice(0, 2, None), [0, 2], None)
    """
    if span := _RANGE.fullmatch(name or ":"):
        first, end = (int(each) if each.strip("-") else None for each in span.groups())
        return slice(first, end)
    return [int(each) for each in name.split(",")] if _NUMBERS.fullmatch(name) else None


def _chosen(numbers: slice | list[int], all_numbers: tuple[int, ...], name: str) -> tuple[int, ...]:
    chosen = _within(numbers, all_numbers) if isinstance(numbers, slice) else tuple(dict.fromkeys(numbers))
    if not chosen or not set(chosen) <= set(all_numbers):
        running = ", ".join(map(str, all_numbers))
        raise ProfileError(f"engines: there is no {name!r}; those that run are {running}")
    return chosen


def _within(span: slice, all_numbers: tuple[int, ...]) -> tuple[int, ...]:
    """The engines whose numbers are in a range; numbers below 0 count places from the end.

    >>> _within(slice(4, 6), (4, 5, 6)), _within(slice(-1, None), (4, 5, 6))
    ((4, 5), (6,))
    """
    if min(span.start or 0, span.stop or 0) < 0:
        return all_numbers[span]
    last = all_numbers[-1] + 1 if span.stop is None else span.stop
    return tuple(number for number in all_numbers if (span.start or 0) <= number < last)


def _value(name: str, variables: Mapping[str, Any]) -> Any:
    """What a variable or a part of it holds."""
    try:
        return _held(parse_python(name, "eval").body, variables)
    except (SyntaxError, _NamesNothing):
        raise ProfileError(
            f"engines: {name!r} names no engines; give a variable (rc), a part of one (rc[:2]) or numbers (0:2). "
            "Write the code to run into the lines below, or with %tfprof after the engines: --engines rc train()"
        ) from None
    except Exception as error:
        raise ProfileError(f"engines: {name!r} cannot be looked up ({type(error).__name__}: {error})") from None


class _NamesNothing(Exception):
    """An expression that is neither a variable nor a part of one; it is not evaluated, as it may be the code to run."""


def _held(written: ast.expr | None, variables: Mapping[str, Any]) -> Any:
    match written:
        case None:
            return None
        case ast.Name(id=name):
            if name not in variables:
                raise NameError(f"name {name!r} is not defined")
            return variables[name]
        case ast.Attribute(value=whole, attr=attribute):
            return getattr(_held(whole, variables), attribute)
        case ast.Subscript(value=whole, slice=part):
            return _held(whole, variables)[_held(part, variables)]
        case ast.Slice(lower=lower, upper=upper, step=step):
            return slice(_held(lower, variables), _held(upper, variables), _held(step, variables))
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [_held(element, variables) for element in elements]
        case ast.Constant(value=value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_held(operand, variables)
    raise _NamesNothing


def _only_cluster(variables: Mapping[str, Any]) -> Any:
    """The only client among the variables, else the only cluster; raises if there are several."""
    parallel, views = _ipyparallel()
    shown = {name: value for name, value in variables.items() if not name.startswith("_")}
    clients = {
        name: value if isinstance(value, parallel.Client) else value.client
        for name, value in shown.items()
        if isinstance(value, parallel.Client | views.View)
    }
    clusters = {name: value for name, value in shown.items() if isinstance(value, parallel.Cluster)}
    for found in (clients, clusters):
        if len({id(each) for each in found.values()}) > 1:
            raise ProfileError(
                f"engines: {' and '.join(found)} are of different clients; name one, as in --engines {min(found)}"
            )
        if found:
            return next(iter(found.values()))
    return _running_cluster(parallel)


def _running_cluster(parallel: Any) -> Any:
    """The one cluster that runs under the user's profile."""
    clusters = parallel.ClusterManager().load_clusters(profile_dir=_profile_directory())
    running = [each for each in clusters.values() if each.controller is not None and each.controller.running]
    if not running:
        raise ProfileError(f"engines: no cluster is running. These two lines start one:\n{START}")
    if len(running) > 1:
        identities = ", ".join(repr(each.cluster_id) for each in running)
        raise ProfileError(
            f"engines: several clusters are running ({identities}); connect to one, as in "
            f"rc = ipyparallel.Client(cluster_id={running[0].cluster_id!r}), and name it: --engines rc"
        )
    return running[0]


def _profile_directory() -> str:
    from IPython.core.getipython import get_ipython
    from IPython.paths import get_ipython_dir

    directory = getattr(get_ipython(), "profile_dir", None)
    return str(directory.location if directory else Path(get_ipython_dir(), "profile_default"))


def _ipyparallel() -> tuple[Any, Any]:
    """The package and its module of views."""
    try:
        import ipyparallel
        from ipyparallel.client import view
    except ImportError as error:
        raise ProfileError(
            f"engines are reached with ipyparallel, which cannot be imported ({error}): {INSTALL}"
        ) from None
    if gone := gone_names("ipyparallel"):
        raise ProfileError(
            f"engines: ipyparallel {ipyparallel.__version__} has no {', '.join(each.name for each in gone)}, which "
            "%%tfprof needs: install an earlier ipyparallel, or a tfprof-widget that was released after this one"
        )
    return ipyparallel, view


# How long to wait for an engine that was interrupted: it may be within a step of TensorFlow's.
STOPPING_SECONDS = 10.0
# How long to wait for what an engine wrote last, which may come after its answer.
OUTPUT_SECONDS = 1.0


@dataclass(frozen=True)
class EngineResult:
    """How the cell ended on one engine: its recording, or in `missing` the reason why there is none.

    `error` is the error that ended the cell there; None if the cell ran to its end.
    """

    engine: int
    host: str
    recorded: Recording | None
    missing: str
    error: Exception | None


@dataclass(frozen=True)
class Answer:
    """What an engine answered, or the error that came in its place."""

    value: Any = None
    error: Exception | None = None


class CellRun:
    """One run of a cell on engines; `arguments` is the text of the arguments that `%%tfprof` gets on each engine.

    An interrupt goes to all engines; what they recorded until then is still fetched.
    """

    def __init__(self, engines: Engines, code: str, arguments: str) -> None:
        self._client = engines.client
        self._numbers = engines.numbers
        self._code = code
        self._arguments = arguments
        self._running: Mapping[int, Any] = {}
        self.was_interrupted = False

    def progress(self) -> str | None:
        """One line on how many engines have run the cell; None before they have begun."""
        done = sum(each.done() for each in self._running.values())
        return f"tfprof: {done} of {len(self._running)} engines have run the cell" if self._running else None

    def run(self) -> tuple[EngineResult, ...]:
        """Run the cell and wait for it; returns how it ended on each engine."""
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
        """Send a request to each engine and wait for the answers; with `shows`, show what the engines write."""
        sent: dict[int, Any] = {}
        unsent: dict[int, Answer] = {}
        with ExitStack() as streams:
            try:
                with postpone_ctrl_c():  # so that every request sent is in `sent`
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
        """Interrupt the engines that have not answered, and wait a while for them; a second interrupt ends the wait."""
        self.was_interrupted = True
        pending = {number: each for number, each in sent.items() if not each.done()}
        with suppress(KeyboardInterrupt):
            for number, each in pending.items():
                with suppress(Exception):  # the engine may be gone
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
    """Why the cell runs without a profile on an engine; an empty text if it runs with one."""
    if ready.error is None:
        version = ready.value[0]
        return "" if version == __version__ else f"it has tfprof_widget {version}, but here is {__version__}"
    message = str(getattr(ready.error, "evalue", ready.error))
    if getattr(ready.error, "ename", "") != "ModuleNotFoundError":
        return f"tfprof_widget does not work there ({message})"
    if "'tfprof_widget'" in message:
        return "tfprof_widget is not installed there: pip install tfprof-widget"
    return f"tfprof_widget {__version__} is not wholly installed there ({message})"


def _ran(number: int, ready: Answer, unready: str, ran: Answer, parcel: Answer | None) -> EngineResult:
    """How the cell ended on one engine, from what the engine answered."""
    host = ready.value[1] if ready.error is None else ""
    if parcel is None or parcel.error is not None or parcel.value is None:
        missing = unready or (str(parcel.error or "nothing was recorded") if parcel is not None else "")
        return EngineResult(number, host, None, missing, ran.error)
    try:
        return EngineResult(number, host, unpacked(parcel.value), "", ran.error)
    except Exception as error:  # as when the engine has another numpy
        return EngineResult(number, host, None, f"what it recorded cannot be read here ({error})", ran.error)
