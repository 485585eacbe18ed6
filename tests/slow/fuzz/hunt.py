"""Hunts for faults of one target in a process of its own, guided by coverage: `python -m tests.slow.fuzz` starts it.

libFuzzer ends its process, so all that is found is written at once.
"""

from __future__ import annotations

import resource
import sys
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

MOST_FAULTS = 20
MOST_GROWTH, GROWTH_BY_BYTE = 64 * 2**20, 1_000
"""The most bytes by which an input lets the process grow, whatever its size, and for each byte of it."""


def _largest_bytes() -> int:
    """The most memory that the process had so far."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    """Run the target named first; faults go to the folder named second, the rest is libFuzzer's."""
    name, faults, *arguments = sys.argv[1:]
    atheris: Any = import_module("atheris")  # not named in an import, for linters have it not
    with atheris.instrument_imports(include=["tfprof_widget"], enable_loader_override=False):
        # Only what is imported here is watched, hence also what is imported when it is first needed.
        from tests.slow.fuzz.complaints import complaint, signature
        from tests.slow.fuzz.corpus import keep
        from tests.slow.fuzz.targets import TARGETS

        target = TARGETS[name]
        for data in target.healthy():
            complaint(target.read, data)
    smallest: dict[str, int] = {}

    def run(data: bytes) -> None:
        before = _largest_bytes()
        try:
            complaint(target.read, data)
            if _largest_bytes() - before > MOST_GROWTH + GROWTH_BY_BYTE * len(data):
                raise MemoryError(f"an input of {len(data):,} bytes took {_largest_bytes() - before:,}")
        except Exception as error:
            fault = signature(error)
            if len(data) < smallest.get(fault, sys.maxsize) and len(smallest) < MOST_FAULTS:
                smallest[fault] = len(data)
                folder = Path(faults, fault.replace(" ", "_").replace("/", "_"))
                keep(data, folder)
                print(f"FAULT {fault}: {error!s:.200}", file=sys.stderr)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        random = Random(seed)
        for _ in range(random.choice((1, 1, 2, 4))):
            data = target.mutated(data, random)
        return data[:most]

    atheris.Setup(["hunt", *arguments], run, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
