"""What-if as a slider in the graph tab: what it says is what Python predicts, live, and else there is the reason."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.analysis.replay.test_worked import DIAMOND
from tests.analysis.replay.worked import profile_of as worked
from tests.browser.conftest import Opening
from tests.browser.screen import Screen
from tests.browser.test_accessibility import AXE, violations
from tests.browser.test_graph import boxes, press, show
from tests.sketches import profile_of
from tfprof_widget.api.profile import Profile
from tfprof_widget.demo import demo_profile
from tfprof_widget.lib.text import written_seconds


def panel(screen: Screen) -> Locator:
    return screen.root.get_by_role("region", name="what if")


def slider(screen: Screen) -> Locator:
    return panel(screen).get_by_role("slider")


def told(profile: Profile, key: str, factor: float) -> tuple[str, str]:
    """What Python predicts, as the panel writes it: the step, and its interval."""
    found = profile.what_if({key: factor})
    share = found.seconds / found.replayed - 1
    change = f"{100 * abs(share):.1f} % {'less' if share < 0 else 'more'}" if abs(share) >= 0.0005 else "as now"
    times = [written_seconds(seconds) for seconds in (found.seconds, found.low, found.high)]
    return f"a step of {times[0]}, {change}", f"most steps between {times[1]} and {times[2]}"


def move(screen: Screen, percent: int) -> None:
    slider(screen).evaluate(
        """(input, percent) => {
            input.value = percent;
            input.dispatchEvent(new Event("input", { bubbles: true }));
        }""",
        percent,
    )


@pytest.mark.parametrize("percent", [0, 50, 200])
def test_the_slider_says_what_python_predicts(demo: Screen, percent: int) -> None:
    show(demo)
    press(demo, "Home", "ArrowDown", " ")
    expect(panel(demo)).to_contain_text("layer1 took 100 % of its time")
    expect(panel(demo)).to_contain_text("as now")
    move(demo, percent)
    for text in told(demo_profile(), "layer:layer1", percent / 100):
        expect(panel(demo)).to_contain_text(text)
    expect(slider(demo)).to_have_attribute("aria-valuetext", re.compile(f"^{percent} %: a step of"))


def test_the_keyboard_moves_the_slider_and_a_new_selection_puts_it_back(open_profile: Opening) -> None:
    """Of the diamond's two arms the short one may take thrice as long, and half of the long one saves its half."""
    screen = open_profile(worked(DIAMOND))
    show(screen)
    screen.look_at("scope")
    screen.row("b").click()
    show(screen)
    slider(screen).focus()
    for _ in range(10):
        screen.page.keyboard.press("ArrowLeft")
    expect(panel(screen)).to_contain_text("b took 50 % of its time")
    expect(panel(screen)).to_contain_text("a step of 35 µs, 30.0 % less")
    screen.look_at("scope")
    screen.row("c").click()
    show(screen)
    expect(panel(screen)).to_contain_text("c took 100 % of its time")
    move(screen, 200)
    expect(panel(screen)).to_contain_text("a step of 50 µs, as now")


def test_an_op_type_is_what_a_slider_is_about_too(open_profile: Opening) -> None:
    screen = open_profile(worked(DIAMOND))
    screen.look_at("op")
    screen.row("Exp").click()
    show(screen)
    move(screen, 50)
    expect(panel(screen)).to_contain_text(told(worked(DIAMOND), "type:Exp", 0.5)[0])


def test_without_a_selection_it_says_what_to_do(demo: Screen) -> None:
    show(demo)
    expect(panel(demo)).to_contain_text("Select a box")
    expect(slider(demo)).to_have_count(0)


def test_where_steps_cannot_be_replayed_the_reason_stands_in_its_place(open_profile: Opening) -> None:
    screen = open_profile(profile_of("a = MatMul() 5us @/device:GPU:0/stream:all\nb = Relu(a)"))
    show(screen)
    press(screen, "Home", " ")
    expect(panel(screen)).to_contain_text("cannot replay the steps: they ran on an accelerator")
    expect(slider(screen)).to_have_count(0)


def test_where_nothing_ran_nothing_is_said(open_profile: Opening) -> None:
    screen = open_profile(profile_of("a = MatMul()\nb = Relu(a)"))
    show(screen)
    expect(boxes(screen)).to_have_count(1)
    expect(panel(screen)).to_have_count(0)


def test_axe_finds_nothing_in_the_slider(open_profile: Opening) -> None:
    screen = open_profile(demo_profile())
    screen.page.evaluate(AXE.read_text(encoding="utf-8"))
    show(screen)
    press(screen, "Home", "ArrowDown", " ")
    move(screen, 50)
    expect(panel(screen)).to_contain_text("50 %")
    assert violations(screen.page) == []
