"""Matching names with regexes: whatever way it takes, RE2's full match of one name at a time is the answer."""

from __future__ import annotations

import re
import time
from itertools import product

import pytest
import re2
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tests.slow.share import share
from tfprof_widget.engine.matching import Names, compiled

ANY_TEXT = st.text(st.sampled_from("abA/_.-:^$()[]{}*+?|\\0 \t\n\r\0é日\u017f"), max_size=6)
NAMES = st.lists(st.text("ab", max_size=5) | st.text("ab/\n", max_size=4) | ANY_TEXT, max_size=8)
CHARACTERS = ["a", "b", "A", "/", "_", "-", ":", " ", "0", ",", "é", "日", "\n", "\t", "\0"]
OPERATORS = [".", ".*", ".+", ".?", ".*?", "a*", "b+", "(a|b)", "(?:a/)?", "()", "|", "{2}", "{1,}", "{,2}", "{a}"]
ESCAPES = [r"\.", r"\/", r"\_", r"\-", r"\\", r"\(", r"\[", r"\{", r"\^", r"\$", r"\|", "\\\n", r"\ ", r"\x41"]
CLASSES = [r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\pL", r"\PL", r"\C", r"\n", r"\t", r"\x{e9}", "[+--]", "[ -Z]"]
SETS = ["[ab]", "[^a]", "[^/]*", "[a-c/]", "[[:alpha:]]", r"[\w]", r"[^\w]", "[.]", "[é]", "[^é]", "[A-_]", "[,-/]"]
ASSERTIONS = ["^", "$", r"\A", r"\z", r"\b", r"\B", "(?i)", "(?s)", "(?m)", "(?i:a)", "(?P<x>a)", "(?-s:.)", r"\Qa.b\E"]
PARTS = st.sampled_from([*CHARACTERS, *OPERATORS, *ESCAPES, *CLASSES, *SETS, *ASSERTIONS])
USUAL_PARTS = st.sampled_from(
    ["a", "b", "ab", "/", ".*", ".", r"\.", "[ab]", "a|b", "(a)", r"\w", r"\s", "\n", "^", "$"]
)
REGEXES = (st.lists(PARTS, max_size=6) | st.lists(USUAL_PARTS, max_size=6)).map("".join)


def one_at_a_time(names: list[str], regex: str) -> list[bool]:
    options = re2.Options()
    options.log_errors = False
    pattern = re2.compile(regex, options)
    return [pattern.fullmatch(name) is not None for name in names]


def is_valid(regex: str) -> bool:
    try:
        compiled("show_name_regexes", regex)
    except ValueError:
        return False
    return True


@settings(max_examples=share(3000, 600), deadline=None)
@given(NAMES, REGEXES)
@example(["a", "a\nb", "b"], "a")
@example(["a\nb"], ".*")
@example(["a", "b"], r"[^x]*")
@example(["a", "b"], r"\s*a|b\s*")
@example(["ab", "abc"], "a|ab")
@example(["", "a", ""], "a*")
@example(["aa", "aaa"], "a.*a")
@example(["aba"], "ab.*ba")
@example(["abcbd"], "a.*b.*bd")
@example(["a"], "a$")
@example(["\u017f", "s"], "(?i)s")  # the long s folds to s
@example([], "a?")
@example([""], "\n")
@example(["a"], "a\n")
@example(["a", "b"], r"a\sb")
@example(["abd"], "a.*b.*bd")
@example(["a.b", "axb"], r"a\.b")
@example(["a_b"], r"a\_b")
@example(["é"], ".")
@example(["é"], r"\C\C")
@example(["a|b"], "a|b")
def test_every_way_answers_as_re2_does_for_one_name(names: list[str], regex: str) -> None:
    assume(is_valid(regex))
    assert Names(names).matching_one("show_name_regexes", regex).tolist() == one_at_a_time(names, regex)


@pytest.mark.parametrize("regex", ["a", "a.*", ".*a", ".*a.*", "a.*b.*c", "[ab]", r"a\d", "(a|b)c", "a+"])
def test_usual_regexes_over_usual_names(regex: str) -> None:
    names = ["a", "b", "ab", "ba", "aab", "a1", "ac", "bc", "abc", "aXbXc", "acb", "", "aa"]
    assert Names(names).matching_one("show_name_regexes", regex).tolist() == one_at_a_time(names, regex)


@pytest.mark.parametrize("most", [0, 1, 2, 8, 200])
def test_a_literal_that_few_or_many_names_have(most: int) -> None:
    names = [f"{'left/left' if row < most else 'right'}/{row}" for row in range(200)]
    assert Names(names).matching("a", [".*left.*"]).tolist() == [row < most for row in range(200)]


def test_one_of_several_is_enough() -> None:
    assert Names(["a", "b", "c"]).matching("show_name_regexes", ["a", "c"]).tolist() == [True, False, True]
    assert Names(["a", "b"]).matching("show_name_regexes", []).tolist() == [False, False]


def test_a_point_and_a_star_alone_is_natives_word_for_all() -> None:
    names = Names(["a", "a\nb"])
    assert names.matching("show_name_regexes", [".*"]).tolist() == [True, True]
    assert names.matching("show_name_regexes", [".*", "x"]).tolist() == [True, False]


def test_an_answer_stays_the_same_and_the_callers_own() -> None:
    names = Names(["a", "b"])
    names.matching("show_name_regexes", ["a"])[:] = True
    assert names.matching("show_name_regexes", ["a"]).tolist() == [True, False]


@pytest.mark.parametrize("regex", ["(a+)+$", "(a*)*b", "(a|aa)+$", "(.*.*.*.*.*)x", "a{1,30}a{1,30}a{1,30}$"])
def test_no_regex_takes_exponential_time(regex: str) -> None:
    names = Names(["a" * 30 + "b"] * 1000 + ["a" * 5000 + "c"])
    start = time.process_time()
    names.matching_one("show_name_regexes", regex)
    assert time.process_time() - start < 10  # what takes exponential time does not end


@pytest.mark.parametrize(
    ("regex", "reason"),
    [
        ("a(", "missing ): a("),
        ("a)", "unexpected ): a)"),
        ("[a", "missing ]: [a"),
        ("**", "no argument for repetition operator: *"),
        ("a{2000}", "invalid repetition size: {2000}"),
        (r"(a)\1", r"invalid escape sequence: \1"),
        ("(?=a)", "invalid perl operator: (?="),
        ("(?<!a)b", "invalid perl operator: (?<"),
        ("\\", "trailing \\"),
    ],
)
def test_what_re2_refuses_is_refused_with_its_reason(regex: str, reason: str) -> None:
    with pytest.raises(ValueError, match=r"^hide_name_regexes: RE2 refuses ") as caught:
        Names(["a"]).matching("hide_name_regexes", ["fine", regex])
    assert repr(regex) in str(caught.value)
    assert reason in str(caught.value)


@pytest.mark.parametrize("regex", ["(", "[a", "**", "(?=a)", r"\1", "a{2000}"])
@pytest.mark.parametrize("names", [[], ["a"], ["a", "é\n"]])
def test_a_regex_is_refused_whatever_the_names(names: list[str], regex: str) -> None:
    with pytest.raises(ValueError, match="RE2 refuses"):
        Names(names).matching("show_name_regexes", [regex])


@pytest.mark.parametrize("parts", range(2, 5))
def test_literals_with_anything_between_them_are_found_one_after_another(parts: int) -> None:
    """Every such regex of the letters a and b, over every name of up to six of them, as Python's own regexes tell."""
    names = ["".join(letters) for length in range(7) for letters in product("ab", repeat=length)]
    for literals in product(("", "a", "b", "ab"), repeat=parts):
        regex = ".*".join(literals)
        expected = [re.fullmatch(regex, name) is not None for name in names]
        assert Names(names).matching_one("show_name_regexes", regex).tolist() == expected, regex


def test_a_regex_that_is_refused_is_told_and_not_logged_too(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match=r"^show_name_regexes: RE2 refuses"):
        compiled("show_name_regexes", "a(")
    assert capfd.readouterr().err == ""
