"""Large and vicious inputs by their size; as a program, reads one and tells what that took, under limits of its own."""

from __future__ import annotations

import gzip
import json
import resource
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from tests.made import tables_of_traces
from tests.slow.fuzz.using import use
from tfprof_widget.api.profile import Profile
from tfprof_widget.cli.arguments import read_line
from tfprof_widget.engine.matching import Names
from tfprof_widget.ingest.files.recognise import recognise
from tfprof_widget.ingest.gathered import Gathered
from tfprof_widget.ingest.join import join_runs
from tfprof_widget.ingest.run_metadata import RunDetails, read_run
from tfprof_widget.ingest.xspace.reader import read_xspace
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.messages import GraphDef, OpLogProto, ProfileProto, RunMetadata, SealedRun, XSpace
from tfprof_widget.widget.wire import encoded

MOST_ADDRESSES = 4 * 2**30
MOST_CPU_SECONDS = 120
LAST = 500  # of the characters that are told
EVIL = ("(a+)+", "(a|a)*", "(a|aa)+", "(a*)*b", "(.*a){12}", "([a-z]+)*x", "(a?){40}a{40}", "(?:.*.*)*=", "a.*.*.*.*b")

Read = Callable[[], object]
"""What reads the input, which is made before."""


def gzip_bomb(size: int) -> Read:
    """Some kilobytes that become as many times 16 MB."""
    return partial(recognise, gzip.compress(bytes(2**24)) * size, "bomb")


def deep_scope(size: int) -> Read:
    """A node that many levels deep."""
    return partial(_shown, GraphDef(node=[{"name": "a/" * size + "a", "op": "Add"}]))


def many_inputs(size: int) -> Read:
    """A node with that many inputs, all of one node."""
    graph = GraphDef(node=[{"name": "b"}, {"name": "a", "op": "AddN", "input": ["b:1", "^b"] * (size // 2)}])
    return lambda: encoded(Profile.from_protos(graph).view("graph").profile)


def many_nodes(size: int) -> Read:
    """A chain of that many nodes, each on a device of its own and with a type of its own."""
    graph, run = GraphDef(), RunMetadata()
    for number in range(size):
        graph.node.add(name=f"n{number}", op=f"Op{number}", input=[f"n{number + 1}"])
        stats = run.step_stats.dev_stats.add(device=f"/device:cpu:{number}").node_stats
        stats.add(node_name=f"n{number}", all_start_micros=1, op_end_rel_micros=1)
    return lambda: Profile.from_protos(graph, run).view("op", select=["micros", "device"]).text()


def many_steps(size: int) -> Read:
    """A node that ran in that many steps."""
    recorded = SealedRun()
    recorded.step_stats.dev_stats.add(device="/cpu:0").node_stats.add(node_name="a", all_start_micros=1)
    run = read_run(recorded, RunDetails()).table
    return lambda: join_runs([(step, run) for step in range(size)], {"a": 0})


def long_name(size: int) -> Read:
    """A node and an op with names of that many characters, whose run is of another graph."""
    graph = GraphDef(node=[{"name": "a" * size, "op": "b" * size}])
    run = RunMetadata()
    run.step_stats.dev_stats.add(device="c" * size).node_stats.add(node_name="d" * size)

    def read() -> None:
        _shown(graph)
        Profile.from_protos(graph, run)

    return read


def long_label(size: int) -> Read:
    """An execution whose label goes on and on."""
    run = RunMetadata()
    stats = run.step_stats.dev_stats.add(device="/cpu:0").node_stats
    for number, label in enumerate((" = a(", " = a", " =", "(", "a, ")):
        stats.add(node_name=f"n{number}", timeline_label=f"n{number} = _M(" + label * size, all_start_micros=1)
    return lambda: use(Profile.from_protos(None, run))


def long_trace_names(size: int) -> Read:
    """Events and warnings of an XSpace with names of that many characters."""
    space = XSpace(warnings=["1" * size, "dropped " * size, "1 " * size])
    plane = space.planes.add(name="/host:CPU")
    pieces = ("_", "_1", "Zip[1]", "1", "[", "(2,", "__inference____")
    for number, piece in enumerate(pieces, 1):
        plane.event_metadata[2 * number].name = piece * size + ":MatMul"
        plane.event_metadata[2 * number + 1].name = "Iterator::" + piece * size
        plane.event_metadata[100 + number].name = "EagerLocalExecute: " + "__inference____" + piece * size + "\n"
    for number in plane.event_metadata:
        plane.lines.add(name="worker").events.add(metadata_id=number, duration_ps=5000)
    return lambda: tables_of_traces(read_xspace(space))


def nested_text(size: int) -> Read:
    """Messages in messages that many levels deep, as text."""
    deep = "func { attr { key: 'a' value { "
    start = "node { attr { key: 'a' value { "
    return partial(recognise, (start + deep * size + "} } } " * (size + 1)).encode(), "text")


def nested_bytes(size: int) -> Read:
    """Messages in messages that many levels deep, cut off at the innermost, which saves their lengths."""
    return partial(Profile.from_protos, b"\x0a\xff\xff\xff\x7f\x2a\xff\xff\xff\x7f" * size)


def nested_groups(size: int) -> Read:
    """Groups of a field that is not known in groups, that many levels deep."""
    return partial(Profile.from_protos, b"\xfb\x01" * size + b"\xfc\x01" * size)


def quoted_bytes(size: int) -> Read:
    """What looks as Python writes bytes, and would be deep to evaluate."""
    return partial(recognise, b"b'" + b"'-b'" * size + b"'", "quoted")


def calls_of_calls(size: int) -> Read:
    """Functions each of which calls the next one twice."""
    graph = GraphDef(node=[{"name": "a", "op": "f0"}])
    for number in range(size):
        function = graph.library.function.add(signature={"name": f"f{number}"})
        for call in "ab":
            function.node_def.add(name=call, op=f"f{number + 1}")
    return partial(_shown, graph)


def far_ports(size: int) -> Read:
    """A saved profile of nodes, each with one input, of a number that takes a million places."""
    profile = ProfileProto()
    for number in range(size):
        profile.nodes[number].name = f"n{number}"
        profile.nodes[number].inputs[2**20 - 1] = 0
    return lambda: Gathered().add_profile(profile)


def far_outputs(size: int) -> Read:
    """Executions of nodes that each put out one tensor, the last one that a file can number."""
    graph, run = GraphDef(), RunMetadata()
    stats = run.step_stats.dev_stats.add(device="/cpu:0").node_stats
    for number in range(size):
        graph.node.add(name=f"n{number}", op="Relu")
        node = stats.add(node_name=f"n{number}", all_start_micros=1, op_end_rel_micros=1)
        tensor = node.output.add(slot=2**31 - 1).tensor_description
        tensor.shape.dim.add(size=1)
        tensor.allocation_description.requested_bytes = 4
    return lambda: use(Profile.from_protos(graph, run))


def deep_stack(size: int) -> Read:
    """A trace of that many frames."""
    traces = [{"file_id": 0, "function_id": 0, "lineno": line} for line in range(size)]
    op_log = OpLogProto(id_to_string={0: "a.py"}, log_entries=[{"name": "a", "code_def": {"traces": traces}}])
    return lambda: use(Profile.from_protos(GraphDef(node=[{"name": "a"}]), None, op_log))


def evil_regexes(size: int) -> Read:
    """Regexes that take exponential time elsewhere, on names of that many characters."""
    names = ["a" * size + "!", "a" * size + "!\n"]
    return lambda: [Names(given).matching("hide_name_regexes", EVIL) for given in (names, names[:1])]


def long_lines(size: int) -> Read:
    """Lines at the prompt, each with a piece that many times over."""
    pieces = ("{", "a[,", "(", "a,", "a ", "-step 1 ", "-step ", '"', "'a'", "\\Q", "9")
    lines = [f"{start} {piece * size}" for piece in pieces for start in ("op -show_name_regexes", "op -step", "op")]

    def read() -> None:
        for line in lines:
            with suppress(ValueError):
                read_line(line)

    return read


def _shown(graph: GraphDef) -> None:
    use(Profile.from_protos(graph))


INPUTS: dict[str, tuple[Callable[[int], Read], int]] = {
    "a gzip bomb": (gzip_bomb, 5),
    "100,000 levels of scopes": (deep_scope, 25_000),
    "a node with a million inputs": (many_inputs, 250_000),
    "nodes, devices and op types": (many_nodes, 5_000),
    "steps": (many_steps, 10_000),
    "names of 10 MB": (long_name, 2_500_000),
    "labels of 1 MB": (long_label, 50_000),
    "names in a trace": (long_trace_names, 12_500),
    "messages nested in text": (nested_text, 25_000),
    "messages nested in bytes": (nested_bytes, 125_000),
    "groups nested in bytes": (nested_groups, 125_000),
    "bytes as Python writes them": (quoted_bytes, 12_500),
    "functions that call functions": (calls_of_calls, 250),
    "inputs of far numbers": (far_ports, 125),
    "outputs of far numbers": (far_outputs, 500),
    "a deep stack": (deep_stack, 5_000),
    "regexes that take exponential time elsewhere": (evil_regexes, 125_000),
    "long lines at the prompt": (long_lines, 15_000),
}


def main() -> None:
    """Read the input named first, at its size and at four times that; print the seconds and megabytes that it took."""
    make, size = INPUTS[sys.argv[1]]
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_SECONDS, MOST_CPU_SECONDS))
    use(Profile.from_protos(GraphDef(node=[{"name": "a"}])))  # imports what there is to import
    print(json.dumps([_measured(make(each)) for each in (size, 4 * size)]))


def _measured(read: Read) -> dict[str, Any]:
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    told = ""
    try:
        read()
    except (ProfileError, ValueError) as error:
        told = f"{type(error).__name__}: {error}"
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {"seconds": time.process_time() - started, "megabytes": taken / 1024, "told": told[-LAST:]}


if __name__ == "__main__":
    main()
