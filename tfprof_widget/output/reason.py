"""Why a view shows nothing, and what to do about it."""

from __future__ import annotations

from tfprof_widget.engine.view import View
from tfprof_widget.options import OPTIONS

# What is not a filter: it takes no row away.
_KEEPS_ALL_ROWS = ("step", "order_by", "account_displayed_op_only", "select", "output", "timing")


def why_empty(view: View) -> str | None:
    """The reason why there are no rows (but the root's), and a way out; None if there are.

    >>> from tfprof_widget.demo import demo_profile
    >>> why_empty(demo_profile().view("op", show_name_regexes=["Conv"]))
    "Nothing to show: no node passes show_name_regexes=['Conv']. Loosen one of these."
    """
    if len(view) > (0 if view.view == "op" else 1):
        return None
    if not len(view.profile.nodes):
        return "Nothing to show: the profile has no nodes. Give a graph, as in Profile.from_protos(graph, run_metas)."
    filters = [
        f"{option.name}={list(value) if isinstance(value, tuple) else value!r}"
        for option in OPTIONS
        if option.name not in _KEEPS_ALL_ROWS and (value := getattr(view.options, option.name)) != option.default
    ]
    if not filters:
        return "Nothing to show: none of the nodes is part of this view. Try another, as 'scope' or 'op'."
    return f"Nothing to show: no node passes {', '.join(filters)}. Loosen one of these."
