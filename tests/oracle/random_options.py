"""Random options for a profile: every option, with values and regexes taken from what the profile holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import Any

import re2
from tensorflow.core.profiler.tfprof_options_pb2 import OptionsProto

from tests.oracle.random_profiles import RandomProfile

ROOT = "_TFProfRoot"
METRICS = (
    *("bytes", "peak_bytes", "residual_bytes", "output_bytes", "micros", "accelerator_micros", "cpu_micros"),
    *("params", "float_ops", "occurrence"),
)
ORDERS = ("name", "depth", *METRICS)
COLUMNS = (*METRICS, "tensor_value", "device", "op_types", "input_shapes")
DEFAULTS: dict[str, Any] = {
    "max_depth": 10_000,
    **{f"min_{metric}": 0 for metric in METRICS},
    "step": -1,
    "order_by": "name",
    "account_type_regexes": [".*"],
    "start_name_regexes": [".*"],
    "trim_name_regexes": [],
    "show_name_regexes": [".*"],
    "hide_name_regexes": [],
    "account_displayed_op_only": False,
    "select": ["micros"],
    "output": "stdout",
}


def options_proto(options: dict[str, Any]) -> bytes:
    """The serialized OptionsProto of a whole dict of options."""
    return bytes(OptionsProto(**options).SerializeToString())


def random_options(rng: Random, view: str, profile: RandomProfile) -> dict[str, Any]:
    """The defaults but for some options, seldom but for many: most combinations of filters leave no rows."""
    names = _names(view, profile)
    thresholds = _thresholds(profile)
    changes: dict[str, Any] = {
        "max_depth": rng.choice((1000, 100, 10, 5, 4, 3, 2, 1, _depth_zero(rng, view))),
        "step": rng.choice([step for step, _ in profile.steps]),
        "account_type_regexes": _regexes(rng, _types(profile)),
        "start_name_regexes": _regexes(rng, names),
        "trim_name_regexes": _trim_regexes(rng, view, names),
        "show_name_regexes": _regexes(rng, names),
        "hide_name_regexes": _regexes(rng, names),
        "account_displayed_op_only": True,
        **{f"min_{metric}": rng.choice(thresholds[metric]) for metric in rng.sample(METRICS, 2)},
    }
    changed = rng.sample(sorted(changes), rng.choice((0, 1, 1, 2, 2, 3, 4, len(changes))))
    return {
        **DEFAULTS,
        **{name: changes[name] for name in changed},
        "order_by": rng.choice(ORDERS),
        "select": rng.sample(COLUMNS, rng.choice((0, 1, 2, 4, len(COLUMNS)))),
    }


def _depth_zero(rng: Random, view: str) -> int:
    """Native dies of a code view that may not even show its root: ask for it seldom."""
    return 0 if view != "code" or rng.random() < 0.1 else 1


def _trim_regexes(rng: Random, view: str, names: Sequence[str]) -> list[str]:
    regexes = _regexes(rng, names)
    trims_the_root = any(re2.fullmatch(regex, ROOT) for regex in regexes)
    return [] if view == "code" and trims_the_root and not rng.random() < 0.1 else regexes


def _names(view: str, profile: RandomProfile) -> list[str]:
    if view == "code":
        return _frame_names(profile.op_log) or ["none"]
    return [node.op if view == "op" else node.name for node in profile.graph.node] or ["none"]


def _frame_names(op_log: Any) -> list[str]:
    frames = [frame for entry in op_log.log_entries for frame in entry.code_def.traces]
    strings = op_log.id_to_string
    names = {
        f"{strings[frame.file_id].rpartition('/')[2]}:{frame.lineno}:{strings[frame.function_id]}" for frame in frames
    }
    return sorted(names)


def _types(profile: RandomProfile) -> list[str]:
    operations = {node.op for node in profile.graph.node}
    devices = {stats.device.lower() for _, meta in profile.steps for stats in meta.step_stats.dev_stats}
    logged = {logged_type for entry in profile.op_log.log_entries for logged_type in entry.types}
    return sorted(operations | devices | logged | {"_kTFScopeParent", "none"})


def _regexes(rng: Random, words: Sequence[str]) -> list[str]:
    return [_regex(rng, words) for _ in range(rng.choice((0, 1, 1, 1, 1, 1, 1, 2, 2, 3)))]


def _regex(rng: Random, words: Sequence[str]) -> str:
    """A regex in RE2's syntax about a word that the profile holds or, for call frames, a part of one."""
    word, other = rng.choice(words), rng.choice(words)
    exact = re.escape(word)
    part = re.escape(rng.choice([word, *re.split("[/:]", word)]))
    about_the_word = (
        *(exact, f".*{part}.*", f"{part}.*", f".*{part}", f"^{exact}$", rf"\A{exact}\z", rf"\Q{word}\E"),
        *(f"(?i).*{part.upper()}.*", f"{exact}|.*{re.escape(other)}.*", f"({part}|x)+.*"),
        *(f".*?{part}(?:/.*)?", f"(?P<n>{part}).*"),
    )
    about_characters = (
        *("[[:alpha:]]+.*", "[[:word:]]*[/:.].*", r"\pL+.*", r".*\p{Greek}.*", r".*[é-ü\x{1d4b3}].*"),
        *(r".*\d.*", r"\PN*", "[^/]*", "[^/]*/[^/]*", ".{3,8}", r".*\bconv\d\b.*"),
        *("(?s:.+)", ".*?", "", "no such name", r"\D+", r"\W*\w+\W?.*", "[^[:digit:]]*", "(?m)^.*$", "(?ism).*A.*"),
        *("(?U).*b.*", r"(?:.|\n)*", r".*\s?.*", "^(?:.*/)?[a-c]$", r"\x62.*", "(.*)(.*)", ".{2,}?1*"),
    )
    return rng.choice(about_the_word if rng.random() < 0.7 else about_characters)


def _thresholds(profile: RandomProfile) -> dict[str, list[int]]:
    """For each metric values around those of single executions and nodes, and ten times as much."""
    devices = [device for _, meta in profile.steps for device in meta.step_stats.dev_stats]
    executions = [execution for device in devices for execution in device.node_stats]
    shapes = [node.attr["shape"].shape for node in profile.graph.node if "shape" in node.attr]
    present = {
        "bytes": [used.total_bytes for execution in executions for used in execution.memory],
        "micros": [execution.op_end_rel_micros for execution in executions],
        "params": [dimension.size for shape in shapes for dimension in shape.dim],
        "float_ops": [entry.float_ops for entry in profile.op_log.log_entries],
        "occurrence": [1, 2],
    }
    thresholds = {kind: _around(values) for kind, values in present.items()}
    kinds = {metric: next(kind for kind in present if metric.endswith(kind)) for metric in METRICS}
    return {metric: thresholds[kind] for metric, kind in kinds.items()}


def _around(values: Sequence[int]) -> list[int]:
    return sorted({max(0, near) for value in (0, *values) for near in (value, value + 1, 10 * value)})
