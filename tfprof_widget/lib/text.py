"""Writes numbers, counted nouns and names for people, and tells library files from the user's."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache


def written_count(value: int, scale: int = 1) -> str:
    """A count in units of `1 / scale`.

    >>> written_count(999), written_count(1234), written_count(25_810_000), written_count(3, 2)
    ('999', '1.23k', '25.81m', '1.50')
    """
    return _scaled(value, scale, ((10**3, "k"), (10**6, "m"), (10**9, "b")), "")


def written_exactly(value: int, scale: int = 1) -> str:
    """A count with all its digits.

    >>> written_exactly(12345), written_exactly(3, 2)
    ('12345', '1.50')
    """
    return _plain(value, scale)


def written_bytes(value: int, scale: int = 1) -> str:
    """A number of bytes in decimal units, as native tfprof writes it.

    >>> written_bytes(999), written_bytes(1234), written_bytes(5_000_000_000)
    ('999B', '1.23KB', '5000.00MB')
    """
    return _scaled(value, scale, ((10**3, "KB"), (10**6, "MB")), "B")


def written_time(value: int, time_scale: int = 1) -> str:
    """A time in units of `1 / time_scale` microseconds; below a microsecond in nanoseconds where they are known.

    >>> written_time(999), written_time(1234), written_time(3_610_000)
    ('999us', '1.23ms', '3.61sec')
    >>> written_time(532, 1000), written_time(1_500, 1000), written_time(0, 1000)
    ('532ns', '1.50us', '0ns')
    """
    if time_scale > 1 and abs(value) < time_scale:
        return _plain(value * 1000, time_scale) + "ns"
    return _scaled(value, time_scale, ((10**3, "ms"), (10**6, "sec")), "us")


def written_seconds(value: float) -> str:
    """A time in seconds, as the widget writes times.

    >>> written_seconds(0.04649), written_seconds(8e-4), written_seconds(2e-8), written_seconds(0.0)
    ('46.5 ms', '800 µs', '20 ns', '0 µs')
    """
    return _short(1e6 * value, _SECONDS, "")


def short_count(value: float) -> str:
    """A count, as the widget writes it: small ones in full.

    >>> short_count(7904), short_count(41_200_000), short_count(1.5)
    ('7,904', '41.2 M', '1.5')
    """
    if abs(value) > _LARGEST_IN_FULL:
        return _short(value, _POWERS, "")
    return grouped(float(value) if abs(value) < 10 else math.floor(value + 0.5))


def short_units(value: float, unit: str) -> str:
    """An amount in units of its own with a prefix, as the widget writes it.

    >>> short_units(318_400_000, "B"), short_units(110e9, "FLOP/s"), short_units(512, "B")
    ('318.4 MB', '110 GFLOP/s', '512 B')
    """
    return _short(value, _POWERS, unit)


def short(measure: str, value: float) -> str:
    """A value of a measure, in microseconds, bytes or pieces, as the widget writes it.

    >>> short("cpu_micros", 1234.5), short("bytes", 1234), short("runs", 1234)
    ('1.23 ms', '1.23 kB', '1,234')
    """
    if measure.endswith("micros"):
        return _short(value, _SECONDS, "")
    return short_units(value, "B") if measure.endswith("bytes") else short_count(value)


_SECONDS = ((1e6, "s"), (1e3, "ms"), (1.0, "µs"), (1e-3, "ns"))
_POWERS = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
# Up to here a count is read better in full.
_LARGEST_IN_FULL = 99_999


def _short(value: float, scale: tuple[tuple[float, str], ...], unit: str) -> str:
    """A value in the largest unit that it has one of; js/src/lib/format.ts has the same rules."""
    size = abs(value)
    if not size:
        return f"0 {unit or dict(scale)[1.0]}".rstrip()
    # A value that would be written as 1,000 of a unit is written as 1 of the next unit.
    factor, prefix = next((each for each in scale if size >= 0.99995 * each[0]), scale[-1])
    # The last digits of a double differ by how the value was computed: they are not to decide what is half-way.
    count = float(f"{value / factor:.12g}")
    is_whole = abs(count - round(count)) < 1e-9 and abs(count) < 1000
    return f"{fixed(count, 0 if is_whole else 2 if abs(count) < 9.995 else 1)} {prefix}{unit}".rstrip()


def written_percent(share: float, decimals: int = 1) -> str:
    """A share, as the widget writes it.

    >>> written_percent(0.038), written_percent(1.0, 0)
    ('3.8 %', '100 %')
    """
    return f"{fixed(100 * share, decimals)} %"


def fixed(value: float, decimals: int) -> str:
    """A number with so many decimals; of two that are equally near the larger one, as JavaScript's toFixed does.

    >>> fixed(1.125, 2), f"{1.125:.2f}"
    ('1.13', '1.12')
    """
    return str(Decimal(value).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP))


def grouped(value: float) -> str:
    """A number in full, to three decimals, as the widget writes it.

    >>> grouped(1234567.0), grouped(3.16666), grouped(0.5)
    ('1,234,567', '3.167', '0.5')
    """
    # As JavaScript's Intl does, of the shortest text that is read as this very number.
    text = f"{Decimal(repr(value)).quantize(Decimal('0.001'), ROUND_HALF_UP):,f}"
    return text.rstrip("0").rstrip(".")


def listed(names: Sequence[object], most: int = 8) -> str:
    """Names in a row, for a message; of many the first ones and the last.

    >>> listed(["a", "b", "c"]), listed(range(2000), most=4)
    ('a, b, c', '0, 1, 2, …, 1999')
    """
    few = [*names[: most - 1], "…", names[-1]] if len(names) > most else names
    return ", ".join(map(str, few))


_NATIVE_UNITS = {"us": " µs", "ms": " ms", "ns": " ns", "sec": " s"}


def respelled(text: str) -> str:
    """A text of native tfprof with its times spelled as the widget spells them.

    >>> respelled("cpu: 123.19us, total: 3.61sec (40.00%)")
    'cpu: 123.19 µs, total: 3.61 s (40.00%)'
    """
    return re.sub(r"(?<=\d)(us|ms|ns|sec)\b", lambda unit: _NATIVE_UNITS[unit[1]], text)


def _scaled(value: int, scale: int, steps: tuple[tuple[int, str], ...], unit: str) -> str:
    if value < steps[0][0] * scale:
        return _plain(value, scale) + unit
    fitting = [step for step in steps if value >= step[0] * scale]
    factor, suffix = fitting[-1]
    return f"{value / (scale * factor):.2f}{suffix}"


def _plain(value: int, scale: int) -> str:
    return str(value // scale) if value % scale == 0 else f"{value / scale:.2f}"


def whole(value: int, scale: int) -> int:
    """The nearest whole number, halves up.

    >>> whole(1_500, 1000), whole(1_499, 1000)
    (2, 1)
    """
    return (2 * value + scale) // (2 * scale)


# Control characters, spaces that look like the usual space or like nothing, characters that reverse the direction of a
# text, Unicode's line ends, and surrogates. Joiners are left out: some scripts and emoji need them.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\xa0\xad\u061c\u1680\u180e\u2000-\u200b\u200e\u200f\u2028-\u202f\u205f-\u206f\u3000"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    r"""A name in which invisible characters are written as escapes.

    >>> visible("\x1b[2J"), visible("\u202egnp.exe"), visible("two\nlines"), visible("λ/日本 😀")
    ('\\x1b[2J', '\\u202egnp.exe', 'two\\nlines', 'λ/日本 😀')
    """
    return text if text.isprintable() else _UNSEEN.sub(_spelled, text)


def visible_lines(text: str) -> str:
    r"""A text in which invisible characters are written as escapes, except its line ends.

    >>> visible_lines("cause\x07\n  fix")
    'cause\\x07\n  fix'
    """
    return text if text.isprintable() else "\n".join(map(visible, text.split("\n")))


def _spelled(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


@dataclass(frozen=True)
class Fact:
    """A short fact of the head line; `help` says how it was measured."""

    label: str
    value: str
    help: str

    def __str__(self) -> str:
        return f"{self.label} {self.value}"


LIBRARIES = ("tensorflow", "keras", "tf_keras", "tfprof_widget")
"""Libraries that are known by the name of their folder, wherever it is: a checkout is not installed."""
# The same rule as libraryOf in the browser: tests/properties/test_same_rules.py compares them.
_OF_LIBRARY = re.compile(
    rf"(^|/)((site|dist)-packages|{'|'.join(LIBRARIES)})/|/lib/python[\d.]*/|^<frozen |(^|/)__autograph_generated_file",
    re.ASCII,
)


@lru_cache(maxsize=4096)  # asked of each frame of thousands of stacks, in which a few hundred files are
def is_of_library(file: str) -> bool:
    """Whether a file belongs to an installed package or to Python, and not to the user's own code.

    What AutoGraph writes of the user's functions, into a file of its own, counts as TensorFlow's.

    >>> is_of_library("/venv/lib/python3.11/site-packages/keras/layer.py"), is_of_library("/home/me/train.py")
    (True, False)
    """
    return _OF_LIBRARY.search(file.replace("\\", "/")) is not None


def cut_in_the_middle(name: str, most: int) -> str:
    """A name of at most so many letters: of a longer one its beginning and its end.

    >>> cut_in_the_middle("Conv2DBackpropFilter", 9)
    'Conv…lter'
    """
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[: most - 1 - half]}…{name[-half:]}"
