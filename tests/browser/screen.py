"""What a reader sees of a widget and does with it, by the roles and names that a screen reader goes by."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from playwright.sync_api import Locator, Page, expect

Seen = TypeVar("Seen")
SEEN_WITHIN_SECONDS = 60
MILLISECONDS_BETWEEN_LOOKS = 40
KNOB = 8  # pixels from the end of a slider to where its knob can be taken

expect.set_options(timeout=1000 * SEEN_WITHIN_SECONDS)


class Screen:
    """A widget on a page; `inside` is what it is in."""

    def __init__(self, page: Page, inside: Locator | None = None) -> None:
        self.page = page
        within = inside or page.locator("body")
        self.root = within.get_by_role("region", name="tfprof", exact=True)

    def until_ready(self) -> Screen:
        """Wait until it is painted."""
        expect(self.root).to_have_attribute("data-ready", "true", timeout=60_000)
        return self

    def tab(self, name: str) -> Locator:
        """The tab of a view."""
        return self.root.get_by_role("tab", name=name, exact=True)

    def look_at(self, name: str) -> Screen:
        """Go to a view; of the graph to its tree."""
        self.tab(name).click()
        expect(self.tab(name)).to_have_attribute("aria-selected", "true")
        if name == "graph":
            self.root.get_by_role("radio", name="tree").check(force=True)
        return self

    @property
    def grid(self) -> Locator:
        """The table."""
        return self.root.get_by_role("treegrid")

    @property
    def rows(self) -> Locator:
        """The rows of the table that are drawn, without that of the headers."""
        return self.grid.locator("[role=row][aria-level]")

    def row(self, name: str) -> Locator:
        """The row of this full name."""
        return self.rows.filter(has=self.page.locator(f"[role=rowheader][title={quoted(name)}]"))

    def cell(self, name: str, column: str) -> Locator:
        """A row's cell under a header."""
        headers = self.grid.get_by_role("columnheader").all_inner_texts()
        titles = [header.replace("▾", "").replace("▴", "").strip() for header in headers]
        return self.row(name).locator("> *").nth(titles.index(column))

    @property
    def status(self) -> Locator:
        """The line that says how many rows are kept."""
        return self.root.locator("[role=status]")

    def names(self) -> list[str]:
        """The full names of the rows that are drawn."""
        found: list[str] = self.rows.locator("[role=rowheader]").evaluate_all("cells => cells.map(cell => cell.title)")
        return found

    def slider(self, option: str) -> Locator:
        """The slider of an option."""
        return self.root.get_by_role("slider", name=option, exact=True)

    def number(self, option: str) -> Locator:
        """The box of an option's number."""
        return self.root.get_by_role("spinbutton", name=option, exact=True)

    def regexes(self, option: str) -> Locator:
        """The box of an option's regexes."""
        return self.root.get_by_role("textbox", name=option, exact=True)

    def choice(self, option: str) -> Locator:
        """The list of an option's choices."""
        return self.root.get_by_role("combobox", name=option, exact=True)

    def drag(self, option: str, start: float, end: float) -> None:
        """Drag a slider's knob from one part of its width to another, in small moves."""
        slider = self.slider(option)
        slider.scroll_into_view_if_needed()
        box = slider.bounding_box()
        assert box
        mouse, middle = self.page.mouse, box["y"] + box["height"] / 2
        first, last = (box["x"] + KNOB + part * (box["width"] - 2 * KNOB) for part in (start, end))
        mouse.move(first, middle)
        mouse.down()
        mouse.move(last, middle, steps=12)
        mouse.up()
        self.until_painted()

    def type_number(self, option: str, text: str) -> None:
        """Type a number and confirm it."""
        self.number(option).fill(text)
        self.number(option).press("Enter")

    def type_regexes(self, option: str, text: str) -> None:
        """Type regexes and confirm them."""
        self.regexes(option).fill(text)
        self.regexes(option).press("Enter")

    def show_all_options(self) -> None:
        """Open the part of the filters that is closed at first."""
        self.root.locator("summary").filter(has_text="All options").click()

    def unfold_all(self) -> None:
        """Unfold the whole tree, and library frames with it."""
        merging = self.root.get_by_role("checkbox", name="framework frames")
        if merging.count():
            merging.check()
        self.root.get_by_role("button", name="unfold all").click()

    def chart(self, label: str) -> Locator:
        """A chart by its title."""
        return self.root.get_by_role("figure", name=label, exact=True)

    def marks(self, label: str) -> list[str]:
        """The names of a chart's marks, as drawn from the top or the left."""
        texts: list[str] = (
            self.chart(label).get_by_role("option").evaluate_all("all => all.map(each => each.ariaLabel)")
        )
        return [text.partition(", ")[0] for text in texts]

    def export(self, entry: str) -> bytes:
        """Save a file from the menu, and return what is in it."""
        with self.page.expect_download(timeout=60_000) as saving:
            self.root.get_by_role("button", name="Export").click()
            self.page.get_by_role("menuitem", name=entry, exact=True).click()
        return saving.value.path().read_bytes()

    def until_painted(self) -> None:
        """Wait until what was done before is on the screen."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def until(self, read: Callable[[], Seen], wanted: Seen) -> None:
        """Wait until something is read as wanted."""
        end = time.monotonic() + SEEN_WITHIN_SECONDS
        seen = read()
        while seen != wanted and time.monotonic() < end:
            self.page.wait_for_timeout(MILLISECONDS_BETWEEN_LOOKS)
            seen = read()
        assert seen == wanted, f"{seen} is not {wanted}"


def quoted(text: str) -> str:
    """A text as CSS writes it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
