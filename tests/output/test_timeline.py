"""Timelines as files: what is in them, under which names they are written, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tensorflow.python.profiler import model_analyzer

import tfprof_widget as tfprof
from tests.oracle.models import MODELS
from tests.output.trace_format import Event, read_trace
from tests.sketches import CPU, profile_of, protos_of
from tfprof_widget.api.profile import Profile
from tfprof_widget.lib.errors import ProfileError, ProfileWarning
from tfprof_widget.lib.messages import GraphDef, RunMetadata
from tfprof_widget.output import timeline_events
from tfprof_widget.output.destination import deliver, parse_output

GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
MODEL = """
    w    = VariableV2() 4us | train.py:2:main
    loss = MatMul(w)    9us | train.py:3:main > model.py:7:layer
    sum  = Add(loss)  300ns | train.py:3:main
"""


def trace_of(profile: Profile, view: str, directory: Path, **options: Any) -> list[Event]:
    """The events of the timeline that is written."""
    path = directory / "trace.json"
    assert profile.view(view, **options).write_timeline(str(path)) == [str(path)]
    return read_trace(path.read_bytes())


def told(events: list[Event], *keys: str) -> list[tuple[Any, ...]]:
    """The slices, in the order written."""
    return [tuple(event[key] for key in keys) for event in events if event["ph"] == "X"]


def counted(events: list[Event], name: str) -> list[tuple[int, float, int]]:
    """Process, time and bytes of a counter."""
    return [(each["pid"], each["ts"], each["args"]["bytes"]) for each in events if each["name"] == name]


def labels(events: list[Event], said: str) -> list[str]:
    return [str(*event["args"].values()) for event in events if event["name"] == said]


# What is in them


def test_a_graph_timeline_has_each_execution_to_the_nanosecond_in_lanes_without_overlap(tmp_path: Path) -> None:
    profile = profile_of("a = MatMul() 5us+300ns\nb = Add(a) 2us")  # they start a microsecond apart
    events = trace_of(profile, "graph", tmp_path)
    assert told(events, "name", "cat", "tid", "ts", "dur") == [
        ("a", "MatMul", 1, 0, 5),
        ("a", "MatMul", 2, 1, 0.3),
        ("b", "Add", 2, 2, 2),
    ]
    assert [event["args"] for event in events if event["ph"] == "X"][2] == {"op": "Add", "step": 0, "thread": 0}
    assert labels(events, "process_name") == ["CPU:0"]
    assert labels(events, "process_labels") == [CPU.lower()]
    assert labels(events, "thread_name") == ["lane 0", "lane 1"]


def test_by_natives_clock_less_than_a_microsecond_is_one(tmp_path: Path) -> None:
    events = trace_of(profile_of("a = MatMul() 5us+300ns\nb = Add(a) 2us"), "graph", tmp_path, timing="tfprof")
    assert told(events, "name", "tid", "ts", "dur") == [("a", 1, 0, 5), ("a", 2, 1, 1), ("b", 2, 2, 2)]


def test_executions_that_start_at_once_are_all_there_where_native_keeps_one(tmp_path: Path) -> None:
    run_meta = RunMetadata()
    stats = run_meta.step_stats.dev_stats.add(device=CPU).node_stats
    for name, duration in (("a", 2), ("b", 7)):
        stats.add(node_name=name, all_start_micros=50, op_end_rel_micros=duration)
    profile = Profile.from_protos(GraphDef(node=[{"name": "a"}, {"name": "b"}]), run_meta)
    events = trace_of(profile, "graph", tmp_path)
    assert sorted(told(events, "name", "tid", "ts", "dur")) == [("a", 2, 0, 2), ("b", 1, 0, 7)]


def test_steps_follow_one_another_with_a_gap(tmp_path: Path) -> None:
    profile = profile_of("a = Op() 50us;150us")  # a gap of 4 % of the mean length
    assert told(trace_of(profile, "graph", tmp_path), "ts", "dur") == [(0, 50), (54, 150)]
    assert told(trace_of(profile, "graph", tmp_path, step=1), "ts", "dur") == [(0, 150)]


def test_only_shown_nodes_have_slices(tmp_path: Path) -> None:
    profile = profile_of(MODEL)
    assert told(trace_of(profile, "graph", tmp_path, show_name_regexes=["[lw].*"]), "name") == [("w",), ("loss",)]
    assert told(trace_of(profile, "graph", tmp_path, account_type_regexes=["Add"]), "name") == [("sum",)]


def test_arrows_lead_from_the_execution_that_had_started_last_to_the_one_on_another_device(tmp_path: Path) -> None:
    # The CPU's start at 1 and 2, the GPU's at 3 and 4 microseconds; those on one device have no arrow.
    profile = profile_of(f"""
        a = Op()     500ns+5us
        b = Op(a)    1us
        c = Op(a, a) 2us+1us @{GPU}
    """)
    events = trace_of(profile, "graph", tmp_path)
    flows = [(each["ph"], each["id"], each["pid"], each["tid"], each["ts"]) for each in events if each["ph"] in "sf"]
    assert flows == [("s", 1, 1, 1, 3), ("f", 1, 2, 1, 3), ("s", 2, 1, 1, 4), ("f", 2, 2, 2, 4)]
    assert {each["name"] for each in events if each["ph"] in "sf"} == {"a_flow"}


def test_no_arrow_leads_back_in_time(tmp_path: Path) -> None:
    profile = profile_of(f"late = Op() 1us @{GPU}\nearly = Op() 1us\nc = Op(late) 1us")
    graph, (run_meta,), _ = protos_of(f"c = Op(late) 1us\nlate = Op() 1us @{GPU}")
    assert any(each["ph"] == "s" for each in trace_of(profile, "graph", tmp_path))
    backwards = Profile.from_protos(graph, run_meta)
    assert not any(each["ph"] == "s" for each in trace_of(backwards, "graph", tmp_path))


def memory_run() -> Profile:
    """On the CPU 100 bytes for a while, released after the step's end; on a GPU what its allocator reports."""
    run_meta = RunMetadata()
    cpu = run_meta.step_stats.dev_stats.add(device=CPU).node_stats
    a = cpu.add(node_name="a", all_start_micros=1000, op_end_rel_micros=10).memory.add(allocator_name="cpu")
    for micros, size in ((1002, 100), (1004, -30), (1009, 20), (1500, -70)):
        a.allocation_records.add(alloc_micros=micros, alloc_bytes=size)
    gpu = run_meta.step_stats.dev_stats.add(device=GPU).node_stats
    for start, in_use in ((1003, 640), (1001, 512), (1008, 0)):
        b = gpu.add(node_name="b", all_start_micros=start, op_end_rel_micros=2)
        b.memory.add(allocator_name="GPU_0_bfc", allocator_bytes_in_use=in_use)
    return Profile.from_protos(GraphDef(node=[{"name": "a"}, {"name": "b"}]), run_meta)


def test_every_device_has_its_memory_counted_the_cpu_too(tmp_path: Path) -> None:
    events = trace_of(memory_run(), "graph", tmp_path)
    assert counted(events, "memory held") == [
        *((1, 0, 0), (1, 2, 100), (1, 4, 70), (1, 9, 90)),
        (1, 10, 20),  # released after the last op, so at the step's end
    ]
    assert counted(events, "allocator bytes in use") == [(2, 3, 512), (2, 5, 640)]
    assert labels(events, "process_name") == ["CPU:0", "GPU:0"]


def test_what_is_released_without_having_been_allocated_was_held_before(tmp_path: Path) -> None:
    run_meta = RunMetadata()
    stats = run_meta.step_stats.dev_stats.add(device=CPU).node_stats.add(node_name="a", all_start_micros=5)
    stats.op_end_rel_micros = 9
    used = stats.memory.add(allocator_name="cpu")
    for micros, size in ((6, -64), (7, 16)):
        used.allocation_records.add(alloc_micros=micros, alloc_bytes=size)
    events = trace_of(Profile.from_protos(GraphDef(node=[{"name": "a"}]), run_meta), "graph", tmp_path)
    assert counted(events, "memory held") == [(1, 0, 64), (1, 1, 0), (1, 2, 16)]


def test_memory_is_that_of_the_device_whatever_is_shown(tmp_path: Path) -> None:
    shown = counted(trace_of(memory_run(), "graph", tmp_path), "memory held")
    with pytest.warns(ProfileWarning, match="^timeline: there is nothing in it: none of the shown nodes ran"):
        events = trace_of(memory_run(), "graph", tmp_path, min_micros=1000)
    assert counted(events, "memory held") == shown


@pytest.mark.parametrize("model", ["mnist", "rnn in frames", "parameter servers"])
@pytest.mark.parametrize("view", ["graph", "scope", "code"])
def test_real_runs_have_valid_timelines(tmp_path: Path, model: str, view: str) -> None:
    traced = MODELS[model]()
    profile = Profile.from_protos(traced.graph, traced.run_meta)
    events = trace_of(profile, view, tmp_path)
    if view == "graph":
        started = (profile.executions.start_micros > 0).sum()
        assert len(told(events, "name")) == started + len(profile.transfers)
        assert counted(events, "memory held")
        assert any(each["ph"] == "s" for each in events) == (model == "parameter servers")
    else:
        assert told(events, "name", "ts")[0] == ("_TFProfRoot", 0)


def test_a_scope_timeline_is_the_tree_with_totals_for_lengths(tmp_path: Path) -> None:
    profile = profile_of("a/x = Op() 5us\na/y = Op() 300ns\nb = Op() 2us\nc = Op()")
    events = trace_of(profile, "scope", tmp_path, order_by="micros")
    assert told(events, "name", "ts", "dur") == [
        *(("_TFProfRoot", 0, 7.3), ("a", 0, 5.3), ("a/x", 0, 5), ("a/y", 5, 0.3)),
        ("b", 5.3, 2),
    ]
    assert labels(events, "process_name") == ["scope view"]
    assert labels(events, "thread_name") == ["total time"]


def test_a_code_timeline_has_what_a_line_does_itself_behind_what_it_calls(tmp_path: Path) -> None:
    events = trace_of(profile_of(MODEL), "code", tmp_path)
    assert told(events, "name", "ts", "dur", "args") == [
        ("_TFProfRoot", 0, 13.3, {"own_micros": 0}),
        ("train.py:2:main", 0, 4, {"own_micros": 4}),
        ("train.py:3:main", 4, 9.3, {"own_micros": 0.3}),
        ("model.py:7:layer", 4, 9, {"own_micros": 9}),
    ]


def test_a_mean_over_steps_that_is_no_whole_nanosecond_stays_within_what_is_around_it(tmp_path: Path) -> None:
    # Each a third of a nanosecond more than a whole one; read_trace refuses slices that overlap.
    sketch = "\n".join(f"s/n{number:02} = Op() 1000ns;1000ns;1001ns" for number in range(20))
    events = trace_of(profile_of(sketch), "scope", tmp_path)
    assert labels(events, "thread_name") == ["total time, mean of 3 steps"]
    assert told(events, "name", "dur")[:2] == [("_TFProfRoot", 20.006), ("s", 20.006)]
    assert told(events, "dur")[2:5] == [(1,), (1,), (1.001,)]


def test_names_in_any_script_and_hostile_ones_are_kept(tmp_path: Path) -> None:
    name = 'é"\\\U0001d4b3</script>'
    profile = profile_of(f"{name} = Op() 1us")
    for view in ("graph", "scope"):
        assert told(trace_of(profile, view, tmp_path), "name")[-1] == (name,)


# Under which names they are written


@pytest.mark.parametrize(
    ("steps", "name", "step", "written"),
    [
        ("5us", "run.json", -1, ["run.json"]),
        ("5us", "run_{step}.json", -1, ["run_0.json"]),
        ("5us;7us;9us", "run.json", -1, ["run.json"]),
        ("5us;7us;9us", "run.json", 1, ["run.json"]),
        ("5us;7us;9us", "run_{step}.json", 1, ["run_1.json"]),
        ("5us;7us;9us", "run_{step}.json", -1, ["run_0.json", "run_1.json", "run_2.json"]),
    ],
)
@pytest.mark.parametrize("view", ["graph", "scope"])
def test_the_name_is_the_one_asked_for(
    tmp_path: Path, view: str, steps: str, name: str, step: int, written: list[str]
) -> None:
    profile_of(f"a = Op() {steps}").view(view, step=step).write_timeline(str(tmp_path / name))
    assert sorted(path.name for path in tmp_path.iterdir()) == written


def test_the_file_of_a_step_has_that_step(tmp_path: Path) -> None:
    for view in ("graph", "scope"):
        profile_of("a = Op() 5us;7us").view(view).write_timeline(str(tmp_path / "{step}.json"))
        for step, duration in ((0, 5), (1, 7)):
            events = read_trace((tmp_path / f"{step}.json").read_bytes())
            assert told(events, "name", "dur")[-1] == ("a", duration)


def test_the_older_api_writes_one_and_says_so_as_natively(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tl_20"
    graph, run_metas, op_log = protos_of("a/b = Op() 5us;7us")
    profiler = tfprof.Profiler(graph, op_log)
    for step, run_meta in zip((10, 20), run_metas, strict=True):
        profiler.add_step(step, run_meta)
    options = tfprof.ProfileOptionBuilder().with_step(20).with_timeline_output(f"{tmp_path}/tl").build()
    assert profiler.profile_name_scope(options).children[0].total_exec_micros == 7
    stars = "*" * 54
    assert capsys.readouterr().out == (
        f"\n{stars}\nTimeline file is written to {path}.\n"
        f"Open a Chrome browser, enter URL chrome://tracing and load the timeline file.\n{stars}\n"
    )
    assert told(read_trace(path.read_bytes()), "name", "dur")[-1] == ("a/b", 7)
    profiler.profile_graph(options | {"step": -1})
    assert capsys.readouterr().out.startswith("generating trace file.\n\n")
    for step in (10, 20):
        slices = read_trace((tmp_path / f"tl_{step}").read_bytes())
        assert told(slices, "args") == [({"op": "Op", "step": step, "thread": 0},)]
    profiler.profile_name_scope(options | {"step": -1})
    assert sorted(each.name for each in tmp_path.iterdir()) == ["tl_-1", "tl_10", "tl_20"]
    capsys.readouterr()
    profiler.profile_graph(options | {"step": -1, "output": f"timeline:outfile={tmp_path}/{{step}}.json"})
    assert (
        f"\n2 timeline files are written, from {tmp_path}/10.json to {tmp_path}/20.json.\n" in capsys.readouterr().out
    )


# What is refused, or warned of


def test_there_is_no_timeline_of_the_op_view(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    complaint = "^output timeline: the op view has no timeline output; choose the view graph, scope or code$"
    with pytest.warns(ProfileWarning, match="^nothing is written: " + complaint[1:]):
        tfprof.profile(protos_of("a = Op() 5us").graph, None, None, "op", {"output": f"timeline:outfile={path}"})
    with pytest.raises(ValueError, match=complaint):
        profile_of("a = Op() 5us").view("op").write_timeline(str(path))
    assert not path.exists()


def test_a_timeline_that_no_browser_opens_is_refused_with_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline_events, "LARGEST_TRACE", 2_000_000)
    path = tmp_path / "out.json"
    path.write_bytes(b"what was there")
    profile = profile_of("a = Op() " + "+".join(["5us"] * 20_000))
    with pytest.raises(
        ProfileError, match=r"^timeline: it would take more than 2 MB, .*; raise min_micros, choose one"
    ):
        profile.view("graph").write_timeline(str(path))
    assert {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()} == {"out.json": b"what was there"}


def test_a_timeline_of_nothing_says_why(tmp_path: Path) -> None:
    with pytest.warns(ProfileWarning, match="^timeline: there is nothing in it: no run was recorded; give a run_meta"):
        assert told(trace_of(profile_of("a = Op()"), "graph", tmp_path), "name") == []


def test_where_nothing_can_be_written_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=r"^cannot write '.*missing/out.json': No such file"):
        profile_of(MODEL).view("graph").write_timeline(str(tmp_path / "missing" / "out.json"))


@pytest.mark.parametrize("step", [-1, 20])
@pytest.mark.parametrize("view", ["scope", "graph", "code"])
def test_the_older_api_writes_to_natives_files(tmp_path: Path, view: str, step: int) -> None:
    """What reads native's timelines, as profiler-ui does, looks for these names."""
    traced = MODELS["mnist"]()
    names = {}
    for profiler_class in (model_analyzer.Profiler, tfprof.Profiler):
        profiler = profiler_class(traced.graph)
        for number in (10, 20):
            profiler.add_step(number, traced.run_meta)
        directory = tmp_path / profiler_class.__module__
        directory.mkdir()
        options = tfprof.ProfileOptionBuilder(tfprof.ProfileOptionBuilder.time_and_memory()).with_step(step)
        shows = {"scope": "profile_name_scope", "graph": "profile_graph", "code": "profile_python"}
        getattr(profiler, shows[view])(options.with_timeline_output(str(directory / "tl")).build())
        names[profiler_class] = sorted(each.name for each in directory.iterdir())
    assert names[tfprof.Profiler] == names[model_analyzer.Profiler] != []


# Clocks, streams and holders of memory

NANOS_OF_2023 = 1_700_000_000_000_000_000


def gpu_profile(*streams: str, others: tuple[int, ...] = ()) -> Profile:
    """Two kernels that a GPU's tracer recorded on these streams; in `others` the first takes so much longer."""
    run = RunMetadata()
    for number, stream in enumerate(("", *streams)):
        stats = run.step_stats.dev_stats.add(device=f"{GPU}{stream}").node_stats
        for start, name in enumerate(("a", "b")):
            at = NANOS_OF_2023 + 10_250 * start
            took = 5_000 + (1_000 if number in others and not start else 0)
            node = stats.add(node_name=name, all_start_nanos=at, all_end_rel_nanos=took, op_end_rel_nanos=took)
            node.all_start_micros, node.all_end_rel_micros, node.op_end_rel_micros = at // 1000, took // 1000, 5
    return Profile.from_protos(GraphDef(node=[{"name": "a", "op": "MatMul"}, {"name": "b", "op": "Add"}]), run)


def test_times_are_since_1970_if_asked_for(tmp_path: Path) -> None:
    view = gpu_profile().view("graph")
    view.write_timeline(tmp_path / "epoch.json", epoch=True)
    events = read_trace((tmp_path / "epoch.json").read_bytes())
    start = NANOS_OF_2023 // 1000
    assert told(events, "name", "ts", "dur") == [("a", start, 5), ("b", start + 10.25, 5)]
    view.write_timeline(tmp_path / "usual.json")
    assert told(read_trace((tmp_path / "usual.json").read_bytes()), "ts") == [(0,), (10.25,)]


def test_an_output_asks_for_times_since_1970(tmp_path: Path) -> None:
    output = f"timeline:outfile={tmp_path / 'run.json'},epoch"
    deliver(gpu_profile().view("graph"), parse_output(output))
    assert told(read_trace((tmp_path / "run.json").read_bytes()), "ts")[0] == (NANOS_OF_2023 // 1000,)
    with pytest.raises(ValueError, match="file takes no 'epoch'"):
        parse_output("file:outfile=a,epoch")


def test_a_tree_has_no_clock(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the scope view has lengths of time but no clock; choose the graph view"):
        gpu_profile().view("scope").write_timeline(tmp_path / "run.json", epoch=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("steps", "is_told"), [("5us", False), ("5us;7us", True)])
def test_a_gap_between_steps_is_told_of_where_there_is_one(tmp_path: Path, steps: str, is_told: bool) -> None:
    profile_of(f"a = Op() {steps}").view("graph").write_timeline(tmp_path / "run.json")
    assert (b"follow one another" in (tmp_path / "run.json").read_bytes()) == is_told


@pytest.mark.parametrize(
    ("streams", "others", "slices"),
    [
        ((), (), 2),
        (("/stream:12", "/stream:all"), (), 4),
        (("/stream:12", "/stream:13", "/stream:all"), (2,), 5),
        (("/stream:12",), (), 4),
    ],
    ids=["no stream", "on its stream and on all", "another kernel on a stream", "on its stream only"],
)
def test_a_kernel_is_shown_once(tmp_path: Path, streams: tuple[str, ...], others: tuple[int, ...], slices: int) -> None:
    """The device's own slices of ops stand beside those of the streams; a kernel that only a stream has stays."""
    events = trace_of(gpu_profile(*streams, others=others), "graph", tmp_path)
    assert len(told(events, "name")) == slices
    shown = {label.rpartition("stream")[2] for label in labels(events, "process_name") if "stream" in label}
    assert shown == ({" 12"} if streams == ("/stream:12",) else {" all"} if len(streams) == 2 else shown)


def test_the_nodes_that_hold_an_accelerators_memory_are_counted(tmp_path: Path) -> None:
    run = RunMetadata()
    for device in (GPU, CPU):
        stats = run.step_stats.dev_stats.add(device=device).node_stats
        for number, (name, bytes_) in enumerate((("a", 64), ("b", 32), *((f"n{each}", 1) for each in range(20)))):
            node = stats.add(node_name=f"{name}{device[-5:-2]}", all_start_micros=1_000 + number, op_end_rel_micros=50)
            memory = node.memory.add(allocator_name="GPU_0_bfc" if device == GPU else "cpu")
            memory.allocation_records.add(alloc_micros=1_001 + number, alloc_bytes=bytes_)
            if name == "a":
                memory.allocation_records.add(alloc_micros=1_040, alloc_bytes=-bytes_)
    names = sorted({stats.node_name for device in run.step_stats.dev_stats for stats in device.node_stats})
    profile = Profile.from_protos(GraphDef(node=[{"name": name, "op": "Op"} for name in names]), run)
    events = [each for each in trace_of(profile, "graph", tmp_path) if each["name"] == "top allocations"]
    assert len({event["pid"] for event in events}) == 1
    assert all(len(event["args"]) == 10 for event in events)
    held = [(event["ts"], event["args"]["aGPU"], event["args"]["bGPU"]) for event in events]
    assert (held[0], held[1], held[2], held[-1]) == ((0, 0, 0), (1, 64, 0), (2, 64, 32), (40, 0, 32))
