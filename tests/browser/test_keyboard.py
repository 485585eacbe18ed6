"""By keyboard alone: everything is reached in order, seen when it is, and works."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.screen import Screen

FOCUSED = """() => {
    let element = document.activeElement;
    while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
    if (!element || element === document.body) return "";
    const named = element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent;
    const labelled = element.getRootNode().getElementById(element.getAttribute("aria-labelledby") ?? "");
    const role = element.getAttribute("role") ?? element.type ?? element.localName;
    return `${role} ${(labelled?.textContent ?? named).trim()}`;
}"""
PLACE = """() => {
    let element = document.activeElement;
    while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
    const { x, y, width, height } = element.getBoundingClientRect();
    return { x: x - 4, y: y - 4, width: width + 8, height: height + 8 };
}"""
LEAVE = """() => {
    let element = document.activeElement;
    while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
    element.blur();
    return element;
}"""
ORDER = (
    *("button Export", "tab scope", "search", "button filters", "spinbutton min_micros", "range min_micros"),
    *("spinbutton max_depth", "text show_name_regexes", "treegrid scope", "radio", "option MatMul"),
)


def test_tab_goes_through_everything_and_shows_where_it_is(demo: Screen) -> None:
    demo.until(lambda: demo.marks("Time by op type")[:1], ["MatMul"])
    met: list[str] = []
    unseen: list[str] = []
    while len(met) < 60:
        demo.page.keyboard.press("Tab")
        focused = demo.page.evaluate(FOCUSED)
        if not focused:
            break
        met.append(focused)
        if not is_seen(demo):
            unseen.append(focused)
    assert unseen == []
    places = [next((at for at, each in enumerate(met) if each.startswith(wanted)), -1) for wanted in ORDER]
    assert -1 not in places, met
    assert places == sorted(places), met
    assert len(met) < 60, "the focus does not come out of the widget"


def is_seen(screen: Screen) -> bool:
    """Whether what has the focus looks otherwise without it."""
    page = screen.page
    place = page.evaluate(PLACE)
    focused = page.screenshot(clip=place)
    element = page.evaluate_handle(LEAVE)
    left = page.screenshot(clip=place)
    element.evaluate("element => element.focus()")
    return focused != left


def test_a_question_is_answered_without_a_mouse(demo: Screen) -> None:
    """Which op type is the costliest of those above 100 µs, and where in the code is it made?"""
    keyboard = demo.page.keyboard
    demo.tab("scope").focus()
    for key in ("ArrowRight", "ArrowRight"):
        keyboard.press(key)
    expect(demo.tab("op")).to_be_focused()
    demo.number("min_micros").focus()
    keyboard.type("100")
    keyboard.press("Enter")
    demo.until(demo.names, ["MatMul", "Relu", "ApplyGradientDescent"])
    demo.grid.focus()
    for key in ("Home", "Enter"):
        keyboard.press(key)
    panel = demo.root.get_by_role("region", name="selection")
    expect(panel).to_contain_text("Selected: MatMul")
    expect(panel).to_contain_text("train.py")
