"""Finds initializers of variables in what was to be a measurement of steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tfprof_widget.advisor.finding import Evidence, Finding
from tfprof_widget.advisor.steady import WORTHWHILE, Steady
from tfprof_widget.engine.measures import measures
from tfprof_widget.options import Options
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Flags

SCOPE = "/Initializer/"
"""The scope in which TensorFlow makes the first value of each variable."""


def initializers(profile: Profile) -> Iterator[Finding]:
    """A finding if initializers take much of the op time, and one if they count for many of the float ops.

    >>> from tfprof_widget.demo import demo_profile
    >>> list(initializers(demo_profile()))
    []
    """
    steady = Steady.of(profile)
    nodes = np.array([SCOPE in name for name in profile.nodes.names], np.bool_)
    hidden = {**steady.options, "hide_name_regexes": [r".*/Initializer(/.*)?"], "account_displayed_op_only": True}
    if steady.share(nodes) >= WORTHWHILE:
        yield Finding(
            f"{steady.share(nodes):.0%} of the op time are initializers, which run once and not in every step.",
            Evidence("scope", {**hidden, "order_by": "micros"}),
            "Run the initializers before the profiler is on, or give add_step the run metadata of training steps "
            "only; the view linked here counts without them.",
        )
    share = _share_of_float_ops(steady, nodes)
    if share >= WORTHWHILE:
        yield Finding(
            f"{share:.0%} of the float ops are those of initializers, which run once and not in every step.",
            Evidence("scope", {**hidden, "order_by": "float_ops", "select": ["float_ops"]}),
            "Count without them, as the view linked here does: hide_name_regexes and account_displayed_op_only.",
        )


def _share_of_float_ops(steady: Steady, nodes: Flags) -> float:
    """As the views count them: by the runs, and of nodes that never ran as if they had, once."""
    columns = measures(steady.profile, Options.of(**steady.options)).columns
    counts = columns["float_ops"].astype(np.float64)
    return float(counts[nodes].sum()) / max(float(counts.sum()), 1.0)
