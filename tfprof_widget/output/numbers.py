"""Numbers as tfprof prints them: counts, times and bytes, short and with their unit."""

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
    """A time in seconds, written as one in microseconds would be.

    >>> seconds(0.00123), seconds(2e-8)
    ('1.23ms', '20ns')
    """
    return time(round(value * 1e9), 1000)


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
