"""Numbers short and with their unit: counts, times and bytes as tfprof prints them, and the head line as the widget."""

from __future__ import annotations

from collections.abc import Callable


def count(value: int, scale: int = 1) -> str:
    """A count in units of `1 / scale`.

    >>> count(999), count(1234), count(25_810_000), count(3, 2)
    ('999', '1.23k', '25.81m', '1.50')
    """
    return _scaled(value, scale, ((10**3, "k"), (10**6, "m"), (10**9, "b")), "")


def count_exactly(value: int, scale: int = 1) -> str:
    """A count with all its digits.

    >>> count_exactly(12345), count_exactly(3, 2)
    ('12345', '1.50')
    """
    return _plain(value, scale)


def memory(value: int, scale: int = 1) -> str:
    """A number of bytes, decimal as natively.

    >>> memory(999), memory(1234), memory(5_000_000_000)
    ('999B', '1.23KB', '5000.00MB')
    """
    return _scaled(value, scale, ((10**3, "KB"), (10**6, "MB")), "B")


def time(value: int, time_scale: int = 1) -> str:
    """A time in units of `1 / time_scale` microseconds; below a microsecond in nanoseconds where they are known.

    >>> time(999), time(1234), time(3_610_000), time(532, 1000), time(1_500, 1000), time(0, 1000)
    ('999us', '1.23ms', '3.61sec', '532ns', '1.50us', '0ns')
    """
    if time_scale > 1 and abs(value) < time_scale:
        return _plain(value * 1000, time_scale) + "ns"
    return _scaled(value, time_scale, ((10**3, "ms"), (10**6, "sec")), "us")


def seconds(value: float) -> str:
    """A time in seconds as the widget writes times, see js/src/lib/short.ts.

    >>> seconds(0.04649), seconds(0.00123), seconds(8e-4), seconds(2e-8), seconds(0.0)
    ('46.5 ms', '1.23 ms', '800 µs', '20 ns', '0 µs')
    """
    if not value:
        return "0 µs"
    units = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
    # What would be written as 1,000 of a unit is one of the next.
    factor, unit = next((each for each in units if value >= 0.99995 * each[0]), units[-1])
    count = value / factor
    is_whole = abs(count - round(count)) < 1e-9 and count < 1000
    return f"{count:.{0 if is_whole else 2 if count < 9.995 else 1}f} {unit}"


def percent(share: float, decimals: int = 1) -> str:
    """A share as the widget writes it.

    >>> percent(0.038), percent(1.0, 0)
    ('3.8 %', '100 %')
    """
    return f"{100 * share:.{decimals}f} %"


def writer(measure: str) -> Callable[[int, int], str]:
    """How the values of a measure are written.

    >>> writer("cpu_micros")(1234, 1), writer("peak_bytes")(1234, 1), writer("runs")(1234, 1)
    ('1.23ms', '1.23KB', '1.23k')
    """
    if measure.endswith("micros"):
        return time
    return memory if measure.endswith("bytes") else count


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
