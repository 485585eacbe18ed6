"""Random profiles under random options: this package answers what native tfprof answers, to the byte."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
import re2
from google.protobuf.message import DecodeError
from tensorflow.core.framework.graph_pb2 import GraphDef
from tensorflow.core.profiler.tfprof_log_pb2 import OpLogProto, ProfileProto

import tfprof_widget as tfprof
from tests.oracle.native import VIEWS, NativeAnswer, NativeCrash, NativeRefusal, NativeTfprof, Request, Step
from tests.oracle.random_options import DEFAULTS, ROOT, options_proto, random_options
from tests.oracle.random_profiles import RandomProfile, random_profile
from tests.oracle.rows import rows
from tests.oracle.stdout import with_stdout
from tests.slow.share import share

pytestmark = pytest.mark.filterwarnings("ignore::tfprof_widget.ProfileWarning")

PROFILES = 240
PROFILES_TRIED, STEPS_TRIED = share(240, 40), share(60, 10)
STEP_IDS = ((0, 1, 2), (7,), (100, 3, 3), (5, 2, 9, 4))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("seed", range(PROFILES_TRIED))
def test_a_random_profile(native: NativeTfprof, tmp_path: Path, seed: int, view: str) -> None:
    profile = random_profile(seed)
    ((_, run_meta),) = profile.steps
    protos = profile.graph, run_meta, profile.op_log
    graph, run_metadata, op_log = (proto.SerializeToString() for proto in protos)
    rng = Random(f"{seed} {view}")
    file = str(tmp_path / "report")
    for output in ({"output": "stdout"}, {"output": f"file:outfile={file}"}, {"output": "none"}):
        older = {"dump_to_file": file} if rng.random() < 0.1 else {}
        options = random_options(rng, view, profile) | output | older
        answer = native.analyze(Request(view, options_proto(options)), graph, run_metadata, op_log)
        compare(answer, view, options, profile, partial(tfprof.profile, *protos, view))


@pytest.mark.parametrize("seed", range(PROFILES, PROFILES + STEPS_TRIED))
def test_random_steps(native: NativeTfprof, seed: int) -> None:
    rng = Random(seed)
    profile = random_profile(seed, rng.choice(STEP_IDS))
    profiler = tfprof.Profiler(profile.graph, profile.op_log)
    for step, run_meta in profile.steps:
        profiler.add_step(step, run_meta)
    methods = {
        "scope": profiler.profile_name_scope,
        "graph": profiler.profile_graph,
        "op": profiler.profile_operations,
        "code": profiler.profile_python,
    }
    graph, op_log = profile.graph.SerializeToString(), profile.op_log.SerializeToString()
    steps = [Step(step, run_meta.SerializeToString()) for step, run_meta in profile.steps]
    for view, method in methods.items():
        options = random_options(rng, view, profile)
        answer = native.profile_steps(Request(view, options_proto(options)), graph, op_log, steps)
        compare(answer, view, options, profile, method)
    compare_serialized(native.serialize_steps(graph, op_log, steps), profiler, profile)


GRADIENT_STACK = [{"name": "gradients/a_grad/b", "code_def": {"traces": [{}]}}]
STACK = [{"name": "a", "code_def": {"traces": [{}]}}]
FATAL: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "no forward node has a call stack": (GRADIENT_STACK, {}),
    "all call stacks are empty": ([{"name": "a", "code_def": {}}], {}),
    "the root is too deep to be shown": (STACK, {"max_depth": 0}),
    "the root is trimmed": (STACK, {"trim_name_regexes": ["_TF.*"]}),
}


@pytest.mark.parametrize("name", FATAL)
def test_a_code_view_that_native_dies_of(native: NativeTfprof, name: str) -> None:
    log_entries, changed = FATAL[name]
    graph = GraphDef(node=[{"name": "a"}, {"name": "gradients/a_grad/b"}])
    op_log = OpLogProto(log_entries=log_entries, id_to_string={0: "none"})
    profile, options = RandomProfile(graph, (), op_log), DEFAULTS | changed
    assert why_native_dies("code", options, profile)
    request = Request("code", options_proto(options))
    answer = native.analyze(request, graph.SerializeToString(), b"", op_log.SerializeToString())
    assert answer == NativeCrash("SIGSEGV")
    compare(answer, "code", options, profile, partial(tfprof.profile, graph, None, op_log, "code"))


def test_a_function_name_that_native_cuts_inside_a_character(native: NativeTfprof) -> None:
    graph = GraphDef(node=[{"name": "a"}])
    frame = {"file_id": 1, "lineno": 7, "function_id": 2}
    op_log = OpLogProto(log_entries=[{"name": "a", "code_def": {"traces": [frame]}}])
    op_log.id_to_string.update({1: "model.py", 2: "sixteen_letters_éclair"})
    request = Request("code", options_proto(DEFAULTS))
    answer = native.analyze(request, graph.SerializeToString(), b"", op_log.SerializeToString())
    assert isinstance(answer, NativeAnswer)
    assert b"model.py:7:sixteen_letters_\xc3..." in answer.stdout
    with pytest.raises(DecodeError):
        VIEWS["code"].FromString(answer.proto)
    ours, printed = with_stdout(partial(tfprof.profile, graph, None, op_log, "code", DEFAULTS))
    assert ours.children[0].name == "model.py:7:sixteen_letters_..."
    assert printed == answer.stdout.replace(b"\xc3...", b"...")


def compare(
    answer: object,
    view: str,
    options: dict[str, Any],
    profile: RandomProfile,
    ask_us: Callable[[dict[str, Any]], Any],
) -> None:
    """Our proto, field by field, and our printed or written bytes are native's; we answer where it dies."""
    outfile = options.get("dump_to_file") or options["output"].partition("=")[2]
    taken(outfile)  # native's
    ours, printed = with_stdout(partial(ask_us, options))
    our_rows = rows(ours.SerializeToString(), VIEWS[view])
    cause = why_native_dies(view, options, profile)
    if cause:
        assert isinstance(answer, NativeCrash), cause
        assert our_rows[0].fields["name"] == ROOT
        return
    assert isinstance(answer, NativeAnswer), options
    assert our_rows == rows(answer.proto, VIEWS[view]), options
    assert printed.decode() == answer.stdout.decode(), options
    assert taken(outfile) == answer.file, options


def taken(outfile: str) -> bytes | None:
    """What the file held, which is gone then; None if there was none, or none was asked for."""
    if not outfile or not Path(outfile).exists():
        return None
    content = Path(outfile).read_bytes()
    Path(outfile).unlink()
    return content


def compare_serialized(answer: object, profiler: Any, profile: RandomProfile) -> None:
    ours = ProfileProto.FromString(profiler.serialize_to_string())
    sources = {name.split(":")[0].removeprefix("^") for node in profile.graph.node for name in node.input}
    if sources <= {node.name for node in profile.graph.node}:
        assert isinstance(answer, NativeAnswer)
        assert ours == ProfileProto.FromString(answer.proto)
    else:
        assert answer == NativeRefusal("IndexError: map::at")  # native looks up every input's node
        assert {node.name for node in profile.graph.node} <= {node.name for node in ours.nodes.values()}


def why_native_dies(view: str, options: dict[str, Any], profile: RandomProfile) -> str | None:
    """What native dies of here, always in the code view: a tree without its root."""
    stacks: dict[str, Any] = {}
    for entry in profile.op_log.log_entries:
        if entry.HasField("code_def") and entry.name in _known_names(profile):
            stacks.setdefault(entry.name, entry.code_def.traces)
    if view != "code" or not stacks:
        return None
    if not any(frames and not _is_gradient(name) for name, frames in stacks.items()):
        return "no forward node has a call stack, so there is no root"
    if options["max_depth"] < 1:
        return "the root, at depth 1, is too deep to be shown"
    if any(re2.fullmatch(regex, ROOT) for regex in options["trim_name_regexes"]):
        return "the root is trimmed"
    return None


def _known_names(profile: RandomProfile) -> set[str]:
    devices = [device for _, run_meta in profile.steps for device in run_meta.step_stats.dev_stats]
    ran = {execution.node_name.split(":")[0] for device in devices for execution in device.node_stats}
    return ran | {node.name for node in profile.graph.node}


def _is_gradient(name: str) -> bool:
    prefix, suffix = name.find("gradients/"), name.find("_grad/")
    return min(prefix, suffix) >= 0 and suffix != prefix + len("gradients/")
