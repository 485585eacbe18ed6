"""Finds steps that wait for their input."""

from __future__ import annotations

from collections.abc import Iterator

from tfprof_widget.advisor.finding import Evidence, Finding
from tfprof_widget.advisor.steady import Steady
from tfprof_widget.profiles import Profile

INPUT = r".*IteratorGetNext\w*|.*Queue(TryDequeue|Dequeue)\w*|Reader(Read|ReadUpTo)(V2)?"
HIGH = 0.2
"""TensorFlow's own analysis of input pipelines calls a step highly input-bound from here."""


def input_bound(profile: Profile) -> Iterator[Finding]:
    """A finding if for much of the steps nothing ran but what fetches their input.

    >>> from tfprof_widget.demo import demo_profile
    >>> list(input_bound(demo_profile()))
    []
    """
    steady = Steady.of(profile)
    fetches = steady.ops(INPUT)
    if not fetches.any():
        return
    waited = steady.alone(steady.of_nodes(fetches | steady.is_data))
    if steady.of_wall(waited) >= HIGH:
        yield Finding(
            f"Steps wait for their input: for {steady.shown(waited)} of {steady.shown(steady.wall.length)} "
            f"({steady.of_wall(waited):.0%}) nothing runs but what fetches it.",
            Evidence("timeline", steady.options, steady.costliest(fetches)),
            "Let tf.data work ahead and on several threads: end the pipeline in .prefetch(tf.data.AUTOTUNE), give its "
            ".map() num_parallel_calls=tf.data.AUTOTUNE, and .cache() what is the same in every epoch.",
        )
