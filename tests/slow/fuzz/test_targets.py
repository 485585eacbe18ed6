"""Damaged input of every kind is taken or refused as documented; the long run is `python -m tests.slow.fuzz`."""

from __future__ import annotations

from linecache import getline
from random import Random

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.slow.fuzz import seeds
from tests.slow.fuzz.complaints import complaint, is_documented
from tests.slow.fuzz.corpus import kept, starts
from tests.slow.fuzz.lines import lines_of, reached
from tests.slow.fuzz.target import Target
from tests.slow.fuzz.targets import TARGETS
from tfprof_widget.profiles.options import Options

every_target = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
BRIEFLY = settings(deadline=None, max_examples=50, suppress_health_check=list(HealthCheck))


@every_target
def test_healthy_input_is_taken(target: Target) -> None:
    refused = [told for told in (complaint(target.read, data) for data in target.healthy()) if told]
    expected = ["nothing to profile", "nothing to profile", "Chrome trace"] if target.name == "file" else []
    assert len(refused) == len(expected)
    assert all(part in told for part, told in zip(expected, refused, strict=True))


@every_target
def test_what_was_found_is_taken_or_refused(target: Target) -> None:
    """The corpus: inputs that once brought out other errors, and those that reach the most code."""
    for data in kept(target).values():
        complaint(target.read, data)


@pytest.mark.parametrize(
    ("target", "name", "words"),
    [
        ("graph_text", "nested_deeply", "no GraphDef in the text format (it is nested too deeply)"),
        ("file", "nested_deeply_as_text", "as the text of a GraphDef it is nested too deeply"),
        ("file", "literals_one_after_another", "this is none of RunMetadata"),
        ("file", "long_word", "it cannot be read (1:14"),
        ("profile", "step_below_0", "profile: it has a step -5, below 0"),
        ("profile", "times_further_apart_than_63_bits", "a time is more than 2**63 - 1 nanoseconds"),
        ("xspace", "start_is_beyond_63_bits", "xspace: it has a time or size beyond 2**63 - 1"),
        ("command", "number_of_5000_digits", ", but must be below 2**63"),
        ("checkpoint", "block_beyond_the_end", "model.ckpt': Read less bytes than requested; give the prefix"),
    ],
)
def test_what_was_found_is_told(target: str, name: str, words: str) -> None:
    assert words in complaint(TARGETS[target].read, kept(TARGETS[target])[name])


@every_target
@BRIEFLY
@given(data=st.data(), random=st.randoms(use_true_random=False), times=st.integers(1, 4))
def test_damaged_input_is_taken_or_refused(target: Target, data: st.DataObject, random: Random, times: int) -> None:
    damaged = data.draw(st.sampled_from(starts(target)))
    for _ in range(times):
        damaged = target.mutated(damaged, random)
    note(repr(damaged))
    complaint(target.read, damaged)


@every_target
@BRIEFLY
@given(noise=st.binary(max_size=200))
def test_noise_is_taken_or_refused(target: Target, noise: bytes) -> None:
    complaint(target.read, noise)


@BRIEFLY
@given(
    given=st.dictionaries(
        st.sampled_from(sorted(Options.__dataclass_fields__)),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text() | st.integers()),
        max_size=3,
    )
)
def test_options_of_any_value_are_taken_or_refused(given: dict[str, object]) -> None:
    complaint(lambda _: seeds.profile().view("scope", **given | {"output": "none"}), b"")


@every_target
def test_lines_that_inputs_reach_are_counted(target: Target) -> None:
    """The table of the long run tells how much of each reader its inputs reach."""
    whole = lines_of(target)
    assert reached(target, []) == set()
    assert reached(target, target.healthy()) <= whole
    assert len(reached(target, starts(target))) > len(whole) / 16


def test_a_line_counts_once_it_has_run() -> None:
    target = TARGETS["options"]
    before = reached(target, [b"{}"])
    (refusal,) = {line for line in reached(target, [b"{}", b'{"max_depth": -1}']) - before if _is_refusal(line)}
    assert "must be at least" in getline(*refusal)


def _is_refusal(line: tuple[str, int]) -> bool:
    return "raise " in getline(*line)


def test_a_message_that_is_too_long_to_be_read_is_a_fault() -> None:
    with pytest.raises(ValueError, match="unknown option") as caught:
        Options.of(zzz=1)
    assert is_documented(caught.value)
    caught.value.args = ("a" * 401,)
    assert not is_documented(caught.value)


def test_an_error_that_slips_out_is_seen() -> None:
    def slips(_: bytes) -> None:
        int("five")

    with pytest.raises(ValueError, match="invalid literal"):
        complaint(slips, b"")
    assert not is_documented(MemoryError())
