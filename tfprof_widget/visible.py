"""Spells out what a reader cannot see or a terminal would act on: names come from files, and are shown as they are."""

from __future__ import annotations

import re

# Controls, spaces that look like the usual one or like none, what turns the direction of a text, line ends of
# Unicode's, and halves of characters. Joiners are not among them: scripts and emoji are written with them.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\xa0\xad\u061c\u1680\u180e\u2000-\u200b\u200e\u200f\u2028-\u202f\u205f-\u206f\u3000"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    r"""A name in which every character is seen.

    >>> visible("\x1b[2J"), visible("\u202egnp.exe"), visible("two\nlines"), visible("λ/日本 😀")
    ('\\x1b[2J', '\\u202egnp.exe', 'two\\nlines', 'λ/日本 😀')
    """
    return text if text.isprintable() else _UNSEEN.sub(_spelled, text)


def visible_lines(text: str) -> str:
    r"""The same of a text that has lines of its own, which stay.

    >>> visible_lines("cause\x07\n  fix")
    'cause\\x07\n  fix'
    """
    return text if text.isprintable() else "\n".join(map(visible, text.split("\n")))


def _spelled(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
