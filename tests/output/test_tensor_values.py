"""Values of checkpoints as native prints them: in its documents, and worked out by hand from its C++ (tfprof_tensor.h).

Native's Python interface never opens a checkpoint, so that there is no asking it.
"""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from tests.sketches import profile_of
from tfprof_widget.api.profile import Profile
from tfprof_widget.lib.errors import ProfileWarning
from tfprof_widget.output import cells
from tfprof_widget.output.cells import value_proto, value_text
from tfprof_widget.profiles.tables import Checkpoint

FLOAT, DOUBLE, INT32, STRING, COMPLEX, INT64, BOOL, HALF = 1, 2, 3, 7, 8, 9, 10, 19
NUMBERS = {"f4": FLOAT, "f8": DOUBLE, "i4": INT32, "i8": INT64, "b1": BOOL, "f2": HALF, "c8": COMPLEX}


def checkpoint_of(**values: Any) -> Checkpoint:
    arrays = {name.replace("__", "/"): np.asarray(value) for name, value in values.items()}
    return Checkpoint(
        path="model.ckpt",
        shapes={name: array.shape for name, array in arrays.items()},
        types={name: NUMBERS.get(array.dtype.str[1:], STRING) for name, array in arrays.items()},
        value=arrays.__getitem__,
    )


def profile_with(sketch: str, **values: Any) -> Profile:
    return replace(profile_of(sketch), checkpoint=checkpoint_of(**values))


def rows_of(text: str) -> str:
    return text.partition("Profile:\n")[2].partition("\n")[2]


def test_the_help_says_that_there_are_values_where_there_are() -> None:
    """Native says "Not supported now." over right values too."""
    sketch = "a = VariableV2() 1"
    with_values = profile_with(sketch, a=[1.0]).view("scope", select=["tensor_value"]).text()
    assert "tensor_value: The values of variables in the checkpoint." in with_values
    assert "Not supported now." not in with_values
    assert "tensor_value: Not supported now." in profile_of(sketch).view("scope", select=["tensor_value"]).text()


def test_as_the_guide_prints_them() -> None:
    gamma = [1.80, 2.10, 2.06, 1.91, 2.26, 1.86, 1.81, 1.37, 1.78, 1.85, 1.96, 1.54, 2.04, 2.34, 2.22, 1.99]
    sketch = """
        unit_1_0/shared_activation/init_bn/gamma = VariableV2() 16
        unit_1_0/sub2/bn2/beta = VariableV2() 16
    """
    profile = profile_with(sketch, unit_1_0__shared_activation__init_bn__gamma=gamma)
    view = profile.view("scope", show_name_regexes=["unit_1_0.*gamma"], select=["tensor_value"], max_depth=5)
    assert rows_of(view.text()) == dedent("""\
        _TFProfRoot ()
          unit_1_0/shared_activation/init_bn/gamma ()
        [1.80 2.10 2.06 1.91 2.26 1.86 1.81 1.37 1.78 1.85 1.96 1.54 2.04 2.34 2.22 1.99 ],
    """)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32(0.125), "[0.12 ],\n"),
        (np.int64(-7), "[-7 ],\n"),
        ([[1, 2], [3, 4]], "[[1 2 ],\n[3 4 ],\n],\n"),
        (np.zeros([2, 1, 1], np.int32), "[[[0 ],\n],\n[[0 ],\n],\n],\n"),
        (np.zeros([0]), "[],\n"),
        (np.zeros([2, 0]), "[[],\n[],\n],\n"),
        ([1e10, 1234567.0, -0.001, np.inf, np.nan], "[10000000000.00 1234570.00 -0.00 inf nan ],\n"),
        ([b"ab", b"c"], "['ab' 'c' ],\n"),
        ([True, False], "[1 0 ],\n"),  # which native calls "Not Supported type", as the next
        (np.float16(0.125), "[0.12 ],\n"),
        (np.complex64(1), ""),
    ],
)
def test_text(value: Any, text: str) -> None:
    assert value_text(checkpoint_of(w=value), "w") == text


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.float32(1 / 3), {"dtype": FLOAT, "value_double": [0.333333]}),
        ([[1234567.0, 2.0]], {"dtype": DOUBLE, "value_double": [1234570.0, 2.0]}),
        (np.array([[1], [2]], np.int32), {"dtype": INT32, "value_int64": [1, 2]}),
        (2**62, {"dtype": INT64, "value_int64": [2**62]}),
        ([b"ab", "é".encode(), b"\xff"], {"dtype": STRING, "value_str": ["ab", "é", "\ufffd"]}),
        ([True], {"dtype": BOOL, "value_int64": [1]}),
        (np.float16(1 / 3), {"dtype": HALF, "value_double": [0.333252]}),
        (np.complex64(1), {"dtype": COMPLEX}),
        (np.zeros([0]), {"dtype": DOUBLE}),
    ],
)
def test_message(value: Any, message: dict[str, Any]) -> None:
    found = value_proto(checkpoint_of(w=value), "w")
    fields = {field.name: held if field.name == "dtype" else list(held) for field, held in found.ListFields()}
    assert fields == message


def test_a_long_text_is_cut() -> None:
    """2,500 times `0.00 ` are 12,500 characters, of which 9,999 fit behind the bracket."""
    text = value_text(checkpoint_of(w=np.zeros(2500)), "w")
    assert text == "[" + ("0.00 " * 2000)[:9999] + "],\n...omitted from display\n\n"
    nested = value_text(checkpoint_of(w=np.zeros([50, 50])), "w")
    row = "[" + "0.00 " * 50 + "],\n"
    assert nested == ("[" + row * 50)[:10_000] + "],\n...omitted from display\n\n"


@pytest.mark.parametrize(
    ("digits", "ending"),
    [
        (9995, "],\n"),  # with the brackets 9,999 characters
        (9996, "],\n...omitted from display\n\n"),  # with the brackets 10,000
        (9998, "],\n...omitted from display\n\n"),
    ],
)
def test_where_a_text_becomes_too_long(digits: int, ending: str) -> None:
    word = b"x" * (digits - len("'' "))
    text = value_text(checkpoint_of(w=[word]), "w")
    assert text == "['" + word.decode() + "' " + ending


def test_a_long_message_is_cut_aloud(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "MOST_ELEMENTS", 3)
    with pytest.warns(ProfileWarning, match=r"'w' has 4 elements, of which the message holds the first 3; for all"):
        message = value_proto(checkpoint_of(w=[[1, 2], [3, 4]]), "w")
    assert list(message.value_int64) == [1, 2, 3]


SKETCH = """
    w        = VariableV2() 2
    w/read   = Identity(w)
    scope/op = Identity(w/read)
"""


@pytest.mark.parametrize("view", ["scope", "graph"])
def test_rows_of_a_view(view: str) -> None:
    profile = profile_with(SKETCH, w=[1, 2], scope=3, _TFProfRoot=4, elsewhere=5)
    found = profile.view(view, select=["tensor_value", "params"])
    values = {}
    waiting: list[Any] = [found.proto()]
    while waiting:
        row = waiting.pop()
        waiting.extend(row.children)
        if row.HasField("tensor_value"):
            values[row.name] = list(row.tensor_value.value_int64)
    scopes = {"scope": [3]} if view == "scope" else {}  # a scope of that name, if it is no node
    assert values == {"w": [1, 2], **scopes}
    assert ("[3 ],\n" in found.text()) == bool(scopes)
    assert "w (2, 2/2 params)\n[1 2 ],\n" in found.text()
    assert "[1 2 ]" not in profile.view(view, select=["params"]).text()
    unasked: Any = profile.view(view, select=["params"]).proto()
    assert not any(row.HasField("tensor_value") for row in unasked.children)


@pytest.mark.parametrize("view", ["op", "code"])
def test_other_views_have_none(view: str) -> None:
    profile = profile_with("w = VariableV2() 2 | a.py:1:main", w=[1, 2])
    assert "[1 2 ]" not in profile.view(view, select=["tensor_value"]).text()
