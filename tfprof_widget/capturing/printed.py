"""Says what of a view a capture prints: no frames of libraries, and no columns of accelerators that are not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfprof_widget.capturing.own_frames import own_frames
from tfprof_widget.engine.view import View
from tfprof_widget.profiles import Profile


def narrowed(view: View, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The options by which the text of a view says less than the view, where nothing else was asked for.

    >>> from tfprof_widget.demo import demo_profile
    >>> narrowed(demo_profile().view("op"), {})
    {'select': ('cpu_micros',)}
    >>> narrowed(demo_profile().view("op"), {"select": ("micros",)})
    {}
    """
    options: dict[str, Any] = {}
    if "select" not in asked and ran_on_cpus(view.profile):
        options["select"] = ("cpu_micros",)
    if view.view == "code" and not {"show_name_regexes", "start_name_regexes"} & asked.keys():
        frames = own_frames(view.profile.traces)
        options |= {"show_name_regexes": frames} if frames else {}
    return options


def ran_on_cpus(profile: Profile) -> bool:
    """Whether no device is known but CPUs.

    >>> ran_on_cpus(Profile.from_protos(b""))
    True
    """
    return all("cpu:" in device for device in profile.nodes.devices)
