"""A session and a Keras model that really ran: what a replay says holds together, or it is refused with the reason.

How well predictions are is measured by `make what-if`; on a busy machine recordings may be such that none is made.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.replay.corpus import answers
from tests.what_if.models import STEPS, branching, keras_dense, recurrent
from tfprof_widget.analysis.replay.prediction import MOST_OFF, WhatIf
from tfprof_widget.analysis.replay.recorded_work import recorded_work
from tfprof_widget.api.capture import capture
from tfprof_widget.api.result import Capture
from tfprof_widget.charts.moments import on_clock
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.widget.wire import encoded

BROWSER = Path(__file__).with_name("replayed.mjs")


@pytest.fixture(scope="module", params=[branching, recurrent, keras_dense])
def captured(request: pytest.FixtureRequest) -> Capture:
    cell = request.param()
    cell.run()
    with capture(trace_all=True) as prof:
        for _ in range(STEPS // 4 if cell.mark else 1):
            cell.run()
    return prof


def _asked(ask: Callable[[], WhatIf]) -> WhatIf | None:
    """A prediction; None if it is refused, as it may be."""
    try:
        return ask()
    except ProfileError as error:
        if "cannot predict: replaying the recorded steps unchanged takes" not in str(error):
            raise
        return None


def test_the_replay_is_the_step(captured: Capture) -> None:
    found = _asked(lambda: captured.what_if({}))
    if found is not None:
        assert found.seconds == found.replayed
        assert found.replayed == pytest.approx(found.measured, rel=2 * MOST_OFF)
        assert found.path.before == found.path.after


def test_less_work_takes_no_longer_and_all_gone_leaves_what_is_around(captured: Capture) -> None:
    """Nothing is left of a step whose nodes are all gone but its gaps, and what is before and after it."""
    whole, none = _asked(lambda: captured.what_if({})), _asked(lambda: captured.what_if({".*": 0}))
    if whole is not None and none is not None:
        assert none.seconds < whole.seconds
        assert none.low <= none.seconds <= none.high


def test_path_and_slack_are_all_executions_of_a_step(captured: Capture) -> None:
    path, rest = captured.critical_path(), captured.slack()
    sizes = {len(work) for work in recorded_work(captured.profile)}
    assert len(path) + len(rest) in sizes
    assert (path["slack"] == 0).all()
    assert (rest["slack"] >= 0).all()
    assert path["start"].is_monotonic_increasing


def test_each_execution_waits_for_what_had_ended(captured: Capture) -> None:
    """No edge leads back in time, and what gives no time to its worker is asynchronous."""
    for work in recorded_work(captured.profile):
        assert (work.start[work.source] <= work.start[work.target]).all()
        late = (work.start + work.release)[work.source] - work.start[work.target]
        assert late.max(initial=0) <= max(work.busy.max() // 20, 2_000)


def test_matrix_products_wait_for_each_other(captured: Capture) -> None:
    """In each of the models products are chained: some product waits for another, directly or through others."""
    work = recorded_work(captured.profile)[0]
    nodes = captured.profile.nodes
    is_product: Any = ["MatMul" in nodes.ops[nodes.op[node]] for node in work.node.tolist()]
    behind = list(is_product)
    found = False
    for source, target in zip(work.source.tolist(), work.target.tolist(), strict=True):
        found = found or (behind[source] and is_product[target])
        behind[target] = behind[target] or behind[source]
    assert found


def test_the_browser_replays_as_python_does(captured: Capture, tmp_path: Path) -> None:
    """To the last digits of a double, or it has the same reason why not."""
    profile = captured.profile
    expected = answers(profile)
    columns = tmp_path / "columns"
    columns.write_bytes(encoded(on_clock(profile), profile))
    asked = json.dumps(expected.get("cases", []))
    done = subprocess.run(
        ["node", BROWSER, columns], input=asked, stdout=subprocess.PIPE, text=True, check=True, timeout=240
    )
    found = json.loads(done.stdout)
    if "reason" in expected:
        assert found == expected["reason"]
        return
    assert len(found) == len(expected["cases"])
    for case, prediction in zip(expected["cases"], found, strict=True):
        told = {name: case[name] * 1e9 for name in ("low", "high")} | {
            name: expected[name] * 1e9 for name in ("measured", "replayed")
        }
        assert prediction["predicted"] == pytest.approx(case["seconds"] * 1e9, rel=1e-9), case
        assert {name: prediction[name] for name in told} == pytest.approx(told, rel=1e-9), case
