"""The prompt in a pseudo-terminal: Enter, `set`, Tab, history, Ctrl-C and Ctrl-D."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.files import Files
from tests.cli.pseudo_terminal import CTRL_C, CTRL_D, ENTER, TAB, UP, PseudoTerminal, plain
from tests.cli.stuck import full_pipe, large_network
from tfprof_widget.profiles.options import OPTIONS


@pytest.fixture
def terminal(files: Files, tmp_path: Path) -> Iterator[PseudoTerminal]:
    with PseudoTerminal(*files.words, environment={"XDG_STATE_HOME": str(tmp_path)}) as started:
        started.prompt()
        yield started


def names(shown: str) -> list[str]:
    """The names of the rows of a printed view."""
    rows = shown.partition("node name |")[2].splitlines()[1:]
    return [row.split()[0] for row in rows if row.strip()]


def test_it_says_what_was_read_and_how_to_go_on(files: Files) -> None:
    with PseudoTerminal(*files.words) as started:
        assert "Profile(5 nodes, 11 executions, 2 steps): Tab completes," in started.prompt()
        assert "tfprof>" in started.until("\x1b[?12l")


def test_enter_prints_the_options(terminal: PseudoTerminal) -> None:
    shown = terminal.run("")
    printed = dict(re.findall(r"^-(\w+) +(.*?) *$", shown, re.MULTILINE))
    assert list(printed) == [option.name for option in OPTIONS]
    assert (printed["max_depth"], printed["select"], printed["timing"]) == ("10", "micros", "exact")


def test_what_was_given_at_the_start_holds(files: Files) -> None:
    with PseudoTerminal(*files.words, "--max_depth=1") as started:
        started.prompt()
        assert "-max_depth                  1\n" in started.run("")


def test_set_holds_for_what_follows_and_a_command_s_own_options_do_not(terminal: PseudoTerminal) -> None:
    terminal.run("set -account_type_regexes _trainable_variables -select params")
    assert names(terminal.run("scope -max_depth 3")) == ["_TFProfRoot", "layer", "layer/w"]
    assert names(terminal.run("scope -account_type_regexes Mean")) == ["_TFProfRoot", "loss"]
    assert "-account_type_regexes       _trainable_variables\n" in terminal.run("")


def test_set_with_a_slip_changes_nothing(terminal: PseudoTerminal) -> None:
    assert "there is no option -max_dept: did you mean -max_depth?" in terminal.run("set -step 1 -max_dept 3")
    assert "-step                       -1\n" in terminal.run("")


def test_all_views_and_advise(terminal: PseudoTerminal) -> None:
    assert names(terminal.run("op -order_by micros"))[0] == "MatMul"
    assert names(terminal.run("graph"))[:2] == ["_TFProfRoot", "loss"]
    assert names(terminal.run("code"))[:2] == ["_TFProfRoot", "run.py:10:main"]
    assert "ExpensiveOperationChecker:" in terminal.run("advise")
    assert "set OPTIONS" in terminal.run("help set")


def test_tab_completes_commands_options_and_values(terminal: PseudoTerminal, tmp_path: Path) -> None:
    terminal.type("o", TAB, "-ord", TAB, "acc", TAB, " -sel", TAB, "by", TAB, ",occ", TAB, " --step=", TAB, "1", ENTER)
    shown = terminal.until("Mean") + terminal.prompt()
    assert "requested bytes | op occurrence" in shown
    assert history(tmp_path) == ["op -order_by accelerator_micros -select bytes,occurrence --step=1"]


def test_tab_shows_what_there_is_to_choose_from(terminal: PseudoTerminal) -> None:
    terminal.type("s", TAB)
    assert re.search(r"scope +set", terminal.until("set"))


def test_tab_completes_names_a_part_at_a_time(terminal: PseudoTerminal, tmp_path: Path) -> None:
    terminal.type("scope -show_name_regexes layer/M", TAB, " -account_type_regexes _tr", TAB, ENTER)
    terminal.until("_TFProfRoot")
    terminal.prompt()
    assert history(tmp_path) == ["scope -show_name_regexes layer/MatMul -account_type_regexes _trainable_variables"]


def test_history_is_kept_in_a_session_and_for_the_next(files: Files, terminal: PseudoTerminal, tmp_path: Path) -> None:
    terminal.run("op -max_depth 0")
    terminal.type(UP, ENTER)
    assert names(terminal.until("MatMul") + terminal.prompt()) == ["MatMul"]
    with PseudoTerminal(*files.words, environment={"XDG_STATE_HOME": str(tmp_path)}) as later:
        later.prompt()
        later.type(UP, ENTER)
        assert names(later.until("MatMul") + later.prompt()) == ["MatMul"]
    assert (tmp_path / "tfprof" / "history").stat().st_mode & 0o077 == 0


def test_without_a_place_for_history_the_prompt_works(files: Files, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file, and no directory")
    with PseudoTerminal(*files.words, environment={"XDG_STATE_HOME": str(tmp_path / "state")}) as started:
        started.prompt()
        assert names(started.run("op -max_depth 0")) == ["MatMul"]


def test_ctrl_c_drops_the_line_and_keeps_the_session(terminal: PseudoTerminal) -> None:
    terminal.run("set -max_depth 0")
    terminal.type("scope -max_de", CTRL_C)
    terminal.prompt()
    assert names(terminal.run("op")) == ["MatMul"]


def test_ctrl_c_stops_a_command_and_keeps_the_session(tmp_path: Path) -> None:
    words = large_network(tmp_path).words
    with full_pipe(tmp_path / "pipe") as wait_until_written_to, PseudoTerminal(*words) as started:
        started.prompt()
        started.type(f"scope -dump_to_file {tmp_path / 'pipe'}", ENTER)
        wait_until_written_to()
        started.type(CTRL_C)
        assert "tfprof: interrupted" in started.until("interrupted")
        started.prompt()
        assert names(started.run("op -max_depth 0")) == ["MatMul"]


@pytest.mark.parametrize("ends", [CTRL_D, f"quit{ENTER}", f"exit{ENTER}"])
def test_ctrl_d_leaves(terminal: PseudoTerminal, ends: str) -> None:
    terminal.type(ends)
    assert terminal.wait() == 0


def test_a_slip_does_not_show_in_the_exit_code_of_a_person(terminal: PseudoTerminal) -> None:
    assert "there is no command 'scop'" in terminal.run("scop")
    terminal.type(CTRL_D)
    assert terminal.wait() == 0


def test_rows_are_cut_to_the_terminal_and_coloured(files: Files) -> None:
    with PseudoTerminal(*files.words, columns=60) as started:
        started.prompt()
        started.type("scope", ENTER)
        raw = started.until_raw("loss")
        assert "\x1b[36m" in raw
        assert max(map(len, plain(raw).splitlines()[2:])) <= 60


def test_no_color_is_heeded(files: Files) -> None:
    with PseudoTerminal(*files.words, environment={"NO_COLOR": "1"}) as started:
        started.prompt()
        started.type("scope", ENTER)
        assert "\x1b[36m" not in started.until_raw("loss (")


def history(state: Path) -> list[str]:
    """The lines that were kept."""
    kept = (state / "tfprof" / "history").read_text().splitlines()
    return [line.removeprefix("+") for line in kept if line.startswith("+")]
