"""Makes tests/conformance: small profiles, real and random, with native tfprof's answers.

Run it from the top of the repository: `python -m tests.oracle.make_conformance`. The format is described in
tests/conformance/README.md. The real models are run anew, so their times differ from one making to the next.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from tensorflow.python.profiler import tfprof_logger

from tests.oracle.models import MODELS
from tests.oracle.native import VIEWS, NativeAnswer, NativeTfprof, Request, Step
from tests.oracle.random_options import DEFAULTS, COLUMNS, options_proto, random_options
from tests.oracle.random_profiles import RandomProfile, random_profile
from tests.oracle.rows import rows

DIRECTORY = Path(__file__).parent.parent / "conformance"
# Seeds of random profiles, with the ids of their steps: chosen for unlike devices, names and stacks.
RANDOM = {5: (0,), 8: (0,), 13: (0,), 15: (0,), 33: (1, 2, 3), 38: (7, 7, 8)}
CHAIN = 31  # over 100 nodes deep and over 100 op types wide
ROWS = range(3, 40)
TRIES = 200


def main() -> None:
    """Writes the corpus afresh."""
    for stale in DIRECTORY.glob("*.json"):
        stale.unlink()
    with NativeTfprof() as native:
        for name, profile in _profiles():
            cases = list(_deep_cases(profile) if name.endswith(str(CHAIN)) else _cases(native, name, profile))
            answered = [_answered(native, profile, view, options) for view, options in cases]
            _write(DIRECTORY / f"{name.replace(' ', '-')}.json", profile, answered)


def _profiles() -> Iterator[tuple[str, RandomProfile]]:
    for name, model in MODELS.items():
        traced = model()
        op_log = tfprof_logger.merge_default_with_oplog(traced.graph, run_meta=traced.run_meta)
        for number, string in op_log.id_to_string.items():
            op_log.id_to_string[number] = _without_machine(string)
        yield name, RandomProfile(traced.graph.as_graph_def(add_shapes=True), ((0, traced.run_meta),), op_log)
    for seed, steps in (RANDOM | {CHAIN: (0,)}).items():
        yield f"random {seed}", random_profile(seed, steps)


def _without_machine(string: str) -> str:
    """A path's last two parts: where this machine keeps its files is nobody's business."""
    return "/".join(string.split("/")[-2:]) if string.startswith("/") else string


def _cases(native: NativeTfprof, name: str, profile: RandomProfile) -> Iterator[tuple[str, dict[str, Any]]]:
    """For each view the first random options under which it is neither empty nor long."""
    for view in VIEWS:
        rng = Random(f"{name} {view}")
        tried = (random_options(rng, view, profile) for _ in range(TRIES))
        yield view, next(options for options in tried if _is_fit(native, profile, view, options))


def _deep_cases(profile: RandomProfile) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "graph", DEFAULTS | {"order_by": "micros"}
    yield "op", DEFAULTS | {"order_by": "bytes", "select": ["bytes", "occurrence"]}
