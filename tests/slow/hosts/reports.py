"""Two reports on one profile, one made by the menu alone and one by Python alone, as Word, LaTeX and the browser print
them: `python -m tests.slow.hosts.reports docs/reports` writes pictures of their pages.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, PdfMargins, sync_playwright

from tests.browser.screen import Screen
from tests.browser.watched import launched, watched_page
from tests.slow.hosts.programs import ran
from tfprof_widget.demo import demo_profile

TITLE = "digits"
CHARTS = {"op types": "Where the time goes", "scopes": "By scope", "memory": "Memory", "timeline": "When ops ran"}
COLOURS = 64
DOTS_AN_INCH = 72
MARGINS: PdfMargins = {"top": "1cm", "right": "1cm", "bottom": "1cm", "left": "1cm"}  # as browsers have them


def by_menu(browser: Browser, folder: Path) -> None:
    """Write `report.md` with its pictures, and `page.html`, by clicks alone, in a dark and narrow window."""
    demo_profile().widget("op", title=TITLE).save_report(folder / "shown.html")
    dark = watched_page(browser, color_scheme="dark", viewport={"width": 800, "height": 900})
    with dark as page:
        page.goto((folder / "shown.html").as_uri())
        screen = Screen(page).until_ready()
        screen.until(lambda: screen.marks("Time by op type")[:1], ["MatMul"])
        for chart in CHARTS:
            entry = f"{chart.capitalize()} as PNG"
            (folder / f"{chart.replace(' ', '-')}.png").write_bytes(screen.export(entry))
        table = screen.export("Table as Markdown").decode()
        (folder / "page.html").write_bytes(screen.export("Everything as one page"))
    _write(folder, "A report made with the menu", table)


def by_python(browser: Browser, folder: Path) -> None:
    """The same by calls alone."""
    del browser
    widget = demo_profile().widget("op", title=TITLE)
    for chart in CHARTS:
        widget.save_chart(folder / f"{chart.replace(' ', '-')}.png", chart=chart)
    widget.save_report(folder / "page.html")
    _write(folder, "A report made with Python", widget.to_markdown().partition("\n| ")[2].join(("| ", "")))


WAYS: dict[str, Callable[[Browser, Path], None]] = {"menu": by_menu, "python": by_python}


def _write(folder: Path, title: str, table: str) -> None:
    pictures = "\n\n".join(f"![{caption}]({chart.replace(' ', '-')}.png)" for chart, caption in CHARTS.items())
    text = f"---\ntitle: {title}\npapersize: letter\ngeometry: margin=1in\n---\n\n{pictures}\n\n{table}\n"
    (folder / "report.md").write_text(text, encoding="utf-8")


def on_paper(browser: Browser, folder: Path) -> dict[str, Path]:
    """The report as PDF: by way of Word, by way of LaTeX, and the page as Chromium prints it."""
    ran("pandoc", "report.md", "-o", "word.docx", cwd=folder)
    ran("soffice", "--headless", "--convert-to", "pdf", "word.docx", cwd=folder)
    ran("pandoc", "report.md", "--pdf-engine=xelatex", "-o", "latex.pdf", cwd=folder)
    with watched_page(browser) as page:
        page.goto((folder / "page.html").as_uri())
        screen = Screen(page).until_ready()
        screen.until(lambda: screen.marks("Time by op type")[:1], ["MatMul"])
        page.pdf(path=folder / "page.pdf", format="Letter", margin=MARGINS)
    return {name: folder / f"{name}.pdf" for name in ("word", "latex", "page")}


def pages(pdf: Path) -> list[str]:
    """The text of each page, as it stands there."""
    text = subprocess.run(["pdftotext", "-layout", pdf, "-"], check=True, capture_output=True, text=True).stdout
    return text.removesuffix("\f").split("\f")


def _pictures(pdf: Path) -> list[Image.Image]:
    subprocess.run(["pdftoppm", "-r", str(DOTS_AN_INCH), "-png", pdf, pdf.with_suffix("")], check=True)
    return [Image.open(path).convert("RGB") for path in sorted(pdf.parent.glob(f"{pdf.stem}-*.png"))]


def _side_by_side(rows: list[list[Image.Image]]) -> Image.Image:
    gap = 12
    wide, high = (max(size) for size in zip(*(each.size for row in rows for each in row), strict=True))
    most = max(map(len, rows))
    whole = Image.new("RGB", (gap + most * (wide + gap), gap + len(rows) * (high + gap)), "#8d99a8")
    for line, row in enumerate(rows):
        for place, each in enumerate(row):
            whole.paste(each, (gap + place * (wide + gap), gap + line * (high + gap)))
    return whole.quantize(COLOURS)


def main() -> None:
    """Write a picture of each report: its pages in Word, in LaTeX and from the browser, a row for each."""
    target = Path(sys.argv[1])
    with sync_playwright() as playwright:
        browser = launched(playwright)
        for way, make in WAYS.items():
            with tempfile.TemporaryDirectory() as folder:
                make(browser, Path(folder))
                rows = [_pictures(pdf) for pdf in on_paper(browser, Path(folder)).values()]
                _side_by_side(rows).save(target / f"{way}.png", optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
