"""The command line of the matrix: `python -m tests.slow.matrix --help`."""

from __future__ import annotations

import argparse
import subprocess
import sys

from tests.slow.matrix.environments import Environment, environment, make, versions
from tests.slow.matrix.outcomes import Outcome, run_tests, table
from tests.slow.matrix.parts import NAMES, explained


def main() -> int:
    """Run what was asked for, print the table, and return 1 if a test failed or an environment could not be made."""
    chosen = _arguments()
    if chosen.list:
        print("\n".join(explained()))
        return 0
    outcomes = [_outcome(name) for name in NAMES if name in chosen.only]
    print("\n" + table(outcomes))
    return 0 if all(outcome.is_good for outcome in outcomes) else 1


def _outcome(name: str) -> Outcome:
    found = Environment(name, "")
    try:
        found = environment(name)
        version = f" with TensorFlow {found.tensorflow}" if found.tensorflow else ""
        print(f"{name}{version}: {found.directory}", file=sys.stderr)
        make(found)
    except (subprocess.CalledProcessError, ValueError) as error:
        print(f"{name} could not be made: {error}", file=sys.stderr)
        return Outcome(found, {"tensorflow": found.tensorflow}, 0, 0, 0.0, is_whole=False)
    return run_tests(found, versions(found))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.slow.matrix",
        description="Runs the tests with the oldest and the newest TensorFlow for this Python, without any, and with "
        "the newest for later Pythons.",
    )
    parser.add_argument("--only", type=_names, default=NAMES, help=f"some of {','.join(NAMES)}")
    parser.add_argument("--list", action="store_true", help="print what is not run, and why")
    return parser.parse_args()


def _names(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    for name in names:
        if name not in NAMES:
            raise argparse.ArgumentTypeError(f"there is no {name!r}; choose from {', '.join(NAMES)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
