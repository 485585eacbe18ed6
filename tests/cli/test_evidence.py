"""What `see:` says in a report can be typed at the prompt as it stands."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tests.analysis.advisor.findings import on_cpu, ran
from tfprof_widget.analysis.advisor.finding import Evidence, Finding
from tfprof_widget.analysis.advisor.runner import OWN
from tfprof_widget.api.profile import Profile
from tfprof_widget.cli.arguments import read_line
from tfprof_widget.cli.prompt import explore
from tfprof_widget.cli.session import DONE, LazyProfile, Session

STEPS = ["fit: train_step", "train, loss (2)"]


def profile() -> Profile:
    """Steps with odd names, half of whose time are pads, and between which a host waits for 50 ms."""
    run = on_cpu(("conv", 1000, 500), ("pad, twice", 1500, 500), ("conv", 50_000, 100))
    ops, inputs = {"conv": "Conv2D", "pad, twice": "Pad"}, {"conv": ["pad, twice"]}
    return ran(ops, run, run, step_names=STEPS, inputs=inputs)


def typed(line: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "stdin", io.StringIO(line + "\n"))
    return explore(Session(LazyProfile(profile), at_prompt=True))


@pytest.mark.parametrize(
    ("evidence", "rows"),
    [
        (Evidence("op", {"order_by": "micros", "show_name_regexes": ["Pad"]}), ["Pad"]),
        (
            Evidence("scope", {"run_name_regexes": [r"fit:\ train_step"]}, ("conv", "pad, twice")),
            ["conv", "pad, twice"],
        ),
        (
            Evidence("op", {"run_name_regexes": [r"train,\ loss\ \(2\)"], "select": ["micros", "occurrence"]}),
            ["Conv2D"],
        ),
        (Evidence("scope", {"hide_name_regexes": [".*conv(/.*)?"], "account_displayed_op_only": True}), ["pad, twice"]),
        (Evidence("scope", {"account_type_regexes": ["/job:ps/.*"], "order_by": "params"}), []),
        (Evidence("workers"), ["conv"]),
    ],
)
def test_a_view_is_printed(
    evidence: Evidence, rows: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(str(evidence), monkeypatch) == DONE
    printed = capsys.readouterr().out
    assert [row for row in rows if row not in printed] == []


def test_a_timeline_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    evidence = Evidence("timeline", {"run_name_regexes": [r"train,\ loss\ \(2\)"]}, ("conv",))
    assert typed(str(evidence), monkeypatch) == DONE
    assert "pad, twice" in (tmp_path / "timeline.json").read_text()


@pytest.mark.parametrize("checker", OWN)
def test_what_checkers_point_to_is_read_as_it_was_meant(checker: str) -> None:
    for finding in OWN[checker](profile()):
        assert isinstance(finding, Finding)
        read = read_line(str(finding.evidence))
        assert read.operands == ()
        for name, value in finding.evidence.options.items():
            meant = tuple(each.replace(",", r"\x2c") for each in value) if isinstance(value, list) else value
            assert read.options[name] == meant
    assert {checker for checker in OWN if list(OWN[checker](profile()))} >= {"DeviceIdleChecker", "LayoutChecker"}
