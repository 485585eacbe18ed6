"""Waits for a module to be imported: what is captured may be what imports TensorFlow."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


@contextmanager
def when_imported(name: str, use: Callable[[ModuleType], None]) -> Iterator[None]:
    """Hand a module over once: now if it is imported, else as soon as the block has imported it.

    >>> import string
    >>> with when_imported("string", lambda module: print(module.digits)):
    ...     pass
    0123456789
    """
    module = sys.modules.get(name)
    if module is not None:
        use(module)
        yield
        return
    finder = _Awaiting(name, use)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        with suppress(ValueError):  # another package may have put its own list there
            sys.meta_path.remove(finder)


class _Awaiting(MetaPathFinder):
    """Finds one module as the finders after it do, and hands it over when it has been executed."""

    def __init__(self, name: str, use: Callable[[ModuleType], None]) -> None:
        self._name = name
        self._use = use

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name or self not in sys.meta_path:  # another thread may end the block meanwhile
            return None
        after = sys.meta_path[sys.meta_path.index(self) + 1 :]
        specs = (finder.find_spec(fullname, path, target) for finder in after if hasattr(finder, "find_spec"))
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            self._put_on(spec.loader)
        return spec

    def _put_on(self, loader: Any) -> None:
        """Let the loader hand the module over; it may be one that all modules share, which is to be as it was."""
        execute = loader.exec_module

        def execute_and_use(module: ModuleType) -> None:
            if module.__name__ != self._name:
                execute(module)
                return
            vars(loader).pop("exec_module", None)
            execute(module)
            self._use(module)

        vars(loader)["exec_module"] = execute_and_use
