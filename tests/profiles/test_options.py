"""The option table: every value is checked, and every complaint names what there is."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest

from tfprof_widget.profiles.options import COLUMNS, OPTIONS, ORDERS, TIMINGS, VIEWS, Options, check_step, check_view

BY_KIND = {kind: [option.name for option in OPTIONS if option.kind == kind] for kind in {o.kind for o in OPTIONS}}


def test_the_table_and_the_checked_options_have_the_same_names_in_the_same_order() -> None:
    assert [option.name for option in OPTIONS] == [field.name for field in dataclasses.fields(Options)]


def test_every_option_has_a_help_sentence() -> None:
    assert all(option.help.endswith(".") and option.help[0].isalpha() for option in OPTIONS)


def test_every_default_passes_its_own_check() -> None:
    assert Options.of(**{option.name: option.default for option in OPTIONS}) == Options.of()


def test_the_names_are_those_of_the_tfprof_documents() -> None:
    assert VIEWS == ("scope", "graph", "op", "code", "layers")
    told = "name depth bytes peak_bytes residual_bytes output_bytes micros accelerator_micros cpu_micros params"
    assert (*told.split(), "float_ops", "occurrence", "forward_micros", "backward_micros", "update_micros") == ORDERS
    # The guide's list of columns, and those that came later.
    told = "bytes micros params float_ops num_hidden_ops tensor_value device op_types"
    later = "occurrence input_shapes accelerator_micros cpu_micros peak_bytes residual_bytes output_bytes"
    assert set(COLUMNS) == {*told.split(), *later.split()}


@pytest.mark.parametrize("name", BY_KIND["integer"])
def test_a_number_is_taken_from_its_least_value_on(name: str) -> None:
    (option,) = (option for option in OPTIONS if option.name == name)
    for good in (option.minimum, np.int64(7), 2**40):
        assert getattr(Options.of(**{name: good}), name) == good
    with pytest.raises(ValueError, match=rf"^{name} is {option.minimum - 1}, but must be at least {option.minimum}$"):
        Options.of(**{name: option.minimum - 1})


@pytest.mark.parametrize("name", BY_KIND["integer"])
@pytest.mark.parametrize("bad", [1.5, "10", None, [1], float("nan"), float("inf")])
def test_what_is_no_whole_number_is_refused(name: str, bad: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{name} is .*, but must be a whole number"):
        Options.of(**{name: bad})


@pytest.mark.parametrize("name", [*BY_KIND["regexes"], *BY_KIND["choices"]])
@pytest.mark.parametrize("bad", [5, None, {"a": 1}, b"a", [1], [None]])
def test_what_is_no_list_of_strings_is_refused(name: str, bad: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{name} "):
        Options.of(**{name: bad})


@pytest.mark.parametrize("name", BY_KIND["regexes"])
def test_regexes_may_be_one_string_or_any_collection(name: str) -> None:
    for given in ("a.*", ["a.*"], ("a.*",), {"a.*"}, iter(["a.*"])):
        assert getattr(Options.of(**{name: given}), name) == ("a.*",)
    assert getattr(Options.of(**{name: []}), name) == ()


@pytest.mark.parametrize("name", BY_KIND["flag"])
def test_a_flag_is_true_or_false(name: str) -> None:
    for given in (True, 1, np.True_):
        assert getattr(Options.of(**{name: given}), name) is True
    assert getattr(Options.of(**{name: False}), name) is False


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"order_by": "time"}, f"order_by has no 'time'; choose from {', '.join(ORDERS)}"),
        ({"order_by": None}, f"order_by has no None; choose from {', '.join(ORDERS)}"),
        ({"select": ["micros", "time"]}, f"select has no 'time'; choose from {', '.join(COLUMNS)}"),
        ({"select": "time"}, f"select has no 'time'; choose from {', '.join(COLUMNS)}"),
        ({"timing": "wall"}, f"timing has no 'wall'; choose from {', '.join(TIMINGS)}"),
        ({"output": 5}, "output holds 5, but must hold strings"),
    ],
)
def test_an_unknown_choice_is_told_the_known_ones(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(complaint)}$"):
        Options.of(**given)


@pytest.mark.parametrize(
    ("given", "meant"),
    [("max_dept", "max_depth"), ("min_micro", "min_micros"), ("show_name_regex", "show_name_regexes")],
)
def test_a_misspelt_option_is_told_what_may_be_meant(given: str, meant: str) -> None:
    with pytest.raises(ValueError, match=rf"^unknown option '{given}': did you mean '{meant}'\?$"):
        Options.of(**{given: 1})


def test_an_option_like_no_other_is_told_all() -> None:
    with pytest.raises(ValueError, match=r"^unknown option 'zzz': the options are max_depth, .*, timing$"):
        Options.of(zzz=1)


@pytest.mark.parametrize("bad", ["", "scopes", "Op", None, 3])
def test_an_unknown_view_is_told_the_known_ones(bad: Any) -> None:
    with pytest.raises(ValueError, match=f"^view has no {bad!r}; choose from scope, graph, op, code, layers$"):
        check_view(bad)


@pytest.mark.parametrize("bad", [-1, 1.0, "0", None])
def test_a_step_is_named_by_a_whole_number_from_0_on(bad: Any) -> None:
    with pytest.raises(ValueError, match=r"^step is "):
        check_step(bad)
    assert check_step(2**40) == 2**40


def test_options_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Options.of().step = 3  # type: ignore[misc]


@pytest.mark.parametrize("given", ["false", "", 2, None, [1]])
def test_a_flag_is_true_or_false_and_nothing_like_it(given: object) -> None:
    with pytest.raises(ValueError, match=r"^account_displayed_op_only is .*, but must be True or False$"):
        Options.of(account_displayed_op_only=given)
    assert Options.of(account_displayed_op_only=1).account_displayed_op_only is True
