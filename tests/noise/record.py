"""Runs a cell many times in this process, and keeps what a comparison needs of each run."""

from __future__ import annotations

import argparse
import os
import pickle
from dataclasses import replace
from pathlib import Path

from tests.noise.cells import CELLS
from tfprof_widget.profiles.kept_run import KeptRun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=CELLS)
    parser.add_argument("out", type=Path)
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--variants", type=int, required=True, help="runs of the slower variant, in turns with others")
    arguments = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from tfprof_widget.api.capture import capture

    make, slower = CELLS[arguments.kind]
    cells = make(), make(slower)
    for cell in cells:
        cell()
    found: dict[str, list[KeptRun]] = {"same": [], "turns": [], "slower": []}
    order = ["same"] * arguments.runs + ["turns", "slower", "slower", "turns"] * (arguments.variants // 2)
    for name in order:
        with capture() as prof:
            cells[name == "slower"]()
        run, others = prof.kept_run, found[name]
        if others and others[0].ops.same_as(run.ops):
            run = replace(run, ops=others[0].ops)
        others.append(run)
    arguments.out.write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main()
