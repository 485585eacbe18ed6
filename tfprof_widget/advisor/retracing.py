"""Finds functions that are traced again and again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from tfprof_widget.advisor.finding import Evidence, Finding
from tfprof_widget.advisor.steady import WORTHWHILE
from tfprof_widget.capturing.recorded import WARM_UP
from tfprof_widget.profiles import Profile

FEWEST = 3
"""Two are common: the first batch, and the last one of the epoch if it is smaller."""


def retracing(profile: Profile) -> Iterator[Finding]:
    """A finding for each function of whose recorded calls many had to trace it.

    >>> from tfprof_widget.demo import demo_profile
    >>> list(retracing(demo_profile()))
    []
    """
    calls = Counter(name.removesuffix(WARM_UP) for name in profile.step_names)
    traced = Counter(name.removesuffix(WARM_UP) for name in profile.step_names if name.endswith(WARM_UP))
    for name, count in traced.items():
        if count >= FEWEST and count >= WORTHWHILE * calls[name]:
            yield Finding(
                f"{name} was traced in {count} of {calls[name]} recorded calls, and tracing takes many times as long "
                "as a call.",
                Evidence("scope", {"run_name_regexes": [re.escape(name + WARM_UP)], "order_by": "micros"}),
                "Give tensors instead of Python numbers, make batches of one size (drop_remainder=True) or give "
                "@tf.function an input_signature with None for what varies, and create it outside of loops.",
            )
