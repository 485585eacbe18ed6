"""Which tests run in which environment of the matrix; what is not run in one is named here, with the reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
OLDEST, NEWEST, WITHOUT = "oldest", "newest", "without"
OTHER_PYTHONS = {"python-3.12": "3.12", "python-3.13": "3.13"}
"""Environments with the newest TensorFlow on a later Python than the one that runs the matrix."""

NAMES = (OLDEST, NEWEST, WITHOUT, *OTHER_PYTHONS)

# Run in every environment but for what LEFT_OUT names.
CORE = (
    "tfprof_widget",  # the examples in its docstrings
    "tests/analysis",
    "tests/api",
    "tests/capturing",
    "tests/charts",
    "tests/cli",
    "tests/comparing",
    "tests/documents",
    "tests/engine",
    "tests/golden",
    "tests/ingest",
    "tests/lib",
    "tests/jobs",
    "tests/magic",
    "tests/output",
    "tests/profile_context",
    "tests/profiles",
    "tests/properties",
    "tests/widget",
    "tests/slow/test_differential.py",
    "tests/test_*.py",
)

# `make test` runs these once, and no environment of the matrix does.
ELSEWHERE = {
    "tests/bench": "it measures times",
    "tests/browser": "what a browser shows does not depend on TensorFlow",
    "tests/ingest/test_recordings.py": "it reads recordings that lie beside the repository, if there are any",
    "tests/hostile": "it is about the readers of what is written, and runs some of them",
    "tests/notebooks": "notebooks are shipped as the newest TensorFlow ran them",
    "tests/packaging": "it builds the package, and makes environments of its own",
    "tests/pages": "it is about README and docs",
    "tests/parallel": "it is about ipyparallel and its processes",
    "tests/slow": "it hunts: in damaged files, for long; tests/test_bad_input.py reads some here",
}

NATIVE = "it asks native tfprof, which is in TensorFlow"
RUNS = "it runs TensorFlow"


@dataclass(frozen=True)
class LeftOut:
    """Folders, files or single tests that an environment does not run, and why."""

    environment: str
    reason: str
    paths: tuple[str, ...]


LEFT_OUT = (
    LeftOut(
        WITHOUT,
        "it compares with native tfprof or runs TensorFlow",
        ("tests/analysis", "tests/capturing", "tests/documents", "tests/ingest/flops"),
    ),
    LeftOut(
        WITHOUT,
        NATIVE,
        (
            "tests/cli/test_native.py",
            "tests/ingest/files/test_saved_profiles.py",
            "tests/ingest/merging/test_merging.py",
            "tests/ingest/merging/test_saved.py",
            "tests/test_tfprof_logger.py",
            "tests/output/test_pprof_native.py",
            "tests/output/test_profile_proto.py",
            "tests/output/test_text.py",
            "tests/output/test_timeline_native.py",
            "tests/properties/test_two_engines.py",
            "tests/slow/test_differential.py",
            "tests/test_option_builder.py",
            "tests/lib/test_messages.py",
            "tests/lib/test_text.py",
            "tests/test_real_models.py",
            "tests/test_same_names.py",
        ),
    ),
    LeftOut(
        WITHOUT,
        RUNS,
        (
            "tests/cli/test_documents.py::test_gammas_of_a_checkpoint",
            "tests/ingest/test_checkpoints.py",
            "tests/ingest/test_function_graphs.py",
            "tests/ingest/test_tf_captures.py",
            "tests/ingest/test_tf_graph.py",
            "tests/lib/test_sealed_messages.py",
            "tests/ingest/test_xspace_functions.py",
            "tests/ingest/files/test_load.py",
            "tests/ingest/files/test_spaces.py",
            "tests/magic/test_callables.py",
            "tests/ingest/test_stacks.py",
            "tests/output/test_timeline.py",
            "tests/jobs/test_captured.py",
            "tests/profile_context",
            "tests/properties/test_large_numbers.py",
            "tests/test_demo.py",
            "tests/test_private_names.py",
            "tests/test_pprof_profiler.py",
            "tests/lib/test_urls.py",
            "tests/api",
        ),
    ),
    LeftOut(
        OLDEST,
        "it is about Keras 3, which came with TensorFlow 2.16; tests/capturing/test_keras_2_steps.py takes its place",
        ("tests/capturing/test_keras_steps.py",),
    ),
    LeftOut(
        OLDEST,
        "TensorFlow 2.12 keeps its stack traces otherwise, so that they are compared one by one, which is slower",
        ("tests/ingest/test_tf_captures.py::test_traces_are_told_apart_as_tensorflow_does",),
    ),
    LeftOut(
        OLDEST,
        "of strategies TensorFlow 2.12 records no transfers that are read here",
        ("tests/analysis/cluster/test_strategies.py",),
    ),
    LeftOut(OLDEST, "it tells what the newest versions have moved", ("tests/test_private_names.py",)),
    LeftOut(OLDEST, "it compares our protos with the newest TensorFlow's", ("tests/lib/test_messages.py",)),
    LeftOut(
        OLDEST,
        "it builds its models with tf_keras, which is beside TensorFlow 2.15 and later",
        ("tests/documents/mobilenet.py", "tests/documents/test_programs.py"),
    ),
)

# Old TensorFlow calls what newer Python, numpy and protobuf have deprecated since; elsewhere a warning is an error.
# TensorFlow 2.21's AutoGraph gives nodes of Python's syntax trees attributes that Python 3.13 has deprecated.
WARNINGS = {OLDEST: ("-W", "ignore::DeprecationWarning"), "python-3.13": ("-W", "ignore::DeprecationWarning")}


def arguments(environment: str) -> list[str]:
    """Pytest's arguments for the tests of an environment.

    >>> "tests/capturing" in arguments("newest"), "tests/capturing" in arguments("without")
    (True, False)
    """
    missing = [path for each in LEFT_OUT if each.environment == environment for path in each.paths]
    deselected = [f"--deselect={path}" for path in missing if "::" in path]
    run = [path for path in _existing(CORE) if path not in missing]
    ignored = [f"--ignore={path}" for path in missing if "::" not in path and path not in CORE]
    ignored += [f"--ignore={path}" for path in ELSEWHERE if path.endswith(".py")]
    return [*WARNINGS.get(environment, ()), *deselected, *ignored, *run]


def explained() -> list[str]:
    """Everything that is not run somewhere, a line each."""
    lines = [f"nowhere: {path}: {reason}" for path, reason in ELSEWHERE.items()]
    return lines + [f"{each.environment}: {path}: {each.reason}" for each in LEFT_OUT for path in each.paths]


def _existing(patterns: Iterable[str]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for pattern in patterns for path in sorted(ROOT.glob(pattern))]
