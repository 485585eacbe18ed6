"""The charts of the menu are those of Python: the same rows in the same specification, as Vega draws it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isclose
from pathlib import Path
from typing import Any

import pytest

from tests.golden.digests import merged, random
from tests.sketches import profile_of
from tfprof_widget.analysis import machines
from tfprof_widget.analysis.machines import Band, Machine
from tfprof_widget.api.profile import Profile, load, merge
from tfprof_widget.charts.kinds import CHARTS
from tfprof_widget.demo import demo_profile
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.profiles.devices import Allocator
from tfprof_widget.profiles.kept_run import KeptRun
from tfprof_widget.widget.scriptless import chart_of
from tfprof_widget.widget.shown import Shown

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RECORDED = ROOT / "tests" / "ingest" / "recorded"
RANDOM = 6
MACHINE = Machine("float32", Band(4e10, 3e10, 2e10), Band(9e9, 5e9, 4e9), {512: 4e10}, 2**26, 9, 1.0, 0.0)
ELSEWHERE = KeptRun(fingerprint={"processor": "a CPU of another make"})
KERNELS = """
    a = _MklNativeFusedConv2DWithBiasAndActivationAndMore() 60us 6000flops 100B
    b = MatMul() 20us
    c = _MklMatMul() 9us;1us
    d = Long_name_of_an_op_that_no_column_of_a_report_has_room_for() 3us
"""


@dataclass(frozen=True)
class Case:
    """What is shown."""

    profile: Profile
    view: str = "op"
    metric: str = "time"
    options: Mapping[str, Any] = field(default_factory=dict)
    title: str = "a training"
    theme: str = "light"
    width: float = 6.5
    span: tuple[float, float] | None = None


def cases() -> dict[str, Case]:
    demo = demo_profile()
    return {
        "demo": Case(demo),
        "scope view": Case(demo, "scope"),
        "layers": Case(demo, "layers"),
        "a run on another machine": Case(replace(demo, kept_run=ELSEWHERE), "layers"),
        "memory": Case(demo, "scope", "memory"),
        "count": Case(demo, metric="count"),
        "rate": Case(demo, metric="rate"),
        "filtered": Case(demo, options={"min_micros": 5, "show_name_regexes": ["layer.*"]}),
        "dark and narrow": Case(demo, theme="dark", width=3.3, title="a name that is longer than the picture is wide"),
        "a part of the timeline": Case(demo, span=(50e-6, 150e-6)),
        "nothing ran": Case(profile_of("a = Add()\nb = Mul()\nc = Mul()")),
        "kernels": Case(profile_of(KERNELS)),
        "allocators that are alike": Case(
            replace(profile_of(KERNELS), allocator_peaks=tuple(map(allocator, range(4))))
        ),
        "steps": Case(profile_of("a/b = Op() 3us;4us;5us\na/c = Op() 1us;-;9us"), options={"step": 1}),
        "workers": Case(merge({"worker 10": demo, "worker 2": demo})),
        "a fit": Case(load(RECORDED / "fit.xplane.pb.gz"), "scope"),
        "a loop": Case(load(RECORDED / "loop.xplane.pb.gz")),
        **{f"random {seed}": Case(random(seed), "scope") for seed in range(RANDOM)},
        **{f"merged {seed}": Case(merged(seed)) for seed in range(RANDOM)},
    }


def allocator(number: int) -> Allocator:
    """Of four devices, of which the last one frees its memory a second later than the others."""
    seconds = (0, 1, 9 + number // 3, 12)
    held = (0, 2 * 10**10 + number * 10**6, 5000, 5000)
    return Allocator(f"TPU_{number}", f"tpu:{number}", held[1], 0, tuple(10**9 * each for each in seconds), held)


def test_allocators_that_are_alike_are_one_curve() -> None:
    shown = Shown.of_profile(cases()["allocators that are alike"].profile)
    data = chart_of(shown, {**shown.options, "view": "memory", "metric": "memory"}, "memory")["datasets"]
    assert [each["device"] for each in data["peaks"]] == ["TPU_0 … TPU_2, 3 alike", "TPU_3"]
    assert [each["exact"] for each in data["peaks"]] == ["20,002,000,000 B", "20,003,000,000 B"]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """The charts of all cases, each with Python's specification and the menu's."""
    folder, found_cases = tmp_path_factory.mktemp("charts"), cases()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(machines._MEASURED, "float32", MACHINE)
        questions = [question(name, case, folder) for name, case in found_cases.items()]
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)), encoding="utf-8")
    subprocess.run(["node", HERE / "same_charts.mjs", folder], cwd=ROOT, check=True, timeout=240)
    found = (folder / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    return dict(zip(found_cases, map(json.loads, found), strict=True))


def question(name: str, case: Case, folder: Path) -> dict[str, Any]:
    shown = Shown.of_profile(case.profile, view=case.view, title=case.title, **case.options)
    graph = dict(shown.graphs[0].to_browser)
    columns = name.replace(" ", "-")
    (folder / columns).write_bytes(graph.pop("columns"))
    values = {"view": case.view, "metric": case.metric, **shown.options}
    return {
        "columns": columns,
        "graph": graph,
        "view": case.view,
        "options": shown.options,
        "metric": case.metric,
        "name": case.title,
        "about": shown.about,
        "width": round(96 * case.width),
        "span": case.span and {"from": 1e9 * case.span[0], "to": 1e9 * case.span[1]},
        "theme": case.theme,
        "charts": {chart: python_chart(shown, values, chart, case) for chart in CHARTS},
    }


def python_chart(shown: Shown, values: dict[str, Any], chart: str, case: Case) -> dict[str, Any] | None:
    try:
        return chart_of(shown, values, chart, theme=case.theme, width=case.width, span=case.span)
    except ProfileError:
        return None


def test_each_chart_of_the_menu_is_the_one_of_python(answers: dict[str, list[dict[str, Any]]]) -> None:
    found = [(name, each) for name, charts in answers.items() for each in charts]
    assert [f"{name}: {each['chart']}" for name, each in found if not same(each.get("menu"), each.get("python"))] == []


def same(one: Any, other: Any) -> bool:
    """Whether two specifications are equal; nanoseconds since 1970 do not fit into the browser's numbers in full."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(*pair) for pair in zip(one, other, strict=True))
    if isinstance(one, float) and isinstance(other, float):
        return isclose(one, other, rel_tol=1e-12)
    return bool(one == other)


def test_the_roof_is_drawn_where_it_is_known(answers: dict[str, list[dict[str, Any]]]) -> None:
    """Of a run on another machine nobody knows it, whatever this one was measured to do."""

    def data(name: str) -> dict[str, list[dict[str, Any]]]:
        (menu,) = (each["menu"] for each in answers[name] if each["chart"] == "roofline")
        return {each["name"]: each.get("values", []) for each in menu["data"]}

    for name in ("layers", "demo", "a part of the timeline"):
        assert [point["rate"] for point in data(name)["roof"]][1:] == [4e10, 4e10]
        assert {dot["bound"] for dot in data(name)["dots"]} <= {"compute", "memory", "overhead"}
    assert data("a run on another machine")["roof"] == data("a run on another machine")["band"] == []
    assert {dot["bound"] for dot in data("a run on another machine")["dots"]} == {"not known"}


def test_every_chart_is_compared(answers: dict[str, list[dict[str, Any]]]) -> None:
    drawn = {each["chart"] for found in answers.values() for each in found if "menu" in each}
    assert drawn == set(CHARTS)
