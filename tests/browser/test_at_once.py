"""Everything that is done counts, also right after something else, when that has not been painted yet."""

from __future__ import annotations

from collections.abc import Iterator

from playwright.sync_api import expect

from tests.browser.conftest import Opening
from tests.browser.expected import status_of
from tests.browser.moves import Act, act_at_once
from tests.browser.screen import Screen
from tests.browser.test_charts import BY_TIME, CHANGING
from tests.sketches import profile_of
from tfprof_widget.demo import demo_profile
from tfprof_widget.profiles.options import OPTIONS

NUMBERS = [option.name for option in OPTIONS if option.kind == "integer" and option.name != "step"]


def test_number_after_number(demo: Screen) -> None:
    demo.show_all_options()
    for option in NUMBERS:
        expect(demo.number(option)).to_be_visible()
        act_at_once(demo, *typed(f"#option-{option}", "5", "2"))
        expect(demo.number(option)).to_have_value("2")
        expect(demo.number(option)).to_have_attribute("aria-valuenow", "2")


def typed(box: str, *texts: str) -> Iterator[Act]:
    """Type texts one after another, and confirm each."""
    for text in texts:
        yield box, "type", text
        yield box, "press", "Enter"


def test_number_in_a_box_that_has_just_come(demo: Screen) -> None:
    filters, box = ".controls .heading button", "#option-min_micros"
    act_at_once(demo, (filters, "click", ""), (filters, "click", ""), *typed(box, "100"))
    expect(demo.number("min_micros")).to_have_value("100")
    expect(demo.status).to_have_text(status_of(demo_profile(), "scope", min_micros=100))


def test_regexes_after_regexes(demo: Screen) -> None:
    act_at_once(demo, *typed("#option-show_name_regexes", "layer1.*", "layer2.*"))
    expect(demo.regexes("show_name_regexes")).to_have_value("layer2.*")
    expect(demo.status).to_have_text(status_of(demo_profile(), "scope", show_name_regexes=["layer2.*"]))


def test_key_in_the_table_after_a_bar_is_chosen(demo: Screen) -> None:
    """A bar brings its first row into sight, but the key comes later."""
    demo.look_at("op")
    demo.until(lambda: demo.marks(BY_TIME)[:2], ["MatMul", "Relu"])
    act_at_once(demo, ("[role=option][aria-label^=Relu]", "click", ""), ("[role=treegrid]", "press", "End"))
    last = demo.rows.count() - 1
    demo.until_painted()
    expect(demo.grid).to_have_attribute("aria-activedescendant", f"row-{last}")
    expect(demo.row("Relu")).to_have_attribute("aria-selected", "true")


def test_key_on_a_bar_whose_place_has_changed(open_profile: Opening) -> None:
    """_MklMatMul costs most in step 0, and third in the mean."""
    screen = open_profile(profile_of(CHANGING))
    bar = screen.chart(BY_TIME).get_by_role("option", name="_MklMatMul,")
    bar.focus()
    before = screen.marks(BY_TIME)
    screen.root.get_by_role("combobox", name="step").select_option("=0")
    screen.until(lambda: screen.marks(BY_TIME) != before, True)
    bar.press("Enter")
    expect(bar).to_have_attribute("aria-selected", "true")
