"""What a capture says of how it was measured follows from what was recorded."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import pytest

from tests.capturing.models import THREE, Model, captured
from tests.made import profile_of_tables
from tests.sketches import profile_of
from tfprof_widget.analysis.steady import StepUse
from tfprof_widget.api.profile import Profile
from tfprof_widget.api.result import Capture
from tfprof_widget.capturing.recording import GraphRecording, KindOfRun, Recording, joined
from tfprof_widget.capturing.sampling import Every
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.profiles.cell import CellTimes, PythonTime
from tfprof_widget.profiles.data import ProfileTables
from tfprof_widget.profiles.live import LiveState


@pytest.fixture(scope="module")
def profile() -> Profile:
    """Runs of `loss`: the first of them its warm-up."""
    model = Model()
    session = model.session()
    with captured(Every(2)) as inside:
        for _ in range(3):
            session.run(model.loss, {model.x: THREE})
    return profile_of_tables(inside.graph.tables)


def of(
    tables: ProfileTables, runs: KindOfRun, wall_seconds: float = 11.0, overhead_seconds: float | None = 1.0
) -> Capture:
    return Capture.of(Recording((GraphRecording(tables, (runs,)),), wall_seconds, overhead_seconds, 0, ()), "cell")


@pytest.mark.parametrize(
    ("overhead_seconds", "told"),
    [(1.0, "tracing cost 10.0 %"), (0.0, "tracing cost 0 µs"), (None, "tracing cost unknown")],
)
def test_cost_is_a_share_of_the_time_without_it(profile: Profile, overhead_seconds: float | None, told: str) -> None:
    capture = of(profile, KindOfRun("loss", 3, 2, 1.0, 2.0, 8.0), overhead_seconds=overhead_seconds)
    assert capture.measurement.overhead_seconds == overhead_seconds
    assert told in capture.measurement.sentence().split(" · ")
    assert told in capture.text()


def test_cost_that_nobody_notices_is_no_share(profile: Profile) -> None:
    """Of fifty eager products, 10 ms in all, capturing cost 12.5 ms: that is 125 %, but it is not much."""
    runs = KindOfRun("loss", 3, 2, 1.0, 2.0, 8.0)
    cost = next(fact for fact in of(profile, runs, 0.0225, 0.0125).measurement.facts() if fact.label == "tracing cost")
    assert str(cost) == "tracing cost 12.5 ms"
    assert cost.help == "time that tracing, watching and reading added; of the time without them, 125.0 %"
    cost = next(fact for fact in of(profile, runs, 0.01, 0.0125).measurement.facts() if fact.label == "tracing cost")
    assert cost.help.endswith("unknown")


def test_cost_that_is_all_of_the_time_is_no_share(profile: Profile) -> None:
    assert (
        "tracing cost unknown" in of(profile, KindOfRun("loss", 3, 2, 1.0, 2.0, 8.0), 1.0, 1.0).measurement.sentence()
    )


@pytest.mark.parametrize(
    ("first", "second", "both"), [(1.0, 2.0, 3.0), (None, 2.0, None), (1.0, None, None), (None, None, None)]
)
def test_cost_is_known_where_all_of_it_is(first: float | None, second: float | None, both: float | None) -> None:
    recordings = [Recording((), 1.0, seconds, 0, ()) for seconds in (first, second)]
    assert joined(*recordings).overhead_seconds == both


@pytest.mark.parametrize(
    ("runs", "seconds"),
    [
        (KindOfRun("loss", 6, 1, 8.0, 3.0, 9.0, untraced=4), 2.0),  # the warm-up was not traced
        (KindOfRun("loss", 6, 2, 8.0, 3.0, 9.0, untraced=4), 2.0),  # the warm-up was traced
        (KindOfRun("loss", 6, 5, 0.0, 10.0, 9.0, untraced=0), 2.0),  # only traced ones beside the warm-up
        (KindOfRun("loss", 6, 6, 0.0, 10.0, 9.0, untraced=0), 2.0),
        (KindOfRun("loss", 5, 5, 0.0, 10.0, 0.0, untraced=0, warm_ups=0), 2.0),
        (
            KindOfRun("loss", 8, 8, 0.0, 10.0, 9.0, untraced=0, warm_ups=3),
            2.0,
        ),  # a function that was traced three times
        (KindOfRun("loss", 1, 1, 0.0, 0.0, 2.0, untraced=0), 2.0),  # only a warm-up
        (KindOfRun("loss", 2, 2, 0.0, 0.0, 4.0, untraced=0, warm_ups=2), 2.0),
        (KindOfRun("loss", 6, 2, 8.0, 3.0, 9.0), 2.0),  # nobody counted the untraced ones
    ],
)
def test_seconds_of_a_run_are_the_mean_of_its_like(profile: Profile, runs: KindOfRun, seconds: float) -> None:
    assert runs.run_seconds == seconds
    measurement = of(profile, runs).measurement
    assert measurement.run_seconds == seconds
    assert " · step 2 s · " in measurement.sentence()


def test_progress_says_what_there_is_to_say() -> None:
    capture = Capture()
    assert capture.progress() is None
    capture.follow(LiveState)
    assert capture.progress() is None
    capture.follow(lambda: LiveState(runs=1234, traced=5))
    assert capture.progress() == "tfprof: 5 of 1,234 runs traced"
    costs = ("MatMul", 1.5e-3), ("Add", 2e-6), ("Relu", 3e-8), ("Sum", 2e-8)
    capture.follow(lambda: LiveState(runs=1234, traced=5, costliest=costs))
    assert capture.progress() == "tfprof: 5 of 1,234 runs traced; MatMul 1.50 ms, Add 2 µs, Relu 30 ns a run"


def test_what_is_asked_of_a_capture_is_of_its_busiest_graph(profile: Profile, tmp_path: Path) -> None:
    quick, slow = (KindOfRun("loss", 3, 2, 1.0, seconds, 8.0) for seconds in (2.0, 20.0))
    records = (GraphRecording(Profile.from_protos(b""), (quick,)), GraphRecording(profile, (slow,)))
    capture = Capture.of(Recording(records, 30.0, 1.0, 0, ()), "cell")
    assert capture.profile.nodes is profile.nodes
    assert capture.profile.main_kind == "loss"
    assert capture.to_dataframe("op")["name"].tolist() == list(capture.view("op").names)
    capture.save(tmp_path / "profile_0")
    assert Profile.load(tmp_path / "profile_0").nodes.names == profile.nodes.names


@pytest.mark.parametrize(
    ("holders", "name"),
    [([anywidget], "WidgetTrait"), (anywidget.AnyWidget.__mro__, "AnyWidget._repr_mimebundle_")],
)
def test_a_table_is_shown_where_the_widget_has_lost_what_it_needs(
    profile: Profile, monkeypatch: pytest.MonkeyPatch, holders: Sequence[Any], name: str
) -> None:
    capture = of(profile, KindOfRun("loss", 3, 2, 1.0, 2.0, 8.0))
    shown: list[dict[str, str]] = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, **_: shown.append(bundle))
    monkeypatch.delitem(sys.modules, "tfprof_widget.widget.traits", raising=False)
    capture._ipython_display_()
    assert not any("cannot be shown" in each.get("text/html", "") for each in shown)
    shown.clear()
    monkeypatch.delitem(sys.modules, "tfprof_widget.widget.traits")
    for holder in holders:
        if name.rpartition(".")[2] in vars(holder):
            monkeypatch.delattr(holder, name.rpartition(".")[2])
    capture._ipython_display_()
    (bundle,) = shown
    told = f"<p>the widget cannot be shown: anywidget {anywidget.__version__} has no {name}; install an earlier one"
    assert bundle["text/html"].startswith(told)
    assert "<table" in bundle["text/html"]
    assert bundle["text/plain"] == capture.text()


def test_what_is_asked_of_an_empty_capture_says_why() -> None:
    capture = Capture.of(Recording((), 0.0, 0.0, 0, ("nothing ran",)))
    for ask in (lambda: capture.profile, capture.advice, capture.to_dataframe, capture.widget):
        with pytest.raises(ProfileError, match="Nothing was captured: nothing ran"):
            ask()


def test_ops_at_once_are_their_time_by_the_time_in_which_any_ran() -> None:
    """A step of two threads: 30 and 20 us, which share 10: 50 us of work in 40."""
    sketch = profile_of("a = MatMul() 30us\nb = Relu() 20us")
    executions = replace(sketch.executions, start_nanos=np.array([1_000, 21_000]))
    tables = sketch.having(executions=executions, step_names=("train",))
    measurement = of(tables, KindOfRun("train", 1, 1, 0.0, 4e-5, 0.0, untraced=0, warm_ups=0)).measurement
    assert "step 40 µs · op time 50 µs · 1.25 ops at once" in measurement.sentence()


def test_ops_of_workers_that_run_at_the_same_time_are_not_at_once_in_one_step() -> None:
    """Two steps of one op each, at the same moment: a step has one op at once."""
    sketch = profile_of("a = MatMul() 30us;30us")
    executions = replace(sketch.executions, start_nanos=np.array([1_000, 1_000]))
    use = StepUse.of(sketch.having(executions=executions))
    assert (use.work.tolist(), use.busy.tolist(), use.ops_at_once([0, 1])) == ([30_000] * 2, [30_000] * 2, 1.0)


def test_the_head_line_is_of_the_steps_that_are_asked_for() -> None:
    """Three runs of train, the first a warm-up, and two of test."""
    tables = profile_of("a = MatMul() 900us;40us;60us;7us;9us")
    names = ("train (warm-up)", "train", "train", "test", "test")
    kinds = (KindOfRun("train", 9, 3, 0.6, 0.2, 0.1, untraced=6), KindOfRun("test", 4, 2, 0.2, 0.0, 0.1, warm_ups=2))
    recording = Recording((GraphRecording(tables.having(step_names=names), kinds),), 2.0, 0.0, 0, ())
    capture = Capture.of(recording, "mine")

    def head(**options: Any) -> str:
        return capture.text("op", **options).splitlines()[0].partition(" · tracing cost ")[0]

    told = "mine · cell 2 s · runs traced 5 of 13 · "
    assert head() == f"{told}shown train, 45 % of the cell · step 100 ms · op time 50 µs · 1.00 ops at once"
    assert head(step=1) == f"{told}shown step 1 of train · step 100 ms · op time 40 µs · 1.00 ops at once"
    first = f"{told}shown train (warm-up), 45 % of the cell · step 100 ms · op time 900 µs · 1.00 ops at once"
    assert head(run_name_regexes=[r"train \(.*"]) == first
    test = f"{told}shown test, 15 % of the cell · step 100 ms · op time 8 µs · 1.00 ops at once"
    assert head(run_name_regexes=["test"]) == test
    assert head(run_name_regexes=["t.*"]) == f"{told}op time 203.2 µs · 1.00 ops at once"


def test_what_a_widget_writes_is_of_the_steps_chosen_in_it() -> None:
    tables = profile_of("a = MatMul() 40us;60us").having(step_names=("train", "train"))
    runs = KindOfRun("train", 9, 2, 0.7, 0.2, 0.1, untraced=7, warm_ups=0)
    widget = of(tables, runs).widget("op")
    assert "op time **50 µs · 1.00 ops at once**" in widget.to_markdown()
    widget.step = 1
    assert "shown **step 1 of train** · step **100 ms** · op time **60 µs · 1.00 ops" in widget.to_markdown()


def test_traced_runs_that_were_slowed_are_told(profile: Profile) -> None:
    """The one run was slowed to 3 s, where others take 2 s, and not by tracing: it has few ops."""
    measurement = of(profile, KindOfRun("loss", 6, 2, 8.0, 3.0, 9.0, untraced=4)).measurement
    assert (measurement.run_seconds, measurement.traced_run_seconds) == (2.0, 3.0)
    assert [
        each
        for each in measurement.warnings
        if each.startswith("traced runs of loss took 3 s, others 2 s: ops took longer")
    ]
    slightly = of(profile, KindOfRun("loss", 6, 2, 8.0, 2.9, 9.0, untraced=4)).measurement
    assert slightly.warnings == ()


def test_lines_of_cells_are_named_as_in_the_notebook() -> None:
    seen = (PythonTime("callback", 2.0, "/tmp/ipykernel_7/12.py", 3), PythonTime("python", 1.0, "/home/me/train.py", 9))
    told = CellTimes.of({"python": 9}, outside=seen, between=seen[1:])
    times = told.named(lambda file: "In[6]" if "ipykernel" in file else file)
    assert [each.place for each in times.outside] == ["In[6]:3", "train.py:9"]
    assert [each.place for each in times.between] == ["train.py:9"]


def test_a_tab_of_the_widget_is_asked_for_like_a_view(profile: Profile) -> None:
    """As `%%tfprof --view timeline` does; as text and rows there is the op view."""
    runs = KindOfRun("loss", 3, 2, 1.0, 2.0, 8.0)
    capture = Capture.of(Recording((GraphRecording(profile, (runs,)),), 30.0, 1.0, 0, ()))
    capture.options = {"view": "timeline"}
    assert capture.widget().view == "timeline"
    assert capture.view().view == "op"
    assert "\nop view, " in capture.text()
    assert capture.view("scope").view == "scope"
