"""Does with a profile what can be done with one, for what is wrong with it to come out."""

from __future__ import annotations

from tfprof_widget.api.profile import Profile
from tfprof_widget.output.saved import profile_proto
from tfprof_widget.profiles.options import VIEWS
from tfprof_widget.widget.wire import encoded

COLUMNS = ("micros", "bytes", "params", "float_ops", "occurrence", "device", "op_types", "input_shapes")


def use(profile: Profile) -> None:
    """Show a profile in every view, save it, and write it for the browser."""
    for view in VIEWS:
        if view != "code" or profile.has_traces:
            profile.view(view, select=COLUMNS, timing="tfprof" if view == "op" else "exact").text()
    encoded(profile)
    profile_proto(profile)
    profile.with_flops()
    profile.flops_coverage()
