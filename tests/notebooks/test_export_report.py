"""The report: every file is what its format says, with the numbers of the profile."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import tfprof_widget as tfprof
from tests.notebooks.notebook import Notebook
from tests.notebooks.shipped import assert_accounted, executed, printed
from tests.output.pprof_profiles import read_pprof

# Two layers have one each forwards; backwards two each, but for the gradient of the images, which never runs.
PRODUCTS = 2 + 3
NANOSECONDS = 1000


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    with executed("export_report", tmp_path_factory.mktemp("export")) as notebook:
        yield notebook


@pytest.fixture(scope="module")
def report(exported: Notebook) -> Path:
    return Path(exported.value("str(report)"))


def test_it_lists_all_that_it_wrote(exported: Notebook, report: Path) -> None:
    names = {"profile.html", "ops.svg", "ops.png", "ops.md", "ops.csv", "timeline.json", "code.pb.gz", "profile_0"}
    assert {path.name for path in report.iterdir()} == names
    assert {line.split()[-1] for line in printed(exported, "folder").splitlines()} == names


def test_charts(report: Path) -> None:
    assert "MatMul" in (report / "ops.svg").read_text(encoding="utf-8")
    assert (report / "ops.png").read_bytes().startswith(b"\x89PNG")


def test_tables(report: Path) -> None:
    with (report / "ops.csv").open(encoding="utf-8", newline="") as table:
        (product,) = [row for row in csv.DictReader(table) if row["name"] == "MatMul"]
    assert float(product["runs"]) == PRODUCTS
    (line,) = [each for each in (report / "ops.md").read_text(encoding="utf-8").splitlines() if "| MatMul |" in each]
    assert f"| {PRODUCTS} |" in line


def test_the_timeline_has_every_product_of_every_traced_step(exported: Notebook, report: Path) -> None:
    ((_, traced),) = exported.runs().values()
    steps = exported.value("prof.profiles[0].step_names.count(prof.profiles[0].main_kind)")
    events = json.loads((report / "timeline.json").read_text(encoding="utf-8"))["traceEvents"]
    products = [event for event in events if event["ph"] == "X" and event["cat"] == "MatMul"]
    assert len(products) == PRODUCTS * steps
    assert 0 < steps < traced  # without the first run, which warms up, and others that are not like most


def test_pprof_s_samples_add_up_to_the_total(exported: Notebook, report: Path) -> None:
    profile = read_pprof((report / "code.pb.gz").read_bytes())
    total = exported.value("float(prof.view('code').to_dataframe().total_micros[0])")
    time = profile.types.index(("micros", "nanoseconds"))
    nanos = sum(sample.values[time] for sample in profile.samples.values())
    assert nanos / NANOSECONDS == pytest.approx(total, rel=1e-3)


def test_the_saved_profile_is_read_again(exported: Notebook, report: Path) -> None:
    assert len(tfprof.load(report / "profile_0").nodes) == exported.value("len(prof.profiles[0].nodes)")


def test_little_is_not_accounted_for(exported: Notebook) -> None:
    assert_accounted(exported, "prof")
