"""A view fitted to a terminal: rows take one line each, lose the start of a name before a figure, and are coloured."""

from __future__ import annotations

import io
import re

import pytest

from tests.sketches import profile_of
from tfprof_widget.cli.session import Terminal, beginning, fitted, width

LONG = "gradients/unit_1_0/sub1/conv1/Conv2D_grad"
PROFILE = profile_of(f"{LONG}/Conv2DBackpropFilter = Conv2DBackpropFilter() 54960us 1000B\nb = Op() 5us")


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_what_is_no_terminal_gets_all() -> None:
    view = PROFILE.view("scope")
    assert fitted(view, Terminal()) == view.text()


def test_a_wide_terminal_shows_the_rows_as_they_are() -> None:
    assert fitted(PROFILE.view("scope"), Terminal(1000)) == PROFILE.view("scope").text()


def test_without_nodes_the_root_is_shown_as_natively() -> None:
    view = profile_of("").view("op")
    assert fitted(view, Terminal(1000)) == view.text()


def test_a_name_loses_its_start_and_no_figure_is_lost() -> None:
    (*_, row) = fitted(PROFILE.view("scope"), Terminal(76)).splitlines()
    assert row == "            …onv2DBackpropFilter (54.96ms/54.96ms, 0ns/0ns, 54.96ms/54.96ms)"


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 200])
@pytest.mark.parametrize("view", ["scope", "graph", "op"])
def test_no_line_is_wider_than_the_terminal(columns: int, view: str) -> None:
    select = ["micros", "bytes", "input_shapes", "device", "op_types"]
    text = fitted(PROFILE.view(view, select=select), Terminal(columns))
    assert max(map(width, text.splitlines())) <= columns


def test_a_level_too_deep_to_indent_is_a_number() -> None:
    deep = profile_of(f"{'/'.join('abcdefghijklm')} = Op() 1us")
    (*_, row) = fitted(deep.view("scope", select=["params"]), Terminal(40)).splitlines()
    assert row == "         13: …g/h/i/j/k/l/m (0/0 params)"


def test_wide_letters_take_two_columns() -> None:
    assert width("日本") == 4
    assert beginning("日本語", 4) == "日…"


def test_a_name_cannot_command_the_terminal() -> None:
    profile = profile_of("a = Op() 1us")
    profile = type(profile).from_protos(b"\n\x0b\n\x04a\x1b[m\x12\x03Op2")
    assert "\x1b" not in fitted(profile.view("scope"), Terminal(80))
    assert r"a\x1b[m" in fitted(profile.view("scope"), Terminal(80))


def test_colours_leave_the_text_alone() -> None:
    view = PROFILE.view("scope")
    painted = fitted(view, Terminal(60, coloured=True))
    assert painted != fitted(view, Terminal(60))
    assert re.sub(r"\x1b\[\d+m", "", painted) == fitted(view, Terminal(60))


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colours_are_for_terminals_that_want_them(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], coloured: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert Terminal.of(FakeTerminal()).coloured == coloured
    assert not Terminal.of(io.StringIO()).coloured
