"""Pictures of charts: their size on paper, what is in them, and what is said where they cannot be made."""

from __future__ import annotations

import re
import sys
from base64 import b64decode
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image, ImageChops

from tests.sketches import profile_of
from tfprof_widget.charts.chart import THEMES
from tfprof_widget.charts.pictures import FEW_COLOURS, compact, compact_svg, png
from tfprof_widget.demo import demo_profile
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.widget.scriptless import chart_of
from tfprof_widget.widget.shown import Shown
from tfprof_widget.widget.traits import TfprofWidget

INCHES = 6.5


@pytest.fixture(scope="module")
def widget() -> TfprofWidget:
    return demo_profile().widget("op", title="digits")


def saved(widget: TfprofWidget, path: Path, **how: Any) -> bytes:
    widget.save_chart(path, **how)
    return path.read_bytes()


def test_a_png_is_as_wide_as_the_text_of_a_page_with_two_dots_to_a_pixel(widget: TfprofWidget, tmp_path: Path) -> None:
    with Image.open(BytesIO(saved(widget, tmp_path / "a.png"))) as image:
        assert image.width == 2 * 96 * INCHES
        assert [round(dots) for dots in image.info["dpi"]] == [192, 192]


def test_a_pdf_is_as_wide_as_the_text_of_a_page(widget: TfprofWidget, tmp_path: Path) -> None:
    box = re.search(rb"/MediaBox ?\[([\d. ]+)\]", saved(widget, tmp_path / "a.pdf"))
    assert box
    assert float(box[1].split()[2]) == 72 * INCHES


def test_an_svg_is_as_wide_as_the_text_of_a_page_in_fonts_that_are_everywhere(
    widget: TfprofWidget, tmp_path: Path
) -> None:
    svg = ElementTree.fromstring(saved(widget, tmp_path / "a.svg", chart="timeline"))
    assert svg.attrib["width"] == str(int(96 * INCHES))
    fonts = {each.attrib["font-family"] for each in svg.iter() if "font-family" in each.attrib}
    assert fonts == {'Arial, Helvetica, "Liberation Sans", sans-serif'}


def test_width_title_and_theme_are_those_asked_for(widget: TfprofWidget, tmp_path: Path) -> None:
    content = saved(widget, tmp_path / "a.svg", chart="scopes", width=3.3, title="My net", theme="dark").decode()
    assert 'width="317"' in content
    assert ">My net<" in content
    assert THEMES["dark"]["--surface"] in content
    assert THEMES["light"]["--surface"] not in content


def test_a_picture_has_a_margin_and_nothing_touches_it(widget: TfprofWidget, tmp_path: Path) -> None:
    for chart in ("op types", "scopes", "memory", "timeline", "advice"):
        with Image.open(BytesIO(saved(widget, tmp_path / "a.png", chart=chart))) as image:
            drawn = ImageChops.invert(image.convert("RGB")).getbbox()  # what is not white
            assert drawn is not None
            left, top, right, bottom = drawn
            assert min(left, top, image.width - right, image.height - bottom) >= 18, chart


@pytest.mark.parametrize("path", ["chart.gif", "chart", "chart.svgz"])
def test_other_suffixes_are_refused(widget: TfprofWidget, path: str) -> None:
    with pytest.raises(ValueError, match=r"must end in .svg, .png or .pdf"):
        widget.save_chart(path)


@pytest.mark.parametrize("width", [0, 1.9, 41, float("nan")])
def test_a_width_without_room_is_refused(widget: TfprofWidget, width: float, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="but must be 2 to 40 inches"):
        widget.save_chart(tmp_path / "a.svg", width=width)


@pytest.mark.parametrize(
    ("module", "what"),
    [("vl_convert", "pictures of charts need vl-convert"), ("altair", "charts in Python need altair")],
)
def test_without_a_library_the_error_names_what_to_install(
    module: str, what: str, widget: TfprofWidget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tfprof_widget.charts import pictures

    pictures._offline_charts.cache_clear()
    monkeypatch.setitem(sys.modules, module, None)
    act: Any = {"altair": lambda: widget.chart, "vl_convert": lambda: widget.save_chart(tmp_path / "a.svg")}[module]
    with pytest.raises(ProfileError, match=rf"{what}: run `pip install 'tfprof-widget\[export\]'`"):
        act()


def test_a_chart_shows_itself_without_the_network(widget: TfprofWidget) -> None:
    """As Vega-Lite and PNG, and not by HTML that fetches scripts; also once it was changed."""
    charts: list[Any] = [widget.chart, widget.chart.properties(width=300), demo_profile().chart("memory")]
    for chart in charts:
        data, sizes = chart._repr_mimebundle_()
        assert set(data) == {"application/vnd.vegalite.v6+json", "image/png", "text/plain"}
        assert data["text/plain"] in ("digits · Time by op type", "Memory over time, step 0")
        with Image.open(BytesIO(b64decode(data["image/png"]))) as image:
            assert sizes == {"image/png": {"width": image.width // 2, "height": image.height // 2}}


def test_the_widgets_chart_is_that_of_the_file(widget: TfprofWidget, tmp_path: Path) -> None:
    chart: Any = widget.chart
    assert b64decode(chart._repr_mimebundle_()[0]["image/png"]) == saved(widget, tmp_path / "a.png")


def test_a_picture_in_fewer_bytes_is_the_same_picture() -> None:
    import vl_convert

    spec = demo_profile().chart("timeline").to_dict()
    written = vl_convert.vegalite_to_png(spec)
    smaller = compact(written)
    assert 4 * len(smaller) < len(written)
    with Image.open(BytesIO(written)) as before, Image.open(BytesIO(smaller)) as after:
        assert ImageChops.difference(before.convert("RGB"), after.convert("RGB")).getbbox() is None
        assert after.info["dpi"] == before.info["dpi"]


@pytest.mark.parametrize(
    ("chart", "fits"), [("overview", True), ("op types", True), ("memory", True), ("timeline", False)]
)
def test_a_picture_of_few_colours_loses_only_shades_at_the_rims(chart: str, fits: bool) -> None:
    """The timeline has colours for more kinds of ops than fit, so it keeps them all."""
    spec = chart_of(Shown.of_profile(demo_profile(), title="digits"), {"view": "op"}, chart)
    written, smaller = png(spec), png(spec, FEW_COLOURS)
    assert (smaller == written) != fits
    with Image.open(BytesIO(written)) as before, Image.open(BytesIO(smaller)) as after:
        aside = ImageChops.difference(before.convert("RGB"), after.convert("RGB"))
        assert np.asarray(aside).max() <= 48
        flat = [colour for count, colour in (before.convert("RGB").getcolors() or []) if count > 2_000]
        assert {colour for _, colour in (after.convert("RGB").getcolors() or [])} >= set(flat)
        assert after.info["dpi"] == before.info["dpi"]


def test_a_picture_of_many_colours_stays_as_it_is() -> None:
    colours = Image.linear_gradient("L").convert("RGB")
    colours.putpixel((0, 0), (1, 2, 3))
    written = BytesIO()
    colours.save(written, "png")
    assert compact(written.getvalue()) == written.getvalue()


@pytest.mark.parametrize("chart", ["op types", "scopes", "memory", "timeline"])
def test_a_drawing_in_fewer_bytes_shows_the_same(widget: TfprofWidget, chart: str, tmp_path: Path) -> None:
    """Points lie up to 5 thousandths of a pixel aside, so that a few dots at the rims of letters have other greys."""
    import vl_convert

    written = saved(widget, tmp_path / "chart.svg", chart=chart).decode()
    smaller = compact_svg(written)
    assert 10 * len(smaller) < 7 * len(written)
    assert [*ElementTree.fromstring(smaller).itertext()] == [*ElementTree.fromstring(written).itertext()]
    drawn = [Image.open(BytesIO(vl_convert.svg_to_png(each))).convert("L") for each in (written, smaller)]
    aside = ImageChops.difference(*drawn).histogram()
    assert sum(aside[16:]) < sum(aside) / 1000


def test_names_in_a_drawing_stay_whole() -> None:
    name = ' class="a" opacity="1" 1.23456 font-family="Arial"'
    drawing = '<svg><g font-family="Arial"><text class="b" font-family="Arial">{}</text></g></svg>'
    assert compact_svg(drawing.format(name)) == f'<svg font-family="Arial"><text>{name}</text></svg>'


def test_chart_of_what_is_filtered() -> None:
    profile = profile_of("a/b = Mul() 3us\nc = Add() 5us")
    names = [row["name"] for row in profile.chart(show_name_regexes=["Mul"]).to_dict()["datasets"]["costs"]]
    assert names == ["Mul"]
