"""The Profile: what it is made from, in every form, and the views that it makes."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from tensorflow.core.framework import graph_pb2
from tensorflow.core.profiler import tfprof_log_pb2
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.framework.graph_util_impl import extract_sub_graph

import tfprof_widget as tfprof
from tests.sketches import drawing, drawn, profile_of, protos_of
from tfprof_widget.api.profile import Profile
from tfprof_widget.lib.errors import ProfileError, ProfileWarning
from tfprof_widget.profiles.options import VIEWS

MODEL = """
    a = Add(b) 5us;7us 4flops +mine | main.py:1:main
    b = Const() 1us;1us 2x3         | main.py:2:main
"""
GRAPH, RUN_METAS, OP_LOG = protos_of(MODEL)


def of_tensorflow(kind: Any, message: Any) -> Any:
    return kind.FromString(message.SerializeToString())


THEIRS = (
    of_tensorflow(graph_pb2.GraphDef, GRAPH),
    [of_tensorflow(config_pb2.RunMetadata, run_meta) for run_meta in RUN_METAS],
    of_tensorflow(tfprof_log_pb2.OpLogProto, OP_LOG),
)
BYTES = (GRAPH.SerializeToString(), [each.SerializeToString() for each in RUN_METAS], OP_LOG.SerializeToString())


@pytest.mark.parametrize("protos", [(GRAPH, RUN_METAS, OP_LOG), THEIRS, BYTES], ids=["ours", "theirs", "bytes"])
def test_messages_of_both_kinds_and_bytes_make_the_same_profile(protos: tuple[Any, Any, Any]) -> None:
    profile = Profile.from_protos(*protos)
    assert repr(profile) == "Profile(2 nodes, 4 executions, 2 steps)"
    for view in VIEWS:
        assert profile.view(view).proto() == profile_of(MODEL).view(view).proto()


@pytest.mark.parametrize(
    ("run_metas", "steps", "micros"),
    [
        (None, (), 0),
        ((), (), 0),
        (RUN_METAS[0], (0,), 6),
        (RUN_METAS, (0, 1), 7),
        (tuple(RUN_METAS), (0, 1), 7),
        ({7: RUN_METAS[0], 3: RUN_METAS[1]}, (3, 7), 7),
        ({7: RUN_METAS}, (7,), 14),  # two runs of one step
        ({}, (), 0),
    ],
)
def test_runs_come_alone_in_a_list_or_by_step(run_metas: Any, steps: tuple[int, ...], micros: int) -> None:
    profile = Profile.from_protos(GRAPH, run_metas)
    assert profile.steps == steps
    assert profile.view("op").total["micros"][0] == micros * profile.view("op").time_scale


@pytest.mark.parametrize("step", [-1, 1.5, "first", None])
def test_a_step_is_a_whole_number_from_0_on(step: Any) -> None:
    with pytest.raises(ValueError, match=r"^step is .*, but must be "):
        Profile.from_protos(GRAPH, {step: RUN_METAS[0]})


def test_without_anything_there_is_nothing() -> None:
    profile = Profile.from_protos()
    assert repr(profile) == "Profile(0 nodes, 0 executions, 0 steps)"
    assert [len(profile.view(view)) for view in ("scope", "graph", "op")] == [1, 1, 0]


def test_one_of_a_thing_is_not_called_many() -> None:
    assert repr(Profile.from_protos(protos_of("a = Op() 1us").graph, protos_of("a = Op() 1us").run_metas)) == (
        "Profile(1 node, 1 execution, 1 step)"
    )


def test_the_first_node_of_a_name_counts() -> None:
    profile = profile_of("a = First()\na = Second()")
    assert profile.view("op").names == ("First",)


def test_what_ran_but_is_not_in_the_graph_becomes_a_node_with_its_name_for_an_op() -> None:
    graph, _, _ = protos_of("a = Op()\nb = Op()")
    _, (run_meta,), _ = protos_of("a:Op = Op() 1us\nb = Op() 1us\n_arg_x = Op() 5us\nRecvTensor = Op() 9us")
    profile = Profile.from_protos(graph, run_meta)
    assert drawn(profile.view("op", order_by="micros"), "micros") == drawing("""
        _arg_x 5/7
        Op 2/2
    """)


def test_an_op_log_says_nothing_of_nodes_that_are_not_there() -> None:
    _, _, op_log = protos_of("elsewhere = Op() +mine 8flops | main.py:1:main")
    profile = Profile.from_protos(GRAPH, op_log=op_log)
    assert "mine" not in profile.nodes.type_names
    assert not profile.has_traces


def test_a_run_of_another_graph_is_refused_and_one_that_is_mostly_of_another_warned_of() -> None:
    _, (run_meta,), _ = protos_of("x = Op() 1us\ny = Op() 1us")
    with pytest.raises(ProfileError, match=r"^run_meta: none of its 2 nodes is in the graph \(such as 'x'\); "):
        Profile.from_protos(GRAPH, run_meta)
    _, (run_meta,), _ = protos_of("a = Op() 1us\nx = Op() 1us\ny = Op() 1us")
    with pytest.warns(ProfileWarning, match=r"^run_meta: 2 of its 3 nodes are not in the graph \(such as 'x'\)"):
        Profile.from_protos(GRAPH, run_meta)


def test_a_run_of_which_only_the_runtimes_own_nodes_ran_is_of_the_graph() -> None:
    """Constants folded, feeds and fetches: the runtime names what it makes after the graph's nodes."""
    _, (run_meta,), _ = protos_of("a/_0__cf__0 = Op() 2us\n_retval_a_0_0 = Op() 1us\nConstantFolding/a/x = Op() 1us")
    assert Profile.from_protos(GRAPH, run_meta).view("op").grand_total["micros"][0] == 4000


def test_views_are_scope_by_default_and_exact() -> None:
    view = profile_of("a = Op() 532ns").view()
    assert (view.view, view.options.timing, view.options.max_depth) == ("scope", "exact", 100)
    assert drawn(view, "micros") == "_TFProfRoot 0/0.532\n  a 0.532/0.532"


def test_a_view_takes_the_options_of_a_builder_but_writes_no_file() -> None:
    options = tfprof.ProfileOptionBuilder().build()
    assert len(profile_of(MODEL).view("op", **options)) > 0
    with pytest.raises(ValueError, match=r"^output: Profile.view writes no file; write the view's \.text\(\)"):
        profile_of(MODEL).view("op", output="file:outfile=x")
    with pytest.raises(ValueError, match=r"^output 'papyrus': there is no 'papyrus'"):
        profile_of(MODEL).view("op", output="papyrus")


def test_a_view_is_computed_when_it_is_made_and_stays() -> None:
    profile = profile_of(MODEL)
    view = profile.view("op", order_by="micros")
    before = view.text(), view.proto().SerializeToString()
    profile.view("op", order_by="name", min_micros=6, timing="tfprof", step=1)
    assert (view.text(), view.proto().SerializeToString()) == before
    with pytest.raises(dataclasses.FrozenInstanceError):
        view.scale = 2  # type: ignore[misc]


def test_a_profile_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        profile_of(MODEL).steps = ()  # type: ignore[misc]


@pytest.mark.parametrize("view", VIEWS)
def test_the_members_of_a_row_are_its_graph_nodes(view: str) -> None:
    found = profile_of(MODEL).view(view)
    names = found.profile.nodes.names
    members = {found.names[row]: [names[node] for node in found.members_of(row)] for row in range(len(found))}
    members.pop("_TFProfRoot", None)
    assert sorted(filter(None, members.values())) == [["a"], ["b"]]


@pytest.mark.parametrize("message", ["AdviceProto", "GraphNodeProto", "MultiGraphNodeProto", "OpLogProto"])
def test_messages_of_native_tfprof_are_public(message: str) -> None:
    """With native's fields; `tests/lib/test_messages.py` compares them with TensorFlow's own."""
    made = getattr(tfprof, message)
    assert made.DESCRIPTOR.name == message
    assert made.FromString(made().SerializeToString()) == made()


def test_the_public_names_are_there() -> None:
    assert tfprof.Profile is Profile
    assert tfprof.ProfileError is ProfileError
    assert isinstance(profile_of(MODEL).view(), tfprof.View)
    assert set(tfprof.__all__) <= set(dir(tfprof))
    with pytest.raises(AttributeError, match="has no attribute 'profiel'"):
        _ = tfprof.profiel


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda profile: pickle.loads(pickle.dumps(profile))])
def test_a_profile_can_be_copied_without_what_was_computed(copied: Callable[[Profile], Profile]) -> None:
    profile = profile_of(MODEL)
    text = profile.view("scope").text()
    again = copied(profile)
    assert again.cache is not profile.cache
    assert again.view("scope").text() == text


TRAINING = """
    a = Const() 9us;9us 2x3             | main.py:1:main > net.py:7:layer
    b = Add(a, a) 5us;7us 4flops 64B    | main.py:1:main > net.py:8:layer
    c = Mul(b, ^gate) 2us;- +mine       | main.py:2:main
    cost = Mean(c) 3us+4us;1us @/gpu:0  | main.py:3:main
    accuracy = Equal(b) 6us             | main.py:4:main
    gate = NoOp() 1us
    gradients/c_grad/Mul = Mul(cost) 40us | main.py:5:main
    train = ApplyGradientDescent(a, gradients/c_grad/Mul) 8us
"""


def test_a_training_graph_does_not_show_what_its_cost_depends_on_below_the_cost() -> None:
    """As natively: `accuracy` comes first in byte order, and reaches `b` and `a` before `cost` does."""
    whole = profile_of(TRAINING).view("graph", start_name_regexes=["cost"], min_micros=5)
    assert drawn(whole, "micros") == drawing("""
        _TFProfRoot 0/47.5
          cost 4/5.5
    """)
    cone = profile_of(TRAINING).cone("cost").view("graph", start_name_regexes=["cost"], min_micros=5)
    assert drawn(cone, "micros") == drawing("""
        _TFProfRoot 0/20.5
          cost 4/20.5
            c 1/16.5
              b 6/15
                a 9/9
    """)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("options", [{}, {"step": 1, "order_by": "micros"}, {"timing": "tfprof"}])
def test_a_cone_is_the_profile_of_tensorflows_sub_graph(view: str, options: dict[str, Any]) -> None:
    graph, run_metas, op_log = protos_of(TRAINING)
    part = extract_sub_graph(of_tensorflow(graph_pb2.GraphDef, graph), ["cost"])
    names = {node.name for node in part.node}
    assert names == {"a", "b", "c", "cost", "gate"}
    for run_meta in run_metas:
        for device in run_meta.step_stats.dev_stats:
            kept = [stats for stats in device.node_stats if stats.node_name in names]
            del device.node_stats[:]
            device.node_stats.extend(kept)
    entries = [entry for entry in op_log.log_entries if entry.name in names]
    del op_log.log_entries[:]
    op_log.log_entries.extend(entries)
    columns = ["bytes", "micros", "params", "float_ops", "device", "op_types", "occurrence", "input_shapes"]
    wanted = Profile.from_protos(part, run_metas, op_log).view(view, select=columns, **options)
    cone = profile_of(TRAINING).cone("cost")
    assert cone.view(view, select=columns, **options).text() == wanted.text()
    assert cone.view(view, **options).proto() == wanted.proto()
    assert len(cone.executions) == len(wanted.profile.executions)


def test_a_cone_of_several_nodes_is_all_that_any_of_them_depends_on() -> None:
    assert profile_of(TRAINING).cone("accuracy", "gat.").nodes.names == ("a", "accuracy", "b", "gate")


def test_a_cone_of_nothing_names_what_was_asked_for() -> None:
    with pytest.raises(ProfileError, match="cone: no node's whole name matches 'cos'"):
        profile_of(TRAINING).cone("cos")
