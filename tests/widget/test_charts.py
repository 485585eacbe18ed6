"""The charts' specifications: they draw, take their data by name and their colours from the theme."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops

from tests.sketches import profile_of
from tfprof_widget.demo import demo_profile
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.output.costs import Costs, cost_rows
from tfprof_widget.widget import charts
from tfprof_widget.widget.charts import LIGHT, chart_of, specifications

SPECIFICATIONS = specifications()
FRONT_END = Path(__file__).parents[2] / "js" / "src"
TOKENS = FRONT_END / "styles" / "base.css"
# Where the front end makes the rows of each chart.
SOURCES = {
    "costs": "analysis/costs.ts",
    "costs_by_processor": "analysis/costs.ts",
    "scopes": "analysis/chart_rows.ts",
    "steps": "analysis/chart_rows.ts",
    "steps_by_kind": "analysis/chart_rows.ts",
    "memory": "views/memory.tsx",
}
ROWS: dict[str, dict[str, list[dict[str, Any]]]] = {
    "costs": {"costs": [{"name": "Conv2D", "part": "", "value": 3, "total": 3, "label": "3 µs", "opacity": 1}]},
    "costs_by_processor": {
        "costs": [
            {"name": "Conv2D", "part": "CPU", "value": 3, "total": 5, "label": "5 µs", "opacity": 1},
            {"name": "Conv2D", "part": "accelerator", "value": 2, "total": 5, "label": "", "opacity": 1},
        ]
    },
    "scopes": {
        "scopes": [{"label": "all · 5 µs", "x0": 0, "x1": 1, "depth": 0, "category": 5, "opacity": 1}],
    },
    "steps": {"steps": [{"step": "7", "seconds": 0.004, "kind": "", "opacity": 1}]},
    "steps_by_kind": {"steps": [{"step": "7", "seconds": 0.004, "kind": "training", "opacity": 1}]},
    "memory": {
        "memory": [
            {"device": "GPU:0", "seconds": 0, "until": 0.002, "bytes": 0},
            {"device": "GPU:0", "seconds": 0.002, "until": 0.003, "bytes": 3_000_000},
        ],
        "peaks": [{"device": "GPU:0", "seconds": 0.002, "bytes": 3_000_000, "label": "peak 3 MB"}],
    },
}


def drawn(name: str) -> str:
    """The texts of a chart with some rows, as vl-convert draws it."""
    import vl_convert

    svg = vl_convert.vegalite_to_svg({**SPECIFICATIONS[name], "datasets": ROWS[name], "width": 400})
    return " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("costs", ["Conv2D", "3 µs"]),
        ("costs_by_processor", ["Conv2D", "5 µs", "CPU", "accelerator"]),
        ("scopes", ["all · 5 µs"]),
        ("steps", ["7", "4 ms"]),
        ("steps_by_kind", ["7", "4 ms", "training"]),
        ("memory", ["GPU:0", "peak 3 MB", "2 MB", "1 ms"]),
    ],
)
def test_chart_draws_its_data(name: str, texts: list[str]) -> None:
    said = drawn(name)
    assert [text for text in texts if text not in said] == []


@pytest.mark.parametrize("name", SPECIFICATIONS)
def test_specification_leaves_data_and_theme_to_the_front_end(name: str) -> None:
    spec = SPECIFICATIONS[name]
    assert "datasets" not in spec
    assert set(ROWS[name]) == {each["name"] for each in found(spec, "data")}
    assert (spec["width"], spec["background"]) == ("container", "transparent")
    assert spec["autosize"] == {"type": "fit-x", "contains": "padding"}
    assert spec["description"]
    assert "title" not in spec


@pytest.mark.parametrize("name", SPECIFICATIONS)
def test_front_end_makes_every_field_that_is_drawn(name: str) -> None:
    source = (FRONT_END / SOURCES[name]).read_text(encoding="utf-8")
    assert [field for field in fields(SPECIFICATIONS[name]) if not re.search(rf"\b{field}\b[:,]", source)] == []


@pytest.mark.parametrize("metric", ["time", "memory", "count", "rate"])
def test_rows_of_costs_have_every_field_that_is_drawn(metric: str) -> None:
    rows = cost_rows(Costs.of(demo_profile().view("op")), metric)
    assert fields(SPECIFICATIONS["costs_by_processor"]) <= set(rows[0])


@pytest.mark.parametrize("name", SPECIFICATIONS)
def test_colours_are_names_of_the_theme(name: str) -> None:
    text = json.dumps(SPECIFICATIONS[name])
    assert set(re.findall(r"var\((--[\w-]+)\)", text)) <= set(LIGHT)
    assert re.findall(r'"#[0-9a-f]{3,8}"', text) == []


def test_light_colours_are_those_of_the_front_end() -> None:
    light = TOKENS.read_text(encoding="utf-8").partition("}")[0]
    colours = dict(re.findall(r"(--[\w-]+): (#\w+);", light))
    assert {name: colours.get(name) for name in LIGHT} == LIGHT


@pytest.mark.parametrize("metric", ["time", "memory", "count", "rate"])
def test_chart_of_a_view_has_data_and_says_what_it_shows(metric: str) -> None:
    spec = chart_of(demo_profile().view("op"), metric).to_dict()
    assert spec["datasets"]["costs"][0]["name"]
    assert spec["title"]
    assert "var(" not in json.dumps(spec)


def test_chart_of_a_view_is_saved_as_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "ops.svg"
    chart_of(profile_of("a = Mul() 3us").view("op")).save(str(picture))
    svg = picture.read_text(encoding="utf-8")
    assert "Mul" in svg
    assert "3 µs" in svg


def test_chart_of_a_view_keeps_off_the_edges_of_its_picture(tmp_path: Path) -> None:
    picture = tmp_path / "ops.png"
    chart_of(profile_of("a = Mul() 3us").view("op")).save(str(picture))
    with Image.open(picture) as image:
        drawn = ImageChops.invert(image.convert("RGB")).getbbox()  # what is not white
        assert drawn is not None
        left, top, right, bottom = drawn
        assert min(left, top, image.width - right, image.height - bottom) >= 10


def test_chart_of_nothing_is_empty() -> None:
    assert chart_of(demo_profile().view("op", min_micros=10**9)).to_dict()["datasets"] == {"costs": []}


def test_unknown_metric_is_refused_with_those_known() -> None:
    with pytest.raises(ValueError, match="metric 'cost' is not known; choose from time, memory, count, rate"):
        chart_of(demo_profile().view("op"), "cost")


def test_without_altair_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ProfileError, match=r"run `pip install 'tfprof-widget\[export\]'`"):
        chart_of(demo_profile().view("op"))


def test_command_writes_all_specifications(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "charts.json"
    monkeypatch.setattr(sys, "argv", ["charts", str(target)])
    charts.main()
    assert json.loads(target.read_text(encoding="utf-8")) == SPECIFICATIONS


def fields(spec: dict[str, Any]) -> set[str]:
    """The fields that a specification draws."""
    return set(re.findall(r'"field": "(\w+)"', json.dumps(spec)))


def found(value: Any, key: str) -> Iterator[Any]:
    """Everything under a key, however deep."""
    if isinstance(value, dict):
        yield from (each for name, each in value.items() if name == key and isinstance(each, dict))
        yield from (each for below in value.values() for each in found(below, key))
    elif isinstance(value, list):
        yield from (each for below in value for each in found(below, key))
