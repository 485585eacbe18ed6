"""A MirroredStrategy of two CPUs in a process of its own, as logical devices are made before anything else runs."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict

from tests.analysis.cluster.mirrored_training import recorded


def main(asked: str) -> None:
    """Train, and print the links between devices step by step, or which steps were recorded from the first on."""
    import tensorflow as tf

    from tfprof_widget.analysis.cluster.summary import summary

    cpu, *_ = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    prof = recorded(strategy, first=asked == "first")
    if asked == "first":
        print(json.dumps(prof.profile.step_names), flush=True)
    else:
        found = [summary(prof.profile, [step]) for step in range(len(prof.profile.steps))]
        print(json.dumps([[asdict(link) for link in each.links] for each in found if each]), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
