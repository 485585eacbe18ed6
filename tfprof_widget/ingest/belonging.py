"""Tells whether what ran can be of a graph: the runtime adds nodes of its own, mostly named after the graph's."""

from __future__ import annotations

import re
import warnings
from collections.abc import Container, Iterable

from tfprof_widget.errors import ProfileError, ProfileWarning

_FOLDED = "ConstantFolding/"
_FED_OR_FETCHED = re.compile(r"_(?:arg|retval)_(.+)_\d+_\d+", re.DOTALL)


def check_belonging(ran: Iterable[str], graph: Container[str]) -> None:
    """Refuse a run of which no node belongs to the graph; warn of one of which most do not.

    >>> check_belonging(["loss/_0__cf__0", "_retval_loss_0_0"], {"loss"})
    >>> check_belonging(["x"], {"loss"})
    Traceback (most recent call last):
        ...
    tfprof_widget.errors.ProfileError: run_meta: none of its 1 nodes is in the graph (such as 'x'); it was ...
    """
    named = [name for name in map(_stem, ran) if not name.startswith("_")]
    strange = [name for name in named if not _belongs(name, graph)]
    if strange and len(strange) == len(named):
        raise ProfileError(
            f"run_meta: none of its {len(named)} nodes is in the graph (such as {strange[0]!r}); "
            "it was recorded from another graph: pass the graph of the session that ran"
        )
    if len(strange) > len(named) // 2:
        warnings.warn(
            f"run_meta: {len(strange)} of its {len(named)} nodes are not in the graph "
            f"(such as {strange[0]!r}); was it recorded from another graph?",
            ProfileWarning,
            stacklevel=5,
        )


def _stem(name: str) -> str:
    """The name that the runtime made this one of; one that starts with `_` is the runtime's own."""
    fed = _FED_OR_FETCHED.fullmatch(name)
    return fed[1] if fed else name.removeprefix(_FOLDED)


def _belongs(name: str, graph: Container[str]) -> bool:
    while name:
        if name in graph:
            return True
        name = name.rpartition("/")[0]
    return False
