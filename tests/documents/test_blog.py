"""The blog post on `Profiler`: every fifth step is added, then the options that it builds are used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tfprof_widget as tfprof
from tests.sketches import protos_of

# From step to step the weights take longer; 200 MB of them are more than the post's threshold.
GRAPH, RUN_METAS, _ = protos_of("""
    siamese/weights = VariableV2() 100x10 10us;20us;30us 200000000B
    siamese/product = MatMul(siamese/weights) 5us;5us;5us 1000B
    images          = Placeholder() 1us;1us;1us
""")


@pytest.fixture
def graph_profiler() -> tfprof.Profiler:
    graph_profiler = tfprof.Profiler(graph=GRAPH)
    for step in range(15):
        if step % 5 == 0:
            graph_profiler.add_step(step=step, run_meta=RUN_METAS[step // 5])
    return graph_profiler


def options() -> dict[str, Any]:
    profile_scope_opts_builder = tfprof.ProfileOptionBuilder(
        tfprof.ProfileOptionBuilder.trainable_variables_parameter()
    )
    profile_scope_opts_builder.with_accounted_types([".*"])
    profile_scope_opts_builder.with_min_bytes(1024 * 1024 * 100)  # only show >100Mb
    profile_scope_opts_builder.select(["params", "bytes", "input_shapes", "micros", "device"])
    profile_scope_opts_builder.order_by("bytes")
    profile_scope_opts_builder.with_empty_output()
    return profile_scope_opts_builder.build()


def test_only_what_is_larger_than_100_mb_is_shown(graph_profiler: tfprof.Profiler) -> None:
    root = graph_profiler.profile_name_scope(options())
    scope = root.children[0]
    assert [child.name for child in root.children] == ["siamese"]
    assert [child.name for child in scope.children] == ["siamese/weights"]
    assert scope.children[0].requested_bytes == 200_000_000


def test_the_timeline_is_under_natives_name_which_is_told(
    graph_profiler: tfprof.Profiler, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph_profiler.profile_name_scope(options() | {"output": f"timeline:outfile={tmp_path}/train_profiler.json"})
    path = tmp_path / "train_profiler.json_-1"
    assert f"written to {path}." in capsys.readouterr().out
    slices = [event for event in json.loads(path.read_bytes())["traceEvents"] if event["ph"] == "X"]
    # The mean of the steps, of what is shown: the post's options account for nothing else.
    assert [(event["name"], event["ts"], event["dur"]) for event in slices] == [
        ("_TFProfRoot", 0, 20),
        ("siamese", 0, 20),
        ("siamese/weights", 0, 20),
    ]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("step", "micros"), [(0, 10), (5, 20), (10, 30), (-1, 20)])
def test_which_step_is_shown(graph_profiler: tfprof.Profiler, step: int, micros: int) -> None:
    root = graph_profiler.profile_name_scope(options() | {"step": step})
    assert root.children[0].children[0].exec_micros == micros


def test_the_posts_own_option_list(graph_profiler: tfprof.Profiler, capsys: pytest.CaptureFixture[str]) -> None:
    graph_profiler.profile_name_scope(
        {
            "max_depth": 4,
            "min_bytes": 0,
            "min_micros": 10,
            "min_params": 0,
            "min_float_ops": 0,
            "min_occurrence": 0,
            "step": -1,
            "order_by": "micros",
            "account_type_regexes": [".*"],
            "start_name_regexes": [".*"],
            "trim_name_regexes": [],
            "show_name_regexes": ["siamese.*"],
            "hide_name_regexes": [],
            "account_displayed_op_only": False,
            "select": ["micros"],
            "output": "stdout:",
        }
    )
    rows = capsys.readouterr().out.partition("cpu execution time\n")[2].partition("\n\n")[0]
    assert rows.splitlines() == [
        "_TFProfRoot (--/26us, --/0us, --/26us)",
        "  siamese (0us/25us, 0us/0us, 0us/25us)",
        "    siamese/weights (20us/20us, 0us/0us, 20us/20us)",
    ]
