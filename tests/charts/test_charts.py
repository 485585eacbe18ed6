"""The charts' specifications: they draw, take their data by name and their colours from the theme."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sketches import profile_of
from tfprof_widget.api.profile import Profile, load, merge
from tfprof_widget.charts import kinds
from tfprof_widget.charts.chart import THEMES, Subject
from tfprof_widget.charts.costs import Costs, cost_rows
from tfprof_widget.charts.kinds import CHARTS, described, specifications
from tfprof_widget.demo import demo_profile
from tfprof_widget.lib.errors import ProfileError

SPECIFICATIONS = specifications()
ROOT = Path(__file__).parents[2]
FRONT_END = ROOT / "js" / "src"
TOKENS = FRONT_END / "styles" / "base.css"
RECORDED = ROOT / "tests" / "ingest" / "recorded"
# Where the front end makes the rows of each chart on a page.
SOURCES = {
    "costs": "analysis/costs.ts",
    "costs_by_processor": "analysis/costs.ts",
    "scopes": "analysis/chart_rows.ts",
    "steps": "analysis/chart_rows.ts",
    "steps_by_kind": "analysis/chart_rows.ts",
    "memory": "analysis/memory.ts",
    "roofline": "analysis/roofline.ts",
}
BAR = {"name": "Conv2D", "shown": "Conv2D", "opacity": 1}
ROWS: dict[str, dict[str, list[dict[str, Any]]]] = {
    "costs": {"costs": [{**BAR, "part": "", "value": 3, "total": 3, "label": "3 µs"}]},
    "costs_by_processor": {
        "costs": [
            {**BAR, "part": "CPU", "value": 3, "total": 5, "label": "5 µs"},
            {**BAR, "part": "accelerator", "value": 2, "total": 5, "label": ""},
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
    "roofline": {
        "dots": [
            {
                "label": "dense",
                "align": "right",
                "intensity": 20,
                "rate": 3e10,
                "size": 99,
                "bound": "compute",
                "opacity": 1,
            }
        ],
        "frame": [{"intensity": 0.1, "rate": 1e9}, {"intensity": 100, "rate": 1e11}],
        "roof": [{"intensity": 1, "rate": 1e9}, {"intensity": 10, "rate": 5e10}, {"intensity": 100, "rate": 5e10}],
        "band": [{"intensity": 1, "rate": 1e9, "usual": 1e9}, {"intensity": 100, "rate": 5e10, "usual": 3e10}],
        "bounds": [{"bound": "compute"}],
    },
}


def texts(spec: dict[str, Any]) -> str:
    """The texts of a chart, as vl-convert draws it."""
    import vl_convert

    return " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", vl_convert.vegalite_to_svg(spec)))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("costs", ["Conv2D", "3 µs"]),
        ("costs_by_processor", ["Conv2D", "5 µs", "CPU", "accelerator"]),
        ("scopes", ["all · 5 µs"]),
        ("steps", ["7", "4 ms"]),
        ("steps_by_kind", ["7", "4 ms", "training"]),
        ("memory", ["GPU:0", "peak 3 MB", "2 MB", "1 ms"]),
        ("roofline", ["dense", "compute", "10 GFLOP/s", "0.1", "FLOP for each byte of inputs and outputs"]),
    ],
)
def test_chart_of_a_page_draws_its_data(name: str, wanted: list[str]) -> None:
    said = texts({**SPECIFICATIONS["page"][name], "datasets": ROWS[name], "width": 400})
    assert [text for text in wanted if text not in said] == []


@pytest.mark.parametrize("name", SPECIFICATIONS["page"])
def test_specification_of_a_page_leaves_data_and_theme_to_the_front_end(name: str) -> None:
    spec = SPECIFICATIONS["page"][name]
    assert "datasets" not in spec
    assert set(ROWS[name]) == {each["name"] for each in found(spec, "data")}
    assert (spec["width"], spec["background"]) == ("container", "transparent")
    assert spec["autosize"] == {"type": "fit-x", "contains": "padding"}
    assert spec["description"]
    assert "title" not in spec


@pytest.mark.parametrize("name", SPECIFICATIONS["page"])
def test_front_end_makes_every_field_that_is_drawn(name: str) -> None:
    source = (FRONT_END / SOURCES[name]).read_text(encoding="utf-8")
    drawn = fields(SPECIFICATIONS["page"][name])
    assert [field for field in drawn if not re.search(rf"\b{field}\b[:,]", source)] == []


@pytest.mark.parametrize("metric", ["time", "memory", "count", "rate"])
def test_rows_of_costs_have_every_field_that_is_drawn(metric: str) -> None:
    rows = cost_rows(Costs.of(demo_profile().view("op")), metric)
    for drawn in (SPECIFICATIONS["page"], SPECIFICATIONS["alone"]):
        assert fields(drawn["costs_by_processor"]) <= set(rows[0])


@pytest.mark.parametrize("place", ["page", "alone"])
def test_colours_are_names_of_the_theme(place: str) -> None:
    text = json.dumps(SPECIFICATIONS[place])
    assert set(re.findall(r"var\((--[\w-]+)\)", text)) <= set(THEMES["light"]) == set(THEMES["dark"])
    # Names of slices stand on the colours of categories, which are alike in both themes.
    assert set(re.findall(r'"#[0-9a-f]{3,8}"', text)) <= {'"#10161d"'}


@pytest.mark.parametrize(("theme", "block"), [("light", 0), ("dark", 1)])
def test_colours_are_those_of_the_front_end(theme: str, block: int) -> None:
    sheets = (TOKENS, TOKENS.with_name("overview.css"))
    rules = "".join(sheet.read_text(encoding="utf-8").split("}")[block] for sheet in sheets)
    colours = dict(re.findall(r"(--[\w-]+): (#\w+);", rules))
    assert {name: colours.get(name) for name in THEMES[theme]} == THEMES[theme]


def two_workers() -> Profile:
    return merge({"before": demo_profile(), "after": demo_profile()})


def subject(profile: Profile, **how: Any) -> Subject:
    return Subject(profile.view("scope"), name="digits", about="Python 3.12", **how)


@pytest.mark.parametrize(
    ("chart", "title", "wanted"),
    [
        ("op types", "Time by op type", ["MatMul", "123.2 µs", "20 µs"]),
        ("scopes", "Scopes by time", ["all · 320.8 µs", "gradients", "20 %"]),
        ("memory", "Memory over time, step 0", ["CPU:0: peak 847.2 kB at 244.6 µs", "200 kB", "100 µs"]),
        ("timeline", "Timeline", ["CPU:0 · lane 0", "step 0", "Relu", "gradient, update", "100 µs"]),
        ("advice", "Advice", ["What costs most", "top 1 operation type: MatMul, cpu: 123.19 µs, accelerator: 0 ns,"]),
    ],
)
def test_chart_alone_has_a_title_a_caption_and_units(chart: str, title: str, wanted: list[str]) -> None:
    """At the peak ops held 440.1 kB; the weights of 101,770 floats are held besides, before the step and after it."""
    said = texts(described(chart, subject(demo_profile())))
    about = {"memory": "CPU:0", "advice": "CPU:0"}.get(chart, "one step · CPU:0")
    missing = [text for text in (f"digits · {title}", f"{about} · Python 3.12", *wanted) if text not in said]
    assert missing == []


def test_steps_and_workers_alone() -> None:
    steps = profile_of("a = Op() 3us;4us;5us")
    assert "2 µs" in texts(described("steps", subject(steps)))
    found = described("workers", subject(two_workers()))
    assert found["title"]["text"] == ["digits · What each task did in a step"]
    assert [row["name"] for row in found["datasets"]["workers"]] == ["after", "after", "before", "before"]


def test_caption_counts_the_steps_that_are_shown() -> None:
    profile = profile_of("a = Op() 3us;4us;5us")
    assert "mean of 3 steps" in described("op types", Subject(profile.view("op")))["title"]["subtitle"][0]
    assert described("steps", Subject(profile.view("op")))["title"]["subtitle"][0].startswith("3 steps")
    assert described("op types", Subject(profile.view("op", step=1)))["title"]["subtitle"][0].startswith("step 1 ")


def test_kernels_of_onednn_lose_their_marks_and_the_caption_tells_them() -> None:
    profile = profile_of("a = _MklNativeConv2D() 9us\nb = _MklMatMul() 8us\nc = MatMul() 7us\nd = Relu() 1us")
    spec = described("op types", Subject(profile.view("op")))
    assert [row["shown"] for row in spec["datasets"]["costs"]] == ["Conv2D", "MatMul (_Mkl)", "MatMul", "Relu"]
    assert " ".join(spec["title"]["subtitle"]).endswith("kernels of oneDNN (_Mkl…): Conv2D")


def test_names_are_cut_in_the_middle_only_where_there_is_no_room() -> None:
    names = (
        "_FusedBatchNormGradWithActivationV3",
        "An_op_type_with_a_name_that_is_longer_than_two_fifths_of_the_width",
    )
    spec = described("op types", Subject(profile_of(f"a = {names[0]}() 9us\nb = {names[1]}() 8us").view("op")))
    said = texts(spec)
    assert names[0] in said
    assert names[1] not in said
    assert re.search(r"An_op_type_with\w*…\w*of_the_width", said)


def test_a_part_of_the_timeline() -> None:
    demo = subject(demo_profile(), span=(100e-6, 200e-6))
    ends = [(row["begin"], row["end"]) for row in described("timeline", demo)["datasets"]["slices"]]
    assert ends
    assert all(begin >= 99e-6 and end <= 201e-6 for begin, end in ends)
    with pytest.raises(ValueError, match=r"span is \(2.0, 1.0\), but must be two times in seconds"):
        described("timeline", subject(demo_profile(), span=(2.0, 1.0)))


def test_a_recorded_fit_has_its_threads() -> None:
    fit = load(RECORDED / "fit.xplane.pb.gz")
    lanes = [row["lane"] for row in described("timeline", subject(fit))["datasets"]["lanes"]]
    assert lanes[0] == "step"
    assert lanes[1] == "CPU:0 · Python"
    assert "CPU:0 · inter-op 1" in lanes
    assert any(lane.startswith("tf.data · tf.data ") for lane in lanes)
    assert len(lanes) == len(set(lanes))


@pytest.mark.parametrize(
    ("chart", "reason"),
    [
        ("op types", "no shown row has a cost of its own"),
        ("steps", "there are no two steps to compare"),
        ("memory", "no run recorded when memory was held"),
        ("timeline", "no run recorded when its ops ran"),
        ("workers", "all that was recorded is one process's"),
        ("roofline", "no row that is shown has a time, float operations and bytes"),
    ],
)
def test_a_chart_of_nothing_says_why(chart: str, reason: str) -> None:
    with pytest.raises(ProfileError, match=reason):
        described(chart, Subject(Profile.from_protos().view("scope")))


def test_unknown_names_are_refused_with_those_known() -> None:
    with pytest.raises(ValueError, match="chart has no 'bars'; choose from overview, layers, op types"):
        described("bars", subject(demo_profile()))
    with pytest.raises(ValueError, match="theme has no 'blue'; choose from light, dark"):
        described("op types", subject(demo_profile()), "blue")
    with pytest.raises(ValueError, match="metric has no 'cost'; choose from time, memory, count, rate"):
        demo_profile().chart(metric="cost")


def test_command_writes_all_specifications(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "charts.json"
    monkeypatch.setattr(sys, "argv", ["charts", str(target)])
    kinds.main()
    assert json.loads(target.read_text(encoding="utf-8")) == SPECIFICATIONS


def test_every_chart_is_named_as_in_the_front_end() -> None:
    source = (FRONT_END / "export" / "pictures.ts").read_text(encoding="utf-8")
    listed = re.search(r"CHARTS: readonly ChartKind\[\] = \[([^\]]*)\]", source)
    assert listed
    assert [each.strip().replace("_", " ").lower() for each in listed[1].split(",") if each.strip()] == list(CHARTS)


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
