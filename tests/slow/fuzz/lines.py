"""Counts which lines of a reader some inputs reach: `python -m tests.slow.fuzz.lines TARGET FOLDER`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import tfprof_widget
from tests.slow.fuzz.complaints import complaint
from tests.slow.fuzz.target import Target
from tests.slow.fuzz.targets import TARGETS

PACKAGE = Path(tfprof_widget.__file__).parent
Line = tuple[str, int]


def lines_of(target: Target) -> set[Line]:
    """The lines of the functions in the modules that read a target's input; imports and constants are none."""
    files = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).as_posix().startswith(target.modules)]
    return {line for path in files for line in _lines(compile(path.read_bytes(), str(path), "exec"), is_function=False)}


def reached(target: Target, inputs: Iterable[bytes]) -> set[Line]:
    """Those of these lines that ran while a target read some inputs."""
    wanted, found = lines_of(target), set[Line]()
    files = {file for file, _ in wanted}

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename not in files:
            return None
        if event == "line":
            found.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for data in inputs:
            try:
                complaint(target.read, data)
            except Exception:  # a fault, which the hunt tells of
                continue
    finally:
        sys.settrace(before)
    return found & wanted


def _lines(code: CodeType, *, is_function: bool) -> Iterator[Line]:
    own = {number for _, _, number in code.co_lines() if number is not None and number != code.co_firstlineno}
    if is_function:
        yield from ((code.co_filename, number) for number in own)
    for each in code.co_consts:
        if isinstance(each, CodeType):
            is_class = "__qualname__" in each.co_names and "__module__" in each.co_names
            yield from _lines(each, is_function=not is_class)


if __name__ == "__main__":
    hunted = TARGETS[sys.argv[1]]
    whole = lines_of(hunted)
    print(len(reached(hunted, (path.read_bytes() for path in Path(sys.argv[2]).iterdir()))), len(whole))
