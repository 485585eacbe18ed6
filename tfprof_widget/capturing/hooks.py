"""Replaces functions of other packages by hooks while a block runs, hides the hooks, and takes them out again."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from threading import RLock
from types import ModuleType, TracebackType
from typing import Any, Protocol

from tfprof_widget.lib.safely import deliver_interrupt

PATCH = "_tfprof_widget_patch"

# A function to replace: its owner, its name, and the function that makes the replacement from the original.
Hook = tuple[Any, str, Callable[[Any], Callable[..., Any]]]


class Noting(Protocol):
    """Takes notes for the result, and errors of the package itself."""

    def note(self, warning: str) -> None:
        """Keep a sentence."""

    def stop_after_error(self, error: Exception) -> None:
        """Keep an error of the package's own."""


_PATCHING = RLock()
LONGEST_WAIT_SECONDS = 1.0
"""A patch is put in within microseconds; but in a forked child nobody gives back a lock that another thread had."""


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Put patches in and out one after the other: of two that replace the same original, one would be lost."""
    has_turn = _PATCHING.acquire(timeout=LONGEST_WAIT_SECONDS)
    try:
        yield
    finally:
        if has_turn:
            _PATCHING.release()


class Patch:
    """A function replaced by one that is made from it; `undo` puts the original back.

    Patches may be undone in any order: one that lies under others is taken out with the last of those.

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
        self.is_undone = False
        with _one_at_a_time():
            self.original = vars(owner)[name]
            self.replaced = wraps(self.original)(replacement(self.original))
            setattr(self.replaced, PATCH, self)
            setattr(owner, name, self.replaced)

    def undo(self) -> None:
        """Put the original back, unless another package has put its own there meanwhile."""
        with _one_at_a_time():
            self.is_undone = True
            on_top = vars(self.owner).get(self.name)
            if on_top is None:  # another package removed the function: leave it removed
                return
            while (patch := _patch_of(on_top)) is not None and patch.is_undone:
                on_top = patch.original
            setattr(self.owner, self.name, on_top)


def _patch_of(function: Any) -> Patch | None:
    """The patch that put this function in place; None for a wrapper of it, which may have copied the mark."""
    patch = getattr(function, PATCH, None)
    return patch if patch is not None and patch.replaced is function else None


def patches_of(function: Any) -> Iterator[Patch]:
    """The patches that lie over the original of this function, the last one first."""
    while (patch := _patch_of(function)) is not None:
        yield patch
        function = patch.original


def put_patches(hooks: Callable[[], Iterator[Hook]], patches: list[Patch], recorder: Noting) -> None:
    """Put the hooks in and add them to `patches`; a function that this TensorFlow lacks is noted and passed over."""
    try:
        for owner, name, replacement in hooks():
            if owner is None or name not in vars(owner):
                recorder.note(f"this TensorFlow has no {name}, so what runs through it is missing here")
            else:
                patches.append(Patch(owner, name, replacement))
    except Exception as error:
        recorder.stop_after_error(error)


class RunRecorder(Noting, Protocol):
    """Takes note of runs, in any thread, and says which to trace; hooks hand its runs back without looking at them."""

    @property
    def clock(self) -> Callable[[], float]:
        """Tells the time in seconds."""

    def begin(self, graph: Any, nodes: Iterable[str], *, untraceable: str = "") -> Any:
        """Take note of a run that begins now; gives an object with a flag `traced`, or None to let the run pass."""

    def finished(self, run: Any, metadata: bytes | None = None, since: float | None = None) -> None:
        """Take note that a run has ended, with the RunMetadata if it was traced; with `since`, as `watched` does."""

    def watched(self, run: Any, since: float) -> None:
        """Take note that watching a run took the time from `since` until now, without the run itself."""

    def raised(self, run: Any) -> None:
        """Take note that a run ended in an exception."""

    def withdraw(self, run: Any) -> None:
        """Take a run back that could not be watched after all."""


class TracedCall:
    """A call that is traced: it has the arguments to call the original with, and then metadata for the recorder."""

    def __init__(self, recorder: RunRecorder, run: Any, arguments: Sequence[Any], keywords: dict[str, Any]) -> None:
        self.recorder = recorder
        self.run = run
        self.arguments = arguments
        self.keywords = keywords

    def hand_over(self) -> None:
        """Give the user the metadata asked for; what this raises reaches the user."""

    def finished(self, since: float) -> None:
        """Tell the recorder that the run returned, with its metadata, and how long watching took since then."""
        try:
            try:
                self.recorder.finished(self.run, self.metadata())
            finally:
                self.release()
            self.recorder.watched(self.run, since)
        except Exception as error:
            self.recorder.stop_after_error(error)

    def raised(self) -> None:
        """Tell the recorder that the run raised an exception."""
        try:
            try:
                self.recorder.raised(self.run)
            finally:
                self.release()
        except Exception as error:
            self.recorder.stop_after_error(error)

    def metadata(self) -> bytes | None:
        """The serialized RunMetadata."""
        return None

    def release(self) -> None:
        """Free what tracing this run needed."""


class CallWatcher(ABC):
    """Watches the calls of a function for a recorder."""

    def __init__(self, recorder: RunRecorder) -> None:
        self.recorder = recorder

    @abstractmethod
    def begin(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Take note of a call; gives a TracedCall, the recorder's run if it is not traced, or None to let it pass."""

    def hook(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """The function to put in place of the original.

        It alone calls the original, so that tracebacks grow by one frame only; and no lock is held meanwhile. What it
        does itself is not spread over functions, since calling these would take longer; nor does it pass keywords on
        that nobody gave, which takes as long as four calls without.
        """
        begin, recorder, clock = self.begin, self.recorder, self.recorder.clock

        def hook(*arguments: Any, **keywords: Any) -> Any:
            __tracebackhide__ = True
            since = clock()
            try:
                run = begin(arguments, keywords)
            except Exception as error:
                recorder.stop_after_error(error)
                run = None
            call = run if isinstance(run, TracedCall) else None
            if call is not None:
                arguments, keywords = tuple(call.arguments), call.keywords
            try:
                results = original(*arguments, **keywords) if keywords else original(*arguments)
            except BaseException:
                if call is not None:
                    call.raised()
                elif run is not None:
                    self._raised(run)
                raise
            if call is not None:
                call.finished(since)
                call.hand_over()
            elif run is not None:
                try:
                    recorder.finished(run, None, since)
                except Exception as error:
                    recorder.stop_after_error(error)
            deliver_interrupt()
            return results

        return hook

    def _raised(self, run: Any) -> None:
        try:
            self.recorder.raised(run)
        except Exception as error:
            self.recorder.stop_after_error(error)


def add_finder(finder: MetaPathFinder) -> None:
    """Let a finder be the first that is asked for modules.

    The list of finders is replaced: an import that is going through it, in another thread or in a finder, would
    otherwise skip one of them, and so not find its module.

    >>> class Finder(MetaPathFinder): pass
    >>> finder = Finder()
    >>> add_finder(finder)
    >>> sys.meta_path[0] is finder
    True
    >>> remove_finder(finder)
    >>> finder in sys.meta_path
    False
    """
    with _one_at_a_time():
        sys.meta_path = [finder, *sys.meta_path]


def remove_finder(finder: MetaPathFinder) -> None:
    """Ask a finder for modules no more; the list that another package has put there without it is left alone."""
    with _one_at_a_time():
        if finder in sys.meta_path:
            sys.meta_path = [each for each in sys.meta_path if each is not finder]


@contextmanager
def when_imported(name: str, use: Callable[[ModuleType], None]) -> Iterator[None]:
    """Call `use` once with a module: now if it is imported, else as soon as the block has imported it.

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
    add_finder(finder)
    try:
        yield
    finally:
        remove_finder(finder)


class _Awaiting(MetaPathFinder):
    """Finds one module as the finders after it do, and calls `use` with it when it has been executed."""

    def __init__(self, name: str, use: Callable[[ModuleType], None]) -> None:
        self._name = name
        self._use = use

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        finders = sys.meta_path
        if fullname != self._name or self not in finders:  # another thread may end the block meanwhile
            return None
        after = finders[finders.index(self) + 1 :]
        specs = (finder.find_spec(fullname, path, target) for finder in after if hasattr(finder, "find_spec"))
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            self._put_on(spec.loader)
        return spec

    def _put_on(self, loader: Any) -> None:
        """Let the loader call `use` once; other modules may share the loader, so it is put back after that."""
        execute = loader.exec_module

        def execute_and_use(module: ModuleType) -> None:
            if module.__name__ != self._name:
                execute(module)
                return
            vars(loader).pop("exec_module", None)
            execute(module)
            self._use(module)

        vars(loader)["exec_module"] = execute_and_use


# The modules that shorten tracebacks: TensorFlow's, Keras 3's and Keras 2's.
SHORTENERS = (
    "tensorflow.python.util.traceback_utils",
    "keras.src.utils.traceback_utils",
    "keras.utils.traceback_utils",
    "tf_keras.src.utils.traceback_utils",
)
HOOKS = __name__.rpartition(".")[0] + "."
FOLDER = str(Path(__file__).parent)


def shortener_hooks(module: ModuleType) -> Iterator[Hook]:
    """Leave frames of hooks out of shortened tracebacks, as TensorFlow's own frames are."""

    def replace(original: Callable[[str], bool]) -> Callable[[str], bool]:
        return lambda file: not file.startswith(FOLDER) and original(file)

    if hasattr(module, "include_frame"):
        yield module, "include_frame", replace


def without_hooks(error: BaseException | None) -> None:
    """Take the frames of hooks out of an exception and of those that led to it; the innermost frame stays.

    The exception stays the same object, to be raised on.
    """
    known: set[int] = set()
    waiting = [error]
    while waiting:
        error = waiting.pop()
        if error is None or id(error) in known:
            continue
        known.add(id(error))
        _unlink_hooks(error.__traceback__)
        waiting += [error.__cause__, error.__context__]


def _unlink_hooks(entry: TracebackType | None) -> None:
    while entry is not None:
        while (below := entry.tb_next) is not None and below.tb_next is not None and _is_of_hook(below):
            entry.tb_next = below.tb_next
        entry = entry.tb_next


def _is_of_hook(entry: TracebackType) -> bool:
    frame = entry.tb_frame
    is_ours = str(frame.f_globals.get("__name__", "")).startswith(HOOKS)
    return is_ours and "__tracebackhide__" in frame.f_code.co_varnames
