"""What the menu of exports writes, read back."""

from __future__ import annotations

import csv
import json
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.browser.conftest import Opening
from tests.browser.expected import view_of
from tests.browser.screen import Screen
from tfprof_widget.demo import demo_profile
from tfprof_widget.output.excerpt import shown_measures
from tfprof_widget.output.tabular import markdown_table


@pytest.mark.parametrize("view", ["scope", "op", "code", "layers"])
def test_csv_has_the_rows_of_python_in_full(demo: Screen, view: str) -> None:
    demo.look_at(view)
    rows = list(csv.DictReader(demo.export("Table as CSV").decode().splitlines()))
    frame = view_of(demo_profile(), view).to_dataframe()
    assert list(rows[0]) == list(frame.columns)
    assert [row["name"] for row in rows] == frame["name"].tolist()
    measured = {"depth", "micros", "total_micros", "bytes", "total_runs", "total_float_ops", "hidden_ops"}
    measured |= {"share", "forward_micros", "total_backward_micros", "parameters", "total_update_micros"}
    for column in measured & set(rows[0]):
        assert [float(row[column]) for row in rows] == frame[column].tolist(), column
    for column in {"gflops", "total_gflops", "of_peak"} & set(rows[0]):
        assert [float(row[column] or 0) for row in rows] == pytest.approx(frame[column].fillna(0).tolist()), column


def test_chrome_trace_has_every_execution(demo: Screen) -> None:
    trace = json.loads(demo.export("Timeline as Chrome trace"))
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert len(events) == 30
    (slowest,) = [event for event in events if event["name"] == "gradients/layer1/MatMul_grad/MatMul_1"]
    assert (slowest["cat"], slowest["dur"], slowest["args"]["step"]) == ("MatMul", 110.946, 0)
    assert all(event["ts"] >= 0 and event["dur"] >= 0 for event in events)
    processes = {event["pid"] for event in trace["traceEvents"] if event["name"] == "process_name"}
    assert {event["pid"] for event in events} == processes


CHARTS = {"Op types": "Time by op type", "Scopes": "Scopes by time", "Memory": "Memory over time, step 0"}
CHARTS |= {"Timeline": "Timeline", "Advice": "Advice"}


def test_charts_are_pictures_with_a_title_in_light_colours(open_file: Opening, demo_file: Path) -> None:
    """Also where the page is dark, the window narrow, and a bar selected, which would fade the others."""
    screen = open_file(demo_file, color_scheme="dark", viewport={"width": 700, "height": 2000})
    screen.row("layer1").click()
    for chart, title in CHARTS.items():
        svg = ElementTree.fromstring(screen.export(f"{chart} as SVG"))
        assert (svg.tag, svg.attrib["width"]) == ("{http://www.w3.org/2000/svg}svg", "624"), chart
        texts = ["".join(text.itertext()) for text in svg.iter("{http://www.w3.org/2000/svg}text")]
        assert f"demo · {title}" in texts
        assert any("CPU:0 · " in text and "Python 3." in text for text in texts), chart
        assert svg[0].attrib["fill"] in ("#ffffff", "rgb(255, 255, 255)"), chart
        assert {each.attrib.get("opacity") for each in svg.iter()} <= {None, "1", "0.25", "0.62", "0.6", "0"}, chart
        with Image.open(BytesIO(screen.export(f"{chart} as PNG"))) as png:
            assert png.width == 1248, chart
            assert [round(dots) for dots in png.info["dpi"]] == [192, 192], chart
            assert png.convert("RGB").getpixel((2, 2)) == (255, 255, 255), chart


def test_the_picture_of_the_timeline_is_of_what_is_in_sight(demo: Screen) -> None:
    def marks() -> int:
        return demo.export("Timeline as SVG").count(b"<path")

    whole = marks()
    demo.look_at("timeline")
    assert marks() == whole
    for _ in range(6):
        demo.root.get_by_role("button", name="zoom in").click()
    part = marks()
    assert part < whole
    demo.look_at("op")  # there it is what was in sight
    assert marks() == part


@pytest.mark.parametrize("shown", ["scope", "layers"])
def test_markdown_is_that_of_python(demo: Screen, shown: str) -> None:
    demo.look_at(shown)
    view = view_of(demo_profile(), shown)
    table = demo.export("Table as Markdown").decode()
    assert table.splitlines() == markdown_table(view, range(min(100, len(view))), shown_measures(view)).splitlines()


def test_the_page_lives_on_in_a_file(demo: Screen, open_file: Opening, tmp_path: Path) -> None:
    demo.look_at("op").type_number("min_micros", "100")
    demo.row("Relu").click()
    exported = tmp_path / "exported.html"
    exported.write_bytes(demo.export("Everything as one page"))
    again = open_file(exported)
    expect(again.tab("op")).to_have_attribute("aria-selected", "true")
    again.until(again.names, ["MatMul", "Relu", "ApplyGradientDescent"])
    expect(again.row("Relu")).to_have_attribute("aria-selected", "true")
    again.drag("min_micros", again_part(again), 0)
    expect(again.number("min_micros")).to_have_value("0")
    again.until(lambda: len(again.marks("Time by op type")) > 5, True)
    for tab in ("code", "timeline", "memory", "advise"):
        again.look_at(tab)
    twice = tmp_path / "twice.html"
    twice.write_bytes(again.export("Everything as one page"))
    expect(open_file(twice).tab("advise")).to_have_attribute("aria-selected", "true")


def again_part(screen: Screen) -> float:
    """Where along its way the knob of min_micros is."""
    part: float = screen.slider("min_micros").evaluate("slider => slider.value / slider.max")
    return part


def test_entries_say_why_they_cannot(demo: Screen) -> None:
    demo.look_at("memory")
    demo.root.get_by_role("button", name="Export").click()
    entry = demo.page.get_by_role("menuitem", name="Table as CSV")
    expect(entry).to_have_attribute("aria-disabled", "true")
    expect(entry).to_have_attribute("title", "no table is shown")


def test_the_menu_goes_by_keys(demo: Screen) -> None:
    button = demo.root.get_by_role("button", name="Export")
    expect(button).to_be_enabled()
    button.focus()
    demo.page.keyboard.press("ArrowDown")
    entries = demo.page.get_by_role("menuitem")
    expect(entries.first).to_be_focused()
    for key, label in {
        "ArrowRight": "Overview as PNG",
        "ArrowDown": "Layers as PNG",
        "ArrowUp": "Overview as PNG",
        "ArrowLeft": "Overview as SVG",
        "Home": "Overview as SVG",
        "End": "Everything as one page",
    }.items():
        demo.page.keyboard.press(key)
        expect(demo.page.get_by_role("menuitem", name=label, exact=True)).to_be_focused()
    with demo.page.expect_download():
        demo.page.keyboard.press("Enter")
    expect(button).to_be_focused()
    demo.page.keyboard.press("Enter")
    demo.page.keyboard.press("Escape")
    expect(entries).to_have_count(0)
    expect(button).to_be_focused()
