"""The reference of the Python API has every public name, and is what signatures and docstrings make of it."""

from __future__ import annotations

import re

import pytest

import tfprof_widget
from docs.generate_reference import MODULES, TARGET, reference
from tfprof_widget.analysis.advisor.runner import Advice
from tfprof_widget.capturing.recording import Measurement

PAGE = TARGET.read_text(encoding="utf-8")
SECTIONS = dict(zip(*[iter(re.split(r"^### (\w+)$", PAGE, flags=re.MULTILINE)[1:])] * 2, strict=True))


def test_the_reference_is_fresh() -> None:
    told = "docs/reference.md is not what the docstrings make of it: run `make protocol`"
    assert reference() == PAGE, told


def test_every_public_name_is_there() -> None:
    listed = {*SECTIONS, *re.findall(r"^- `(\w+)`$", PAGE, flags=re.MULTILINE)}
    assert {name for name in tfprof_widget.__all__ if not name.startswith("_")} <= listed
    assert [name for name in MODULES if f"- `tfprof_widget.{name}`: " not in PAGE] == []


@pytest.mark.parametrize(
    "described", [tfprof_widget.Capture, tfprof_widget.Profile, tfprof_widget.View, Measurement, Advice]
)
def test_every_member_of_a_class_is_there(described: type) -> None:
    members = {name for name in dir(described) if not name.startswith("_")}
    members |= {name for name in getattr(described, "__dataclass_fields__", {}) if not name.startswith("_")}
    told = set(re.findall(r"^- `(\w+)", SECTIONS[described.__name__], flags=re.MULTILINE))
    assert members - told == set()
