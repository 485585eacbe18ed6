"""What Tab offers at each place of a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import NETWORK
from tests.sketches import profile_of
from tfprof_widget.cli.arguments import SHOWN
from tfprof_widget.cli.prompt import candidates
from tfprof_widget.profiles.options import COLUMNS, ORDERS

PROFILE = profile_of(NETWORK)
COMMANDS = [
    *("scope", "graph", "op", "code", "layers", "account", "advise", "flops", "compare", "set", "report"),
    *("quit", "exit", "help"),
]


def offered(line: str) -> list[str]:
    """The words that Tab offers, without the space behind a whole one."""
    written, words = candidates(line, PROFILE)
    assert all(word.startswith(line[len(line) - written :]) for word in words)
    return [word.rstrip() for word in words]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", COMMANDS),
        ("s", ["scope", "set"]),
        ("zzz", []),
        ("merg", []),  # a command of the shell
        ("help s", ["scope", "set", "step", "start_name_regexes", "show_name_regexes", "select"]),
        ("op -order", ["-order_by"]),
        ("op --order", ["--order_by"]),
        ("op -select micros -order", ["-order_by"]),
        ("op -order_by ", list(ORDERS)),
        ("op -order_by p", ["peak_bytes", "params"]),
        ("op --order_by=p", ["peak_bytes", "params"]),
        ("op -order-by p", ["peak_bytes", "params"]),
        ("op -select ", list(COLUMNS)),
        ("op -select micros,d", ["device"]),
        ("op -select micros,mi", []),
        ("op -step ", ["-1", "0", "1"]),
        ("op --step=", ["-1", "0", "1"]),
        ("op -timing ", ["exact", "tfprof"]),
        ("op -output ", ["stdout", "none", "file:outfile=", "timeline:outfile=", "pprof:outfile="]),
        ("op -output t", ["timeline:outfile="]),
        ("op -o t", ["timeline:outfile="]),
        ("op -account_displayed_op_only ", ["true", "false"]),
        ("op -account_displayed_op_only -st", ["-step", "-start_name_regexes"]),
        ("op -account_type_regexes _", ["_trainable_variables"]),
        ("op -account_type_regexes Mean,_", ["_trainable_variables"]),
        ("op -device_regexes /", ["/job:localhost/replica:0/task:0/device:cpu:0"]),
        ("scope -show_name_regexes l", ["layer", "layer/", "loss"]),
        ("scope -show_name_regexes layer/", ["layer/MatMul", "layer/Relu", "layer/w"]),
        ("scope -show_name_regexes=x,layer/M", ["layer/MatMul"]),
        ("op -show_name_regexes M", ["MatMul", "Mean"]),
        ("code -show_name_regexes model", ["model.py:20:layer", "model.py:21:layer"]),
        ("set -start_name_regexes lo", ["loss"]),
        ("op -min_micros ", []),
        ("op ", [f"-{option.name}" for option in SHOWN]),
        ("op -zzz z", []),
    ],
)
def test_what_is_offered(line: str, words: list[str]) -> None:
    assert offered(line) == words


def test_a_whole_command_or_option_gets_a_space_and_a_value_none() -> None:
    assert candidates("sco", PROFILE) == (3, ["scope "])
    assert candidates("op -ord", PROFILE) == (4, ["-order_by "])
    assert candidates("op -order_by dep", PROFILE) == (3, ["depth"])


def test_names_of_files(tmp_path: Path) -> None:
    (tmp_path / "timeline.json").touch()
    (tmp_path / "traces").mkdir()
    assert offered(f"op -dump_to_file {tmp_path}/t") == [f"{tmp_path}/timeline.json", f"{tmp_path}/traces/"]
    assert offered(f"op -output file:outfile={tmp_path}/tr") == [f"file:outfile={tmp_path}/traces/"]
    assert offered(f"op -dump_to_file {tmp_path}/no/such/") == []


def test_a_profile_of_many_nodes_is_not_poured_out() -> None:
    many = profile_of("\n".join(f"node_{number} = Op()" for number in range(1000)))
    assert len(candidates("scope -show_name_regexes node", many)[1]) == 200


def test_a_profile_without_traces_offers_scopes_for_code_view() -> None:
    assert candidates("code -show_name_regexes a", profile_of("ab = Op() 1us"))[1] == ["ab"]
