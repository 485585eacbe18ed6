"""The sentence of the overview on planted cells, the parts of its bars, and the bars of its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.advisor.findings import CPU, on_cpu, ran
from tests.analysis.advisor.test_cell_time import SECOND, SLOW, captured, looked, phase, took
from tests.analysis.advisor.test_cluster import STEPS, workers
from tests.analysis.advisor.test_input_bound import MAP, fed
from tests.analysis.advisor.test_tiny_kernels import adds
from tfprof_widget.analysis.advisor.finding import Evidence, Finding, share_of_whole
from tfprof_widget.analysis.advisor.overview import overview, percents
from tfprof_widget.api.profile import Profile
from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.profiles.cell import FIRST_RUN, PARTLY_TRACED, RAISED, TRACED, CellRuns, CellTimes, CodeLine
from tfprof_widget.profiles.data import EAGER
from tfprof_widget.profiles.program import ModelLayer
from tfprof_widget.profiles.tables import CodeStacks, Lists
from tfprof_widget.widget.shown import ShownGraph

TRAIN = "/home/me/train.py"


def sentence(profile: Profile) -> str:
    """What is said first of a profile, with all checkers asked."""
    return ShownGraph("made", profile).overview.sentence


def model(nanos: dict[str, int], runs: dict[str, int] | None = None, line: int = 0) -> Profile:
    """A step of layers that take so long, in microseconds; `runs` says how often the op of one of them runs."""
    start, executions = 1000, []
    for name, micros in nanos.items():
        count = (runs or {}).get(name, 1)
        for number in range(count):
            executions.append((f"{name}/MatMul", start + number * micros // count, micros // count))
        start += micros
    profile = ran({f"{name}/MatMul": "MatMul" for name in nanos}, on_cpu(*executions))
    layers = tuple(ModelLayer(name, name, "LSTM" if "lstm" in name else "Dense") for name in nanos)
    of_file, at, of_function, of_source = (np.array([each], np.int32) for each in (0, line, 1, ABSENT))
    traces = CodeStacks(
        (TRAIN, "build"),
        np.arange(2),
        of_file,
        at,
        of_function,
        of_source,
        at,
        Lists.of([[0]]),
        np.zeros(len(profile.nodes), np.int32),
    )
    return replace(profile, model_layers=layers, traces=traces if line else profile.traces)


def retraced() -> Profile:
    building = dict.fromkeys(range(20), SECOND // 10)
    runs = CellRuns.of("train", np.arange(20) * SECOND // 2, [SECOND // 5] * 20, {}, {}, building)
    looks = looked("tracing", (CodeLine(TRAIN, 7, "<module>"),))
    return replace(captured(runs=(runs,), looks=looks), main_kind="train")


def many_tiny() -> Profile:
    return ran({"add": "AddV2", "scale": "Mul"}, on_cpu(*adds(400, 1, 2), ("scale", 1800, 1)))


WATCHER = phase("Watcher.on_train_batch_end", 2.0, line=CodeLine(TRAIN, 18, "on_train_batch_end"))
PLANTED = {
    "callback": (
        captured(phases=(WATCHER,), looks=looked("python", (SLOW,))),
        ["Watcher", "2 s of the cell's 10 s", "train.py:20"],
    ),
    "slow map": (fed(MAP, 500, steps=10.0), ["for their next batch", "Map(slow), train.py:7", "num_parallel_calls"]),
    "generator": (
        captured(took(4.0, "input")),
        ["waits 4 s of the cell's 10 s (40 %) for the next batch", "train.py:7", "Do less Python"],
    ),
    "retracing": (retraced(), ["train was built 20 times", "train.py:7", "Give tensors instead of Python numbers"]),
    "heavy layer": (
        model({"a": 10, "big": 900, "c": 10, "d": 10}, line=12),
        ["the layer big (Dense), train.py:12", "97 %", "make this layer smaller"],
    ),
    "LSTM loop": (
        model({"a": 50, "lstm": 5000, "c": 50}, {"lstm": 50}, line=9),
        ["lstm (LSTM), train.py:9", "50 ops"],
    ),
    "tiny ops": (many_tiny(), ["A step runs 401 ops that take longer to start than to run", "Give each op more to do"]),
    "imbalance": (
        workers([100] * STEPS, [900] * STEPS),
        ["Other tasks wait for /job:worker/replica:0/task:1", "no more work"],
    ),
    "Python between": (
        captured(took(5.0, "python", 3)),
        ["No step runs for 5 s", "train.py:3", "Do less there", "take 5 s"],
    ),
    "saving": (captured(phases=(phase("saving", 3.0),)), ["Saving takes 3 s", "Save less often"]),
}
UNPLANTED = {
    "plain model": model({"a": 100, "b": 130, "c": 120}),
    "short callback": captured(phases=(phase("Watcher.b", 0.4),)),
    "one op": ran({"dense": "MatMul"}, on_cpu(("dense", 1000, 10))),
}


@pytest.mark.parametrize("cause", PLANTED)
def test_the_sentence_names_what_was_planted_and_its_line(cause: str) -> None:
    profile, words = PLANTED[cause]
    said = sentence(profile)
    assert [word for word in words if word not in said] == [], said


@pytest.mark.parametrize("name", UNPLANTED)
def test_the_sentence_claims_nothing_where_nothing_was_planted(name: str) -> None:
    assert sentence(UNPLANTED[name]).startswith("Nothing stands out. ")


def test_the_largest_of_several_is_told_with_what_it_would_bring() -> None:
    profile = captured(took(1.0, "python"), phases=(phase("Watcher.b", 4.0),))
    said = sentence(profile)
    assert said.startswith("The callback Watcher takes 4 s")
    assert said.endswith("Without this the cell would take 6 s instead of 10 s.")


def test_a_share_of_a_step_counts_as_much_of_the_cell_as_the_steps_are() -> None:
    waits = Finding("Steps wait.", Evidence("op"), "Let them not.", of_step=0.5)
    cell = CellTimes.of({"steps": 2 * SECOND, "python": 8 * SECOND})
    assert share_of_whole(waits, replace(captured(), cells=(cell,))) == pytest.approx(0.1)
    assert share_of_whole(waits, replace(captured(), cells=())) == 0.5


def test_the_share_of_a_layer_is_that_of_all_ops_as_in_the_table_of_layers() -> None:
    """What tf.data does beside the model counts: 700 of 1,400 us."""
    ops = {"big/MatMul": "MatMul", "b/MatMul": "MatMul", "c/MatMul": "MatMul", "tf.data/Root/Map": "Map"}
    steps = on_cpu(
        ("big/MatMul", 1000, 700), ("b/MatMul", 1700, 50), ("c/MatMul", 1750, 50), ("tf.data/Root/Map", 1000, 600)
    )
    layers = tuple(ModelLayer(name, name, "Dense") for name in ("big", "b", "c"))
    said = sentence(replace(ran(ops, steps), model_layers=layers))
    assert said.endswith("its costliest layer is big, with 50 % of the op time.")


def test_what_takes_more_than_each_layer_is_told_though_it_is_in_none() -> None:
    """As summaries of weights in each step: 800 of 1,400 us."""
    ops = {"a/MatMul": "MatMul", "b/MatMul": "MatMul", "c/MatMul": "MatMul"} | {"w": "HistogramSummary"}
    steps = on_cpu(("a/MatMul", 1000, 400), ("b/MatMul", 1400, 100), ("c/MatMul", 1500, 100), ("w", 1600, 800))
    layers = tuple(ModelLayer(name, name, "Dense") for name in ("a", "b", "c"))
    said = sentence(replace(ran(ops, steps), model_layers=layers))
    assert said.endswith("its costliest op type is HistogramSummary, with 57 % of the op time, in no layer.")


def test_a_graph_that_never_ran() -> None:
    profile = ran({"dense": "MatMul"})
    assert sentence(profile) == "No step was recorded, so no times are known. The graph has 1 node."
    assert overview(profile).steps.bars == ()


def test_where_only_the_first_step_was_recorded_it_is_called_so() -> None:
    profile = replace(model({"big": 50, "b": 25, "c": 25}), step_names=("train (warm-up)",))
    assert "The first step takes 100 µs; " in sentence(replace(profile, main_kind="train (warm-up)"))
    assert "A step takes 100 µs; " in sentence(replace(profile, step_names=("train",), main_kind="train"))


def test_steps_count_as_in_the_head_line() -> None:
    """Of four, one was traced in part, and the last one was interrupted while it was traced."""
    mark = {0: FIRST_RUN + TRACED, 1: PARTLY_TRACED, 3: TRACED + RAISED}
    runs = CellRuns.of("train", [SECOND * at for at in range(4)], [SECOND] * 4, mark)
    shown = overview(replace(captured(runs=(runs,)), main_kind="train"))
    assert shown.steps.facts[-1] == "2 of 3 traced"


def test_a_cell_of_ops_that_take_their_time_is_no_cell_of_python() -> None:
    """As a loop of convolutions, run one by one, for 900 of 1,000 us: a graph would hardly shorten it."""
    ops = {"eager/Conv2D": "Conv2D", "eager/Mul": "Mul"}
    profile = ran(ops, on_cpu(("eager/Conv2D", 1000, 900), ("eager/Mul", 1900, 100)), step_names=[EAGER])
    cell = CellTimes.of({"python": 98 * SECOND, "tfprof": 2 * SECOND})
    assert sentence(replace(profile, main_kind=EAGER, cells=(cell,))) == (
        "Of the cell's 100 s, 98 % are Python and the ops that it runs one by one and 2 % are tfprof. No function runs "
        "in it; its costliest op type is Conv2D, with 90 % of the op time."
    )
    with_steps = CellTimes.of({"python": 50 * SECOND, "steps": 50 * SECOND})  # which servers ran, say
    assert sentence(replace(profile, main_kind=EAGER, cells=(with_steps,))).endswith("No step was recorded.")


def test_no_gain_is_told_of_a_first_step_for_every_training_has_one() -> None:
    runs = CellRuns.of("train", [0, 6 * SECOND], [6 * SECOND, SECOND], {0: FIRST_RUN}, usual_nanos=SECOND)
    said = sentence(replace(captured(runs=(runs,)), main_kind="train"))
    assert said.startswith("The first step of train takes 6 s of the cell's 10 s (60 %).")
    assert said.endswith("to see what training takes.")


def test_a_cell_without_steps_tells_its_largest_parts() -> None:
    """As one whose first step was interrupted, or a loop over a dataset in which no function is called."""
    cell = CellTimes.of({"input": 39 * 10**7, "python": 34 * 10**7, "tfprof": 27 * 10**7})
    said = "Of the cell's 1 s, 39 % are waiting for input and 34 % are Python between steps. No step was recorded."
    assert sentence(replace(ran({"dense": "MatMul"}), cells=(cell,))) == said


@given(st.lists(st.integers(0, 10**12), min_size=1).filter(any))
def test_percents_add_up_and_are_next_to_the_share(sizes: Sequence[int]) -> None:
    found = percents(sizes)
    assert sum(found) == 100
    assert all(abs(each - 100 * size / sum(sizes)) < 1 for each, size in zip(found, sizes, strict=True))


def test_the_cell_and_a_step_in_parts() -> None:
    """Of a cell of 10 s; 2 ms of a step of 8 ms nothing runs."""
    runs = CellRuns.of("train", [0, 10], [5, 8_000_000], {0: FIRST_RUN}, usual_nanos=8_000_000)
    cell = CellTimes.of(
        {"steps": 6 * SECOND, "python": 3 * SECOND, "tfprof": SECOND}, runs=(runs,), looks=looked("python", (SLOW,))
    )
    profile = ran({"dense": "MatMul"}, on_cpu(("dense", 1000, 3000), ("dense", 5000, 3000)), step_names=["train"])
    shown = overview(replace(profile, main_kind="train", cells=(cell,)))
    assert [(part.name, part.nanos, part.share) for part in shown.cell] == [
        ("steps", 6 * SECOND, 60),
        ("Python between steps", 3 * SECOND, 30),
        ("tfprof", SECOND, 10),
    ]
    assert shown.cell[1].detail == "train.py:20"
    assert sum(part.share for part in shown.step) == 100
    assert sum(part.nanos for part in shown.step) == 8_000_000
    assert [part.name for part in shown.step] == ["forward", "nothing runs"]


def test_each_step_is_a_bar_until_there_are_too_many() -> None:
    nanos = np.full(300, 1000)
    nanos[0], nanos[7] = 90_000, 5000
    marks = {0: FIRST_RUN, 4: TRACED}
    runs = CellRuns.of("train", np.arange(300), nanos, marks, {4: 17}, usual_nanos=1000)
    profile = replace(captured(runs=(runs,)), main_kind="train")
    bars, facts = vars(overview(profile).steps).values()
    assert bars[:3] == ((0, 3, 1000, 90_000, ABSENT), (3, 3, 1000, 1000, 17), (6, 3, 1000, 5000, ABSENT))
    assert sum(count for _, count, *_ in bars) == 300
    assert facts == (
        "median 1 µs",
        "95 % below 1 µs",
        "the first 90 µs",
        "1 outlier above 2 times the median",
        "1 of 300 traced",
    )
    few = CellRuns.of("train", np.arange(9), nanos[:9], marks, {4: 17}, usual_nanos=1000)
    assert [count for _, count, *_ in overview(replace(captured(runs=(few,)), main_kind="train")).steps.bars] == [1] * 9


def test_steps_of_a_profile_without_a_cell() -> None:
    profile = ran({"dense": "MatMul"}, on_cpu(("dense", 1000, 30)), {CPU: [("dense", 2000, 50)]})
    assert overview(profile).steps.bars == ((0, 1, 30_000, 30_000, 0), (1, 1, 50_000, 50_000, 1))
