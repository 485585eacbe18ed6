"""Reports on paper: two whole ones, page by page, and the pictures of charts in programs that are no browsers."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image, ImageChops, ImageFilter
from playwright.sync_api import Browser

from tests.slow.hosts.programs import only_in_full, ran
from tests.slow.hosts.reports import CHARTS, TITLE, WAYS, on_paper, pages
from tfprof_widget.demo import demo_profile

pytestmark = [only_in_full, pytest.mark.timeout(900)]

COSTLIEST = ("MatMul", "123.2 µs", "320.8 µs")
CAPTION = "tfprof-widget"
LARGEST_DIFFERENCE = 40  # of 255, once letters are blurred, whose edges each program smooths in its own way
BLUR = 2


@pytest.mark.parametrize("way", WAYS)
def test_a_report_is_whole_in_word_latex_and_print(way: str, chromium: Browser, tmp_path: Path) -> None:
    WAYS[way](chromium, tmp_path)
    for program, pdf in on_paper(chromium, tmp_path).items():
        found = pages(pdf)
        assert 2 <= len(found) <= 4, program
        assert all(page.strip() for page in found), program
        lines = "\n".join(found).splitlines()
        assert any(all(part in line for part in COSTLIEST) for line in lines), program
    with zipfile.ZipFile(tmp_path / "word.docx") as document:
        names = document.namelist()
    assert len([name for name in names if name.startswith("word/media/")]) == len(CHARTS)


def test_a_notebook_is_a_word_document_with_captions_and_tables(executed: Path, tmp_path: Path) -> None:
    ran("jupyter-nbconvert", "--to", "tfprof-markdown", "--output-dir", tmp_path, executed, cwd=tmp_path)
    ran("pandoc", "executed.md", "-o", "executed.docx", cwd=tmp_path)
    with zipfile.ZipFile(tmp_path / "executed.docx") as document:
        names, text = document.namelist(), document.read("word/document.xml").decode()
    assert len([name for name in names if name.startswith("word/media/")]) == 3
    assert text.count("<w:tbl>") == 2
    assert text.count("ImageCaption") == 3
    assert "model_id" not in text


def test_a_notebook_is_a_pdf_by_latex(executed: Path, tmp_path: Path) -> None:
    ran("jupyter-nbconvert", "--to", "pdf", "--output-dir", tmp_path, executed, cwd=tmp_path)
    text = "\n".join(pages(tmp_path / "executed.pdf"))
    assert "A report" in text
    assert "<div" not in text
    listed = subprocess.run(["pdfimages", "-list", tmp_path / "executed.pdf"], check=True, capture_output=True)
    assert len(listed.stdout.splitlines()) == 2 + 3  # below two lines of heads


@pytest.mark.parametrize("chart", [*CHARTS, "advice"])
def test_an_svg_looks_alike_in_a_browser_and_in_programs_for_print(
    chart: str, chromium: Browser, tmp_path: Path
) -> None:
    drawn = tmp_path / "chart.svg"
    demo_profile().widget("op", title=TITLE).save_chart(drawn, chart=chart)
    root = ElementTree.parse(drawn).getroot()
    wide, high = (int(float(root.attrib[side])) for side in ("width", "height"))
    page = chromium.new_page(viewport={"width": wide, "height": high})
    page.goto(drawn.as_uri())
    page.screenshot(path=tmp_path / "chromium.png")
    page.close()
    ran("rsvg-convert", "-w", str(wide), drawn, "-o", "rsvg.png", cwd=tmp_path)
    ran("inkscape", drawn, "-w", str(wide), "-o", "inkscape.png", cwd=tmp_path)
    wanted = _seen(tmp_path / "chromium.png")
    for program in ("rsvg", "inkscape"):
        found = _seen(tmp_path / f"{program}.png")
        assert found.size == wanted.size, program
        differences = ImageChops.difference(found, wanted).histogram()
        assert sum(differences[LARGEST_DIFFERENCE:]) == 0, program


def _seen(picture: Path) -> Image.Image:
    """The picture on white, in grey, as seen from afar."""
    with Image.open(picture).convert("RGBA") as image:
        paper = Image.new("RGB", image.size, "white")
        paper.paste(image, mask=image.getchannel("A"))
    return paper.convert("L").filter(ImageFilter.GaussianBlur(BLUR))
