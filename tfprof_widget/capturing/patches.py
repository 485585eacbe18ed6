"""Replaces functions of other packages for a while, and puts the very same ones back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Protocol

PATCH = "_tfprof_widget_patch"

# What is replaced: its owner, its name, and what makes the replacement of the original.
Hook = tuple[Any, str, Callable[[Any], Callable[..., Any]]]


class Noting(Protocol):
    """Keeps sentences for the result, and what went wrong in the package itself."""

    def note(self, warning: str) -> None:
        """Keep a sentence."""

    def broke(self, error: Exception) -> None:
        """Keep an error of the package's own."""


class Patch:
    """A function replaced by one that is made of it; `undo` puts it back.

    Patches may be undone in any order: one that lies under another is taken out with the last above it.

    >>> class Session:
    ...     def run(self): return "ran"
    >>> patch = Patch(Session, "run", lambda original: lambda session: f"hooked, {original(session)}")
    >>> Session().run()
    'hooked, ran'
    >>> patch.undo()
    >>> Session().run()
    'ran'
    """

    def __init__(self, owner: Any, name: str, replacement: Callable[[Any], Callable[..., Any]]) -> None:
        self.owner = owner
        self.name = name
        self.replacement = replacement
        self.original = vars(owner)[name]
        self.is_undone = False
        self.replaced = wraps(self.original)(replacement(self.original))
        setattr(self.replaced, PATCH, self)
        setattr(owner, name, self.replaced)

    def undo(self) -> None:
        """Put the original back, unless another package has put its own there meanwhile."""
        self.is_undone = True
        on_top = vars(self.owner).get(self.name)
        if on_top is None:  # another package took it away, and will know why
            return
        while (patch := _patch_of(on_top)) is not None and patch.is_undone:
            on_top = patch.original
        setattr(self.owner, self.name, on_top)


def _patch_of(function: Any) -> Patch | None:
    """The patch that put this function where it is; a wrapper of it may have the mark too."""
    patch = getattr(function, PATCH, None)
    return patch if patch is not None and patch.replaced is function else None


def patches_of(function: Any) -> Iterator[Patch]:
    """The patches that lie over one another where this function is, the last one first.

    >>> list(patches_of(print))
    []
    """
    while (patch := _patch_of(function)) is not None:
        yield patch
        function = patch.original


def put_patches(hooks: Callable[[], Iterator[Hook]], patches: list[Patch], recorder: Noting) -> None:
    """Put the hooks in, each at the end of `patches`; one whose place is not there is noted, and the rest goes on."""
    try:
        for owner, name, replacement in hooks():
            if owner is None or name not in vars(owner):
                recorder.note(f"this TensorFlow has no {name}, so what runs through it is missing here")
            else:
                patches.append(Patch(owner, name, replacement))
    except Exception as error:
        recorder.broke(error)
