"""Bad input of every kind: a ProfileError or a ValueError that names the input, the reason and the way out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import tfprof_widget as tfprof
from tests.sketches import CPU, Protos, profile_of, protos_of
from tfprof_widget.api.profile import Profile
from tfprof_widget.cli.arguments import read_line, read_words
from tfprof_widget.cli.commands import named
from tfprof_widget.lib.errors import ProfileError, ProfileWarning
from tfprof_widget.lib.messages import GraphDef, OpLogProto, RunMetadata
from tfprof_widget.profiles.options import VIEWS, Options

SKETCH = """
    train/w    = VariableV2() 2us 16x4 64B +mine        | train.py:1:main > model.py:2:layer
    train/loss = MatMul(train/w, ^train/w) 9us 7flops   | train.py:1:main > model.py:3:layer
    gradients/train/loss_grad/mul = Mul(train/loss) 5us | train.py:9:main
"""
PROTOS = protos_of(SKETCH)
GRAPH, RUN_META, OP_LOG = (PROTOS.graph, PROTOS.run_metas[0], PROTOS.op_log)
SERIALIZED = tuple(each.SerializeToString() for each in (GRAPH, RUN_META, OP_LOG))
INPUTS = ("graph", "run_meta", "op_log")
SLOW_IS_FINE = settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])

pytestmark = pytest.mark.filterwarnings("ignore::tfprof_widget.ProfileWarning")


def use(graph: Any, run_meta: Any, op_log: Any) -> None:
    """Everything that can be done with a profile."""
    profile = Profile.from_protos(graph, run_meta, op_log)
    for view in VIEWS:
        if view == "code" and not profile.has_traces:
            continue
        for timing in ("exact", "tfprof"):
            found = profile.view(view, timing=timing, select=["micros", "bytes", "device", "input_shapes", "params"])
            found.text()
            found.proto()
            found.to_dataframe()
            found._repr_mimebundle_()


def complaint(graph: Any, run_meta: Any, op_log: Any) -> str | None:
    """The reason and the way out that a plain ProfileError or ValueError tells, None if all is well."""
    caught: Exception
    try:
        use(graph, run_meta, op_log)
    except (ProfileError, ValueError) as error:
        caught = error
    else:
        return None
    assert type(caught) in (ProfileError, ValueError), repr(caught)
    assert "; " in str(caught), repr(caught)
    return str(caught)


def with_input(which: int, value: Any) -> tuple[Any, Any, Any]:
    given: list[Any] = list(SERIALIZED)
    given[which] = value
    return given[0], given[1], given[2]


@pytest.mark.parametrize("which", range(3), ids=INPUTS)
def test_truncated_bytes(which: int) -> None:
    whole = SERIALIZED[which]
    told = {size: complaint(*with_input(which, whole[:size])) for size in range(1, len(whole))}
    refused = {size: text for size, text in told.items() if text}
    # A cut between two nodes of a graph or two entries of an op log leaves what is a whole message again.
    assert len(refused) > 0.9 * len(told)
    damaged = [text for text in refused.values() if "bytes are no " in text]
    assert damaged
    for text in damaged:
        assert text.startswith(f"{INPUTS[which]}: these ")
        assert "check that they are whole" in text


@pytest.mark.parametrize("which", range(3), ids=INPUTS)
@SLOW_IS_FINE
@given(data=st.binary(min_size=1, max_size=60))
@example(data=b"\x0a\x00")
@example(data=b"\xff" * 20)
@example(data=b"not a message")
@example(data=b"{}")
def test_random_bytes(which: int, data: bytes) -> None:
    told = complaint(*with_input(which, data))
    assert told is None or told.startswith(INPUTS)


@pytest.mark.parametrize("which", range(3), ids=INPUTS)
@SLOW_IS_FINE
@given(data=st.data())
def test_a_few_damaged_bytes(which: int, data: st.DataObject) -> None:
    damaged = bytearray(SERIALIZED[which])
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    complaint(*with_input(which, bytes(damaged)))


@pytest.mark.parametrize("which", range(3), ids=INPUTS)
@pytest.mark.parametrize(
    "value",
    [5, 1.5, object(), "missing.pb", Path("missing.pb"), GraphDef, type(None)],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_message_at_all(which: int, value: Any) -> None:
    told = complaint(*with_input(which, value))
    assert told is not None
    assert told.startswith(f"{INPUTS[which]}: got ")
    assert f"give a message {('GraphDef', 'RunMetadata', 'OpLogProto')[which]} of TensorFlow or tfprof_widget" in told


@pytest.mark.parametrize("value", [[5], {0: "run_meta"}, [None], {0: [OP_LOG]}, [GRAPH]])
def test_what_is_no_run_metadata_among_many(value: Any) -> None:
    told = complaint(GRAPH, value, OP_LOG)
    assert told is not None
    assert told.startswith("run_meta: got ")


@pytest.mark.parametrize(("which", "other"), [(0, RUN_META), (0, OP_LOG), (1, GRAPH), (2, GRAPH), (2, RUN_META)])
def test_a_message_of_another_kind(which: int, other: Any) -> None:
    told = complaint(*with_input(which, other))
    assert told is not None
    assert told.startswith(f"{INPUTS[which]}: got tfprof_widget.{type(other).__name__}; ")


def test_no_step_stats() -> None:
    told = complaint(GRAPH, RunMetadata(), OP_LOG)
    assert told is not None
    assert told.startswith("run_meta: it has no step stats; run the step with RunOptions(trace_level=")
    assert "functions and eager code have none: use `with tfprof_widget.capture()`" in told


@pytest.mark.parametrize(
    "sketch",
    [
        "a = Op(a) 1us",
        "a = Op(b) 1us\nb = Op(a) 1us",
        "a = Op(b) 1us\nb = Op(a) 1us\nc = Op(a) 1us",
        "a = Op(nowhere, ^nothing, nobody:7) 1us",
        "a = Op(b:99999999999999999999) 1us\nb = Op() 1us",
        "a = Op(b:-1, b:x, :, ^, ^:1) 1us\nb = Op() 1us",
    ],
)
def test_cycles_and_inputs_from_nowhere_are_no_obstacle(sketch: str) -> None:
    graph, (run_meta,), _ = protos_of(sketch)
    use(graph, run_meta, None)
    assert profile_of(sketch).view("op").total["runs"][0] == sketch.count("us")


EXTREMES = (-1, -(2**63), 2**63 - 1, 2**62, 0)


@pytest.mark.parametrize("value", EXTREMES)
@pytest.mark.parametrize(
    "field", ["all_start_micros", "op_end_rel_micros", "all_start_nanos", "op_end_rel_nanos", "scheduled_micros"]
)
def test_times_without_measure(field: str, value: int) -> None:
    run_meta = RunMetadata()
    run_meta.CopyFrom(RUN_META)
    for stats in run_meta.step_stats.dev_stats[0].node_stats:
        setattr(stats, field, value)
    told = complaint(GRAPH, run_meta, OP_LOG)
    if abs(value) > 2**61 and field == "op_end_rel_micros":
        assert told is not None
        assert "2**63 - 1" in told


@pytest.mark.parametrize("value", EXTREMES)
@pytest.mark.parametrize(
    "field", ["total_bytes", "peak_bytes", "live_bytes", "allocator_bytes_in_use", "temporary", "persistent", "output"]
)
def test_sizes_without_measure(field: str, value: int) -> None:
    run_meta = RunMetadata()
    run_meta.CopyFrom(RUN_META)
    for stats in run_meta.step_stats.dev_stats[0].node_stats:
        if field == "temporary":
            stats.memory_stats.temp_memory_size = value
        elif field == "persistent":
            stats.memory_stats.persistent_memory_size = value
        elif field == "output":
            stats.output.add().tensor_description.allocation_description.allocated_bytes = value
        else:
            stats.memory.add(**{field: value})
    told = complaint(GRAPH, run_meta, OP_LOG)
    counts = field != "allocator_bytes_in_use" and not (field == "output" and value < 0)
    if abs(value) > 2**61 and counts:
        assert told is not None
        assert "2**63 - 1" in told


@pytest.mark.parametrize("shape", [(-1, 3), (-(2**63), 3), (2**63 - 1, 1), (0, 3), (-1,)])
def test_shapes_without_measure(shape: tuple[int, ...]) -> None:
    graph = GraphDef(node=[{"name": "w", "op": "VariableV2"}])
    for size in shape:
        graph.node[0].attr["shape"].shape.dim.add(size=size)
        graph.node[0].attr["_output_shapes"].list.shape.add().dim.add(size=size)
    use(graph, None, None)


@pytest.mark.parametrize("float_ops", EXTREMES)
def test_float_ops_without_measure(float_ops: int) -> None:
    op_log = OpLogProto(log_entries=[{"name": "train/w", "float_ops": float_ops}])
    told = complaint(GRAPH, RUN_META, op_log)
    assert (told is not None) == (abs(float_ops) >= 2**63 - 1)


def test_a_trace_whose_strings_are_missing() -> None:
    op_log = OpLogProto()
    op_log.CopyFrom(OP_LOG)
    del op_log.id_to_string[1]
    told = complaint(GRAPH, RUN_META, op_log)
    assert told is not None
    assert told.startswith("op_log: the trace of 'train/w' names string 1, which id_to_string lacks; write the op log")


def test_a_run_of_another_graph() -> None:
    _, (run_meta,), _ = protos_of("elsewhere = Op() 1us")
    told = complaint(GRAPH, run_meta, OP_LOG)
    assert told is not None
    assert told.startswith("run_meta: none of its 1 nodes is in the graph (such as 'elsewhere'); it was recorded from")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"step": 7}, "step 7 is not in the profile; its steps are 0"),
        ({"step": -2}, "step is -2, but must be at least -1"),
        ({"min_micros": -1}, "min_micros is -1, but must be at least 0"),
        ({"max_depth": -5}, "max_depth is -5, but must be at least 0"),
        ({"min_bytes": float("nan")}, "min_bytes is nan, but must be a whole number"),
        ({"order_by": "time"}, "order_by has no 'time'; choose from name, depth, "),
        ({"select": ["time"]}, "select has no 'time'; choose from bytes, micros, "),
        ({"max_dept": 3}, "unknown option 'max_dept': did you mean 'max_depth'?"),
        ({"hide_name_regexes": ["a("]}, "hide_name_regexes: RE2 refuses 'a(': missing ): a("),
        ({"account_type_regexes": ["(?=a)"]}, "account_type_regexes: RE2 refuses '(?=a)': invalid perl operator: (?="),
        ({"output": "papyrus"}, "output 'papyrus': there is no 'papyrus'; choose from stdout, none, file:outfile=NAME"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
@pytest.mark.parametrize("view", VIEWS)
def test_options_that_cannot_be(
    view: str, options: dict[str, Any], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared below
        tfprof.profile(GRAPH, RUN_META, OP_LOG, cmd=view, options=options)
    assert str(caught.value).startswith(told)
    assert capsys.readouterr().out == ""


def test_an_unknown_view() -> None:
    with pytest.raises(ValueError, match=r"^view has no 'scopes'; choose from scope, graph, op, code, layers$"):
        tfprof.profile(GRAPH, RUN_META, cmd="scopes")


@pytest.mark.parametrize("bad", [{"order_by": "time"}, {"step": 7}, {"show_name_regexes": ["a("]}])
def test_no_file_is_left_of_what_was_refused(tmp_path: Path, bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"order_by|step|show_name_regexes"):
        tfprof.profile(GRAPH, RUN_META, options=bad | {"output": f"file:outfile={tmp_path / 'report'}"})
    assert list(tmp_path.iterdir()) == []


def test_a_profiler_survives_what_it_refuses() -> None:
    profiler = tfprof.Profiler(GRAPH, OP_LOG)
    profiler.add_step(0, RUN_META)
    before = profiler.serialize_to_string()
    for step, run_meta in ((1, b"\xff"), (1, RunMetadata()), (-1, RUN_META), (0, RUN_META), (1, GRAPH)):
        with pytest.raises((ProfileError, ValueError)):
            profiler.add_step(step, run_meta)
        with pytest.raises(ValueError, match="order_by"):
            profiler.profile_operations({"order_by": "time"})
    assert profiler.serialize_to_string() == before
    profiler.add_step(1, RUN_META)
    assert profiler.profile.steps == (0, 1)


def test_names_of_any_characters() -> None:
    names = [
        "",
        "/",
        "//",
        "a/",
        "/a",
        "a//b",
        "a\nb",
        "a\0b",
        "\u202e",
        "^a",
        "a b",
        "日本/語",
        "a" * 10_000,
        "a/" * 500,
    ]
    graph = GraphDef(node=[{"name": name, "op": name} for name in names])
    run_meta = RunMetadata()
    stats = run_meta.step_stats.dev_stats.add(device=CPU).node_stats
    for start, name in enumerate(names, 1):
        stats.add(node_name=name, all_start_micros=start, op_end_rel_micros=1)
    use(*Protos(graph, [run_meta], OpLogProto()))
    assert len(Profile.from_protos(graph).nodes) == len(names)


LONG: Any = "x/" * 2_500
ANY_NUMBER: Any = 3
MANY_STEPS = Profile.from_protos(GRAPH, dict.fromkeys(range(0, 4_000, 2), RUN_META), OP_LOG)


@pytest.mark.parametrize(
    ("ask", "way_out"),
    [
        (lambda: MANY_STEPS.view(step=9999), "its steps are 0, 2, 4, 6, 8, 10, 12, …, 3998"),
        (lambda: MANY_STEPS.view(run_name_regexes=[LONG]), "match no run; the runs are "),
        (lambda: MANY_STEPS.view(show_name_regexes=["(" + LONG]), "/': missing ): (x/x"),
        (lambda: MANY_STEPS.view(LONG), "choose from scope, graph, op, code"),
        (lambda: Options.of(**dict.fromkeys([LONG], 1)), "the options are max_depth, "),
        (lambda: MANY_STEPS.view(order_by=LONG), "choose from name, depth, bytes, "),
        (lambda: MANY_STEPS.view(select=[LONG]), "choose from bytes, micros, "),
        (lambda: MANY_STEPS.view(max_depth=LONG), "but must be a whole number"),
        (lambda: MANY_STEPS.view(show_name_regexes={LONG: 1}), "but must be a list of strings"),
        (lambda: MANY_STEPS.view(output=LONG), "choose from stdout, none, file:outfile=NAME"),
        (lambda: tfprof.load(LONG), "give a file, a directory, a pattern"),
        (lambda: tfprof.load([LONG] * 100), "give a file, a directory, a pattern"),
        (lambda: Profile.from_protos(LONG), "graph"),
        (lambda: Profile.from_protos(GRAPH, LONG), "run_meta"),
        (lambda: Profile.from_protos(GRAPH, {LONG: RUN_META}), "but must be a whole number"),
        (lambda: Profile.from_protos(GRAPH, RUN_META, checkpoint=LONG), "checkpoint"),
        (lambda: MANY_STEPS.save(LONG), "choose a directory that exists"),
        (lambda: MANY_STEPS.compare(measure=LONG), "choose from "),
        (lambda: tfprof.merge(dict.fromkeys([LONG, ANY_NUMBER], MANY_STEPS)), "give it a name in text"),
        (lambda: tfprof.merge([LONG]), "tfprof_widget.load reads files"),
        (lambda: tfprof.advise(GRAPH, options={LONG: {}}), "choose from AcceleratorUtilizationChecker, "),
        (lambda: tfprof.advise(GRAPH, options=LONG), "dict from the names of checkers"),
        (lambda: tfprof.capture(steps=LONG), "give range(10, 20), or (10, 20)"),
        (lambda: tfprof.capture(LONG), "write `with capture() as prof:`"),
        (lambda: tfprof.ProfileContext("logs", trace_steps=[LONG]), "but must be a whole number"),
        (lambda: read_words([LONG.replace("/", "")]).command and named(LONG, at_prompt=False), "The commands are "),
        (lambda: read_words(["scope", "--" + LONG.replace("/", "")]), "`help` lists them"),
        (lambda: read_words(["scope", "--max_depth", LONG]), "but must be a whole number"),
        (lambda: read_line("op -select " + LONG), "choose from bytes, micros, "),
        (lambda: read_line('op -select "' + LONG), "close the quote, or leave it out"),
    ],
)
def test_a_message_is_short_and_tells_the_way_out_however_long_what_is_given(
    ask: Callable[[], object], way_out: str
) -> None:
    with pytest.raises((ProfileError, ValueError)) as caught:
        ask()
    assert type(caught.value) in (ProfileError, ValueError)
    assert way_out in str(caught.value)
    assert len(str(caught.value)) <= 400


def test_a_warning_is_short_however_long_a_name_in_it() -> None:
    with pytest.warns(ProfileWarning, match="^unknown option 'x/x/.*….*/x/' is ignored$") as told:
        tfprof.profile(GRAPH, RUN_META, options={LONG: 1, "output": "none"})
    assert [len(str(each.message)) for each in told] == [400]


def test_a_file_that_is_lacking_is_named_where_a_program_of_tensorflow_1_shows_nothing() -> None:
    """Its default options ask for trained variables, which a GraphDef does not tell."""
    with pytest.warns(ProfileWarning, match=r"^no node has the type _trainable_variables; give an op log ") as told:
        tfprof.profile(GRAPH, RunMetadata())
    assert len(told) == 1
