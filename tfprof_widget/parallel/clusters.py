"""Finds the engines that a user means: by a variable, by their numbers, or those of the one cluster there is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfprof_widget.errors import ProfileError

INSTALL = 'pip install "tfprof-widget[distributed]"'
START = "    import ipyparallel\n    rc = ipyparallel.Cluster(n=4).start_and_connect_sync()"
_RANGE = re.compile(r"(-?\d*):(-?\d*)")
_NUMBERS = re.compile(r"\d+(,\d+)*")


@dataclass(frozen=True)
class Engines:
    """Engines of a cluster by their numbers, and the client that reaches them."""

    client: Any
    numbers: tuple[int, ...]


@contextmanager
def named_engines(name: str, variables: Mapping[str, Any]) -> Iterator[Engines]:
    """The engines that a text names: nothing for all, numbers (`0:2`), or a variable or a part of it (`rc[:2]`).

    Without a variable they are those of the one client among the variables, or of the one cluster that runs under the
    user's IPython profile, which is connected to for the length of the block.
    """
    numbers = _numbers(name)
    with ExitStack() as opened:
        if numbers is None:
            yield reached(_value(name, variables), opened)
        else:
            engines = reached(_only_cluster(variables), opened)
            yield Engines(engines.client, _chosen(numbers, engines.numbers, name))


def reached(meant: Any, opened: ExitStack) -> Engines:
    """The engines of a client, a view or a cluster, which is connected to until `opened` is closed."""
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
        raise ProfileError("engines: there are none yet; `rc.wait_for_engines(4)` waits for that many")
    return Engines(client, (numbers,) if isinstance(numbers, int) else tuple(dict.fromkeys(numbers)))


def _numbers(name: str) -> slice | list[int] | None:
    """The engines' numbers that a text holds, or a range of them; None where it is a variable's name.

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
        return _held(ast.parse(name, mode="eval").body, variables)
    except (SyntaxError, _NamesNothing):
        raise ProfileError(
            f"engines: {name!r} names none; it may be a variable (rc), a part of one (rc[:2]) or numbers (0:2). "
            "What is to run stands below, or with %tfprof behind it: --engines rc train()"
        ) from None
    except Exception as error:
        raise ProfileError(f"engines: {name!r} cannot be looked up ({type(error).__name__}: {error})") from None


class _NamesNothing(Exception):
    """An expression that is more than a variable or a part of one: it could be the code that is to run."""


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
    """The client or cluster that is meant where none is named."""
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
    return ipyparallel, view
