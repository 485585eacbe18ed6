"""What a capture says of how it was measured follows from what was recorded."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anywidget
import pytest

from tests.capturing.models import THREE, Model, captured
from tests.made import profile_of_tables
from tfprof_widget.api.profile import Profile
from tfprof_widget.api.result import Capture
from tfprof_widget.capturing.recording import GraphRecording, KindOfRun, Recording, joined
from tfprof_widget.capturing.sampling import Every
from tfprof_widget.lib.errors import ProfileError


@pytest.fixture(scope="module")
def profile() -> Profile:
    """Runs of `loss`: the first of them its warm-up."""
    model = Model()
    session = model.session()
    with captured(Every(2)) as inside:
        for _ in range(3):
            session.run(model.loss, {model.x: THREE})
    return profile_of_tables(inside.graph.tables)


def of(profile: Profile, runs: KindOfRun, wall_seconds: float = 11.0, overhead_seconds: float | None = 1.0) -> Capture:
    return Capture.of(Recording((GraphRecording(profile, (runs,)),), wall_seconds, overhead_seconds, 0, ()), "cell")


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
    assert re.search(r"wall 2 s · ", measurement.sentence())


def test_progress_says_what_there_is_to_say() -> None:
    capture = Capture()
    assert capture.progress() is None
    capture.counting(lambda: (1234, 5), lambda limit: [])
    assert capture.progress() == "tfprof: 5 of 1,234 runs traced"
    capture.counting(lambda: (1234, 5), lambda limit: [("MatMul", 1.5e-3), ("Add", 2e-6), ("Relu", 3e-8)][:limit])
    assert capture.progress() == "tfprof: 5 of 1,234 runs traced; MatMul 1.50 ms, Add 2 µs, Relu 30 ns a run"


def test_what_is_asked_of_a_capture_is_of_its_busiest_graph(profile: Profile, tmp_path: Path) -> None:
    quick, slow = (KindOfRun("loss", 3, 2, 1.0, seconds, 8.0) for seconds in (2.0, 20.0))
    records = (GraphRecording(Profile.from_protos(b""), (quick,)), GraphRecording(profile, (slow,)))
    capture = Capture.of(Recording(records, 30.0, 1.0, 0, ()), "cell")
    assert capture.profile is profile
    assert capture.advice().reports == profile.advice().reports
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


def test_ops_at_once_are_by_the_clock_of_the_runs_that_were_traced(profile: Profile) -> None:
    """Tracing slowed the one run to 3 s, where others take 2 s: its ops are not beside these."""
    measurement = of(profile, KindOfRun("loss", 6, 2, 8.0, 3.0, 9.0, untraced=4)).measurement
    assert (measurement.run_seconds, measurement.traced_run_seconds) == (2.0, 3.0)
    assert f"wall 2 s · {measurement.op_seconds / 3.0:.2f} ops at once" in measurement.sentence()
    assert [each for each in measurement.warnings if each.startswith("traced runs of loss took 3 s, others 2 s: ")]
    slightly = of(profile, KindOfRun("loss", 6, 2, 8.0, 2.9, 9.0, untraced=4)).measurement
    assert slightly.warnings == ()
