"""Moves a slider, clicks and types, faster than any hand."""

from __future__ import annotations

from typing import Literal

from tests.browser.screen import Screen

# Where, what, and the text or the key.
Act = tuple[str, Literal["click", "type", "press"], str]

MOVES, MILLISECONDS = 400, 2000

_MOVE = """(slider, [moves, milliseconds, last]) => new Promise(done => {
    const setValue = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
    const [low, high] = [Number(slider.min), Number(slider.max)];
    const begun = performance.now();
    let made = 0;
    const move = () => {
        const due = Math.min(moves, Math.ceil((performance.now() - begun) / milliseconds * moves));
        for (; made < due; made++) {
            const at = made === moves - 1 ? Math.round(low + last * (high - low)) : low + made * 7 % (high - low + 1);
            setValue.call(slider, String(at));
            slider.dispatchEvent(new Event("input", { bubbles: true }));
        }
        if (made < moves) setTimeout(move);
        else done();
    };
    move();
})"""


def moved(screen: Screen, option: str, last: float) -> int:
    """Move a slider hundreds of times in two seconds, at last to a part of its width; returns the value it has then."""
    screen.slider(option).evaluate(_MOVE, [MOVES, MILLISECONDS, last])
    screen.until_painted()
    return int(screen.number(option).get_attribute("aria-valuenow") or 0)


# Promises are kept between two acts, so the widget draws; frames, timers and effects after the paint wait to the end.
_ACT = """async (root, acts) => {
    for (const [selector, act, text] of acts) {
        const element = root.querySelector(selector);
        if (act === "type") {
            element.value = text;
            element.dispatchEvent(new Event("input", { bubbles: true }));
        } else if (act === "press") {
            element.dispatchEvent(new KeyboardEvent("keydown", { key: text, bubbles: true, cancelable: true }));
        } else element.click();
        for (let turn = 0; turn < 50; turn++) await null;
    }
}"""


def act_at_once(screen: Screen, *acts: Act) -> None:
    """Do all of this in one task, so that the browser does not paint in between."""
    for selector, *_ in acts:  # filters and charts come a moment after the first table
        screen.root.locator(selector).first.wait_for(state="attached")
    screen.root.evaluate(_ACT, acts)
