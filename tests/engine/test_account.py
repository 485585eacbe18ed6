"""Which nodes count: those of which one type (op, device, own) matches."""

from __future__ import annotations

import pytest

from tests.sketches import profile_of
from tfprof_widget.engine.account import accounted, row_weights, times_accounted
from tfprof_widget.profiles.options import Options

PROFILE = profile_of("""
    a = Conv2D() 1us @/job:w/device:GPU:0
    b = Conv2D() 1us @/job:w/device:GPU:1
    c = MatMul() 1us @/job:w/device:GPU:0 +mine +also_mine
    d = NoOp()
""")


def counted(*regexes: str) -> str:
    marked = accounted(PROFILE, Options.of(account_type_regexes=regexes))
    return "".join(name for name, flag in zip(PROFILE.nodes.names, marked.tolist(), strict=True) if flag)


@pytest.mark.parametrize(
    ("regexes", "names"),
    [
        ([".*"], "abcd"),
        (["Conv2D"], "ab"),
        (["Conv"], ""),  # a match is of the whole type
        (["Conv.*", "mine"], "abc"),
        ([".*gpu:0"], "ac"),  # devices are lower-cased
        ([".*GPU:0"], ""),
        ([".*mine"], "c"),
        ([], ""),
        ([".*", "nothing"], "abcd"),
    ],
)
def test_a_node_counts_if_one_of_its_types_matches(regexes: list[str], names: str) -> None:
    assert counted(*regexes) == names


def test_how_many_regexes_match_a_node() -> None:
    options = Options.of(account_type_regexes=["Conv2D", ".*gpu:0", ".*mine"])
    assert times_accounted(PROFILE, options).tolist() == [2, 1, 2, 0]


def test_only_natives_clock_counts_a_node_more_than_once() -> None:
    regexes = ["Conv2D", ".*gpu:0", ".*mine"]
    assert row_weights(PROFILE, Options.of(account_type_regexes=regexes, timing="tfprof")).tolist() == [2, 1, 2, 0]
    assert row_weights(PROFILE, Options.of(account_type_regexes=regexes)).tolist() == [1, 1, 1, 0]
    assert row_weights(PROFILE, Options.of(timing="tfprof")).tolist() == [1, 1, 1, 1]


def test_what_is_accounted_is_a_flag_a_node_and_how_often_a_whole_number() -> None:
    for regexes in ([".*"], ["Conv2D"], []):
        options = Options.of(account_type_regexes=regexes)
        counts = accounted(PROFILE, options), times_accounted(PROFILE, options), row_weights(PROFILE, options)
        assert [each.dtype.name for each in counts] == ["bool", "int64", "int64"]
