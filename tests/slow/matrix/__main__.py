"""The command line of the matrix: `python -m tests.slow.matrix --help`."""

from __future__ import annotations

import argparse
import subprocess
import sys

from tests.slow.matrix.environments import Environment, environments, make, versions
from tests.slow.matrix.outcomes import Outcome, run_tests, table
from tests.slow.matrix.parts import NAMES, explained


def main() -> int:
    """Run what was asked for, print the table, and return 1 if a test failed or an environment could not be made."""
    chosen = _arguments()
    if chosen.list:
        print("\n".join(explained()))
        return 0
    outcomes = [_outcome(each) for each in environments() if each.name in chosen.only]
    print("\n" + table(outcomes))
    return 0 if all(outcome.is_good for outcome in outcomes) else 1


def _outcome(environment: Environment) -> Outcome:
    version = f" with TensorFlow {environment.tensorflow}" if environment.tensorflow else ""
    print(f"{environment.name}{version}: {environment.directory}", file=sys.stderr)
    try:
        make(environment)
    except subprocess.CalledProcessError as error:
        print(f"{environment.name} could not be made: {error}", file=sys.stderr)
        return Outcome(environment, {"tensorflow": environment.tensorflow}, 0, 0, 0.0, is_whole=False)
    return run_tests(environment, versions(environment))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.slow.matrix",
        description="Runs the tests with the oldest and the newest TensorFlow for this Python, and without any.",
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
