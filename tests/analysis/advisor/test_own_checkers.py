"""Our own checkers beside native's: asked for by name, silent where nothing is wrong, and shown in the widget."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import tfprof_widget as tfprof
from tests.analysis.advisor.findings import on_cpu, ran, shown
from tests.oracle.models import mnist_net, small_resnet
from tests.oracle.random_profiles import random_profile
from tfprof_widget.analysis.advisor.finding import Finding
from tfprof_widget.analysis.advisor.runner import CHECKERS, NATIVE, OWN, WORDS, advise_on
from tfprof_widget.api.profile import Profile
from tfprof_widget.demo import demo_profile, recorded
from tfprof_widget.widget.shown import Shown

pytestmark = pytest.mark.filterwarnings("ignore:ExpensiveOperationChecker:tfprof_widget.ProfileWarning")


def padded() -> Profile:
    """Half of its time is padding."""
    run = on_cpu(("conv", 1000, 500), ("pad", 1500, 500))
    return ran({"conv": "Conv2D", "pad": "Pad"}, run, inputs={"conv": ["pad"]})


@pytest.mark.parametrize("checker", OWN)
def test_nothing_is_wrong_with_the_demo(checker: str) -> None:
    assert list(OWN[checker](demo_profile())) == []


@pytest.mark.parametrize("checker", OWN)
def test_nothing_is_known_of_a_graph_that_never_ran(checker: str) -> None:
    assert list(OWN[checker](Profile.from_protos(recorded("graph")))) == []
    assert list(OWN[checker](Profile.from_protos(b""))) == []


@pytest.mark.parametrize("model", [mnist_net, small_resnet])
def test_small_networks_raise_few_alarms(model: Any) -> None:
    """Of toys it may be said that their ops are tiny, and that the machine was busy, but nothing else is wrong."""
    traced = model()
    profile = Profile.from_protos(traced.graph, traced.run_meta)
    told = {name for name, check in OWN.items() if list(check(profile))}
    assert told <= {"TinyKernelChecker", "DeviceIdleChecker"}


def test_what_is_asked_for_by_name_reports_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    advice = advise_on(padded(), {"LayoutChecker": {}})
    report = (
        "Padding tensors takes 50 % of the op time, and later ops compute on the padding.\n"
        "  fix: Let the convolution pad (padding='SAME'), pad once in the input pipeline, and batch sequences of "
        "similar length (tf.data's bucket_by_sequence_length). Replayed without this, a step takes 500 µs instead of "
        "1 ms, between 475 µs and 525 µs.\n"
        "  see: op -order_by micros -show_name_regexes Pad"
    )
    assert list(advice.checkers["LayoutChecker"].reports) == [report]
    assert capsys.readouterr().out == f"\nLayoutChecker:\n{report}\n"


def test_by_default_native_checkers_report() -> None:
    assert sorted(tfprof.ALL_ADVICE) == sorted([*NATIVE, "JobChecker"])
    assert sorted(tfprof.advise(recorded("graph"), recorded("run_meta")).checkers) == sorted(NATIVE)


def test_all_that_there_are_report_if_asked(capsys: pytest.CaptureFixture[str]) -> None:
    everything = tfprof.ALL_ADVICE | tfprof.MORE_ADVICE
    advice = tfprof.advise(recorded("graph"), recorded("run_meta"), everything)
    assert sorted(advice.checkers) == sorted([*NATIVE, *OWN])
    printed = re.findall(r"^(\w+):$", capsys.readouterr().out, re.MULTILINE)
    assert printed == sorted(printed) == list(CHECKERS)


def test_the_widget_gets_findings_with_a_way_to_see_them() -> None:
    (graph,) = Shown.of_profile(padded()).graphs
    advice = {each["checker"]: each["reports"] for each in json.loads(json.dumps(graph.to_browser["advice"]))}
    assert list(advice) == list(CHECKERS)
    (finding,) = advice["LayoutChecker"]
    assert finding["evidence"] == {
        "view": "op",
        "options": {"order_by": "micros", "show_name_regexes": ["Pad"]},
        "selection": [],
    }
    assert finding["cause"].startswith("Padding tensors takes 50 % of the op time")
    assert finding["fix"].startswith("Let the convolution pad")
    assert advice["ExpensiveOperationChecker"][0].startswith("top 1 operation type: Conv2D")


def test_every_checker_has_words_for_the_panel() -> None:
    assert sorted(WORDS) == sorted(CHECKERS)


@pytest.mark.parametrize("seed", range(1000, 1030))
def test_whatever_the_profile_evidence_can_be_opened(seed: int) -> None:
    made = random_profile(seed, (5, 2, 9))
    profile = Profile.from_protos(made.graph, dict(made.steps), made.op_log)
    for check in OWN.values():
        for finding in check(profile):
            assert isinstance(finding, Finding)
            shown(profile, finding)
