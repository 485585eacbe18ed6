"""Moves a slider to and fro, faster than any hand."""

from __future__ import annotations

from tests.browser.screen import Screen

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
