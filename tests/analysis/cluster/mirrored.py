"""A MirroredStrategy of two CPUs in a process of its own, as logical devices are made before anything else runs."""

from __future__ import annotations

import json
import os
from dataclasses import asdict

from tests.analysis.cluster.mirrored_training import recorded


def main() -> None:
    """Train, and print which steps were recorded, and the links between devices in each."""
    import tensorflow as tf

    from tfprof_widget.analysis.cluster.summary import summary

    cpu, *_ = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    profile = recorded(strategy, first=True).profile
    found = [summary(profile, [step]) for step in range(len(profile.steps))]
    links = [asdict(link) for each in found if each for link in each.links]
    print(json.dumps({"steps": profile.step_names, "links": links}), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
