"""Takes the screenshots: captures trainings and photographs their reports: `make screenshots`."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

import tfprof_widget as tfprof
from docs.screenshots import classifier, servers
from docs.screenshots.freshness import HERE, write_stamp
from tests.analysis.cluster.real import serving
from tests.browser.screen import Screen
from tests.browser.watched import launched, watched_page

Scheme = Literal["light", "dark"]

SCHEMES: tuple[Scheme, ...] = ("light", "dark")
WINDOW = {"width": 1360, "height": 900}
PIXELS_A_POINT = 2  # for sharp screens
COLOURS = 256  # which a PNG says in a byte a pixel
EPOCHS = 6
TRACED = 8  # a step of so many: on a busy machine few would be
STEPS_SERVED = 30
# Gradients of normalization are many rows of little news.
FOLDED = ("gradient_tape/classifier/norm_1", "gradient_tape/classifier/norm_2")
STEP = 8  # when caches are warm
SELECTED = "classifier/conv_2/convolution"


def main() -> None:
    """Take all pictures, and note what they are of."""
    captures = {"classifier": classified(), "servers": served()}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = launched(playwright)
        for of, capture in captures.items():
            page = Path(folder) / f"{of}.html"
            capture.save_report(str(page))
            for scheme in SCHEMES:
                for name, prepare in PICTURES[of].items():
                    with opened(browser, page, scheme) as screen:
                        prepare(screen)
                        shoot(screen, HERE / f"{name}-{scheme}.png")
        browser.close()
    write_stamp()


def classified() -> tfprof.Capture:
    """The training of the classifier, on a machine of which the roof is known."""
    tfprof.machine()
    with tfprof.capture(name="train a small classifier", every=TRACED) as prof:
        classifier.train(EPOCHS)
    print(prof.measurement.sentence())
    return prof


def served() -> tfprof.Capture:
    """Training on two parameter servers, all of them processes of this machine."""
    with serving(ps=2, worker=2) as cluster, tfprof.capture(name="two workers, two servers") as prof:
        servers.train(f"grpc://{cluster['worker'][0]}", STEPS_SERVED)
    print(prof.measurement.sentence())
    return prof


@contextmanager
def opened(browser: Browser, page: Path, scheme: Scheme) -> Iterator[Screen]:
    """The report in a window of its own."""
    with watched_page(browser, viewport=WINDOW, device_scale_factor=PIXELS_A_POINT, color_scheme=scheme) as tab:
        tab.goto(page.as_uri())
        yield Screen(tab).until_ready()


def overview(screen: Screen) -> None:
    """What is seen first."""
    screen.until(lambda: len(screen.marks("Time by op type")) > 1, True)


def widget(screen: Screen) -> None:
    """What costs most, with a slider moved and an op selected down to its line of code."""
    screen.look_at("scope")
    screen.type_number("min_micros", "300")
    for name in FOLDED:
        screen.row(name).locator(".twist").click()
    screen.row(SELECTED).click()
    screen.grid.evaluate("grid => { grid.scrollTop = 0; }")
    screen.until(lambda: len(screen.marks("Time by op type")) > 1, True)


def timeline(screen: Screen) -> None:
    """A step, thread by thread."""
    screen.look_at("timeline")
    for _ in range(STEP):
        screen.root.get_by_role("button", name="next step").click()


def roofline(screen: Screen) -> None:
    """What the ops do for each byte, below what the machine can do."""
    screen.look_at("op")
    screen.until(lambda: len(screen.marks("Roofline")) > 1, True)
    screen.root.locator(".roofline").evaluate("chart => chart.scrollIntoView({ block: 'start' })")


def workers(screen: Screen) -> None:
    """The tasks, what each holds, and what goes between them."""
    screen.look_at("workers")


# What is photographed of each capture.
PICTURES: dict[str, dict[str, Callable[[Screen], None]]] = {
    "classifier": {"overview": overview, "widget": widget, "timeline": timeline, "roofline": roofline},
    "servers": {"workers": workers},
}


def shoot(screen: Screen, file: Path) -> None:
    """Write what the widget looks like."""
    screen.page.mouse.move(0, 0)
    taken = Image.open(io.BytesIO(screen.root.screenshot())).convert("RGB")
    taken.quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"{file.name}: {file.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
