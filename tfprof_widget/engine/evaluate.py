"""Runs the steps from a profile and options to the rows of a view, and keeps results for the next view."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from tfprof_widget.engine.account import Forest
from tfprof_widget.engine.code import code_forest, code_tree
from tfprof_widget.engine.display import Display
from tfprof_widget.engine.graph import graph_forest, graph_tree
from tfprof_widget.engine.layers import layers_tree, with_passes
from tfprof_widget.engine.matching import Names, compiled
from tfprof_widget.engine.measures import Measures, measures
from tfprof_widget.engine.op import op_forest, op_tree, op_view
from tfprof_widget.engine.scope import scope_forest, scope_tree
from tfprof_widget.engine.steps import chosen_steps
from tfprof_widget.engine.sums import Sums
from tfprof_widget.engine.tree import Tree
from tfprof_widget.engine.tree_view import tree_view
from tfprof_widget.engine.view import ViewData
from tfprof_widget.lib.arrays import ABSENT, Flags
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.profiles.data import EAGER, ProfileData
from tfprof_widget.profiles.options import EVERYTHING, OPTIONS, Options, check_view


def evaluate(profile: ProfileData, view: str, options: Options) -> ViewData:
    """The rows of a view under the options.

    >>> from tfprof_widget.demo import demo_profile
    >>> evaluate(demo_profile(), "scope", Options.of(show_name_regexes=["layer1/.*"], max_depth=3)).names
    ('_TFProfRoot', 'layer1/BiasAdd', 'layer1/MatMul', 'layer1/Relu', 'layer1/b', 'layer1/w')
    """
    check_view(view)
    stacks = _stacks(profile, view, options)
    accounting = (view, stacks, options.timing, options.account_type_regexes)
    forest = profile.cache.recent(("forest", *accounting), lambda: _forest(profile, view, stacks, options))
    sums = profile.cache.recent(
        ("sums", *accounting, options.step, options.run_name_regexes, options.worker_regexes, options.across_workers),
        lambda: Sums(forest, _measured(profile, view, options)),
    )
    names = profile.cache.recent(("names", *accounting), lambda: Names(forest.tree.names))
    display = Display(
        names=names,
        sums=sums,
        devices=_device_matches(profile, forest.tree, options),
        own_thresholds=view in ("scope", "graph"),
        cuts_itself=view == "code",
    )
    if view == "op":
        return op_view(profile, options, display)
    return tree_view(profile, view, options, display)


def _measured(profile: ProfileData, view: str, options: Options) -> Measures:
    found = measures(profile, options)
    return with_passes(profile, found) if view == "layers" else found


def _stacks(profile: ProfileData, view: str, options: Options) -> int:
    """The group of the chosen steps if the code view may be another one in them, else ABSENT."""
    others = profile.other_stacks
    return others.group_of(chosen_steps(profile, options)) if view == "code" and len(others) else ABSENT


def _forest(profile: ProfileData, view: str, stacks: int, options: Options) -> Forest:
    return _FORESTS[view](profile, view_tree(profile, view, stacks), options)


def view_tree(profile: ProfileData, view: str, stacks: int = ABSENT) -> Tree:
    """The tree of a view, which is grown once for each profile; that of the code view for each group of steps too."""
    grown = _TREES[view] if view != "code" else partial(_code_tree, stacks=stacks)
    return profile.cache.kept(("tree", view, stacks), lambda: grown(profile))


def check_options(profile: ProfileData, options: Options) -> None:
    """Raise an error if the options do not fit the profile, whatever view they are for.

    >>> from tfprof_widget.demo import demo_profile
    >>> check_options(demo_profile(), Options.of(step=3))
    Traceback (most recent call last):
        ...
    ValueError: step 3 is not in the profile; its steps are 0
    """
    measures(profile, options)
    for option in OPTIONS:
        if option.kind == "regexes":
            for regex in getattr(options, option.name):
                compiled(option.name, regex)


NO_LINES = "no lines are known of ops that ran one by one; put them into a tf.function to see their lines"
NO_TRACES = "the profile has no code traces; give an op_log with traces, or the tf.Graph itself"


def _code_tree(profile: ProfileData, stacks: int = ABSENT) -> Tree:
    traces = profile.other_stacks.given_to(profile.traces, stacks)
    if not traces.are_known:
        one_by_one = EAGER in profile.step_names
        raise ProfileError(f"code view: {NO_LINES if one_by_one else NO_TRACES}")
    return code_tree(profile.nodes.names, traces)


_TREES: dict[str, Callable[[ProfileData], Tree]] = {
    "scope": lambda profile: scope_tree(profile.nodes.names),
    "graph": lambda profile: graph_tree(profile.nodes.names, profile.nodes.inputs),
    "code": _code_tree,
    "op": op_tree,
    "layers": layers_tree,
}
_FORESTS = {
    "scope": scope_forest,
    "graph": graph_forest,
    "code": code_forest,
    "op": op_forest,
    "layers": code_forest,
}


def _device_matches(profile: ProfileData, tree: Tree, options: Options) -> Flags | None:
    """Whether each place has a node on a matching device; None if every device matches."""
    if options.device_regexes == EVERYTHING:
        return None
    nodes = profile.nodes
    matching = Names((*nodes.devices, "")).matching("device_regexes", options.device_regexes)
    rows = matching[nodes.device[tree.rows]]
    found = np.zeros(len(tree), np.bool_)
    found[np.repeat(np.arange(len(tree)), np.diff(tree.row_start))[rows]] = True
    return found
