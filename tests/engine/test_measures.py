"""What nodes cost: in a step, in the mean of steps, by both clocks, and never by a sum that wrapped."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from tests.made import changed
from tests.sketches import CPU, Protos, profile_of, protos_of
from tfprof_widget.api.profile import Profile
from tfprof_widget.engine.measures import MEASURES, measures
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.messages import RunMetadata
from tfprof_widget.profiles.options import Options


def costs(profile: Profile, measure: str = "micros", **options: Any) -> list[Fraction]:
    found = measures(profile, Options.of(**options))
    return [Fraction(value, found.unit(measure)) for value in found.columns[measure].tolist()]


THREE_STEPS = profile_of("""
    every = Op() 10us;11us;13us 3B 7flops 4x2
    some  = Op() 1us+2us;-;600ns
    never = Op() 2flops
""")


def test_each_step_has_its_own_time() -> None:
    # Rows are in byte order of name: every, never, some.
    assert costs(THREE_STEPS, step=0) == [10, 0, 3]
    assert costs(THREE_STEPS, step=1) == [11, 0, 0]
    assert costs(THREE_STEPS, step=2) == [13, 0, Fraction(3, 5)]


def test_a_mean_is_over_the_chosen_steps_and_exact() -> None:
    """A node that ran in two of three steps takes the less of a mean one: else steps would take more than they did."""
    assert costs(THREE_STEPS) == [Fraction(34, 3), 0, Fraction(36, 30)]


def test_a_mean_is_over_all_steps_of_the_kinds_that_a_node_runs_in() -> None:
    """Two kinds of steps add up: a step of one has nothing to do with how often the other runs."""
    profile = changed(profile_of("a = Op() 8us;-;-\nb = Op() -;-;6us"), step_names=("train", "train", "evaluate"))
    assert costs(profile) == [4, 6]
    assert costs(profile, run_name_regexes=["train"]) == [4, 0]
    assert costs(profile, timing="tfprof") == [8, 6]


def test_natives_mean_drops_what_is_left_over_and_counts_an_execution_as_at_least_1() -> None:
    assert costs(THREE_STEPS, timing="tfprof") == [11, 0, 2]
    assert costs(THREE_STEPS, timing="tfprof", step=2) == [13, 0, 1]


def test_runs_and_bytes_are_means_too() -> None:
    assert costs(THREE_STEPS, "runs") == [1, 0, 1]
    assert costs(THREE_STEPS, "runs", timing="tfprof") == [1, 0, 1]  # native: 3 runs in 2 steps, cut
    assert costs(THREE_STEPS, "bytes") == [3, 0, 0]


def test_float_operations_count_as_often_as_the_node_ran_once_it_has_run_at_all() -> None:
    profile = profile_of("""
        loop = Op() 1us+1us+1us;- 7flops
        step = Op() 1us;1us
        not  = Op() 7flops
    """)
    assert costs(profile, "float_ops", step=0) == [21, 7, 0]
    assert costs(profile, "float_ops", step=1) == [0, 7, 0]
    assert costs(profile, "float_ops") == [Fraction(21, 2), 7, 0]
    assert costs(profile, "float_ops", timing="tfprof") == [21, 7, 0]


def test_parameters_do_not_depend_on_the_step() -> None:
    for options in ({}, {"step": 1}, {"timing": "tfprof"}):
        assert costs(THREE_STEPS, "params", **options) == [8, 0, 0]


@pytest.mark.parametrize(
    ("shape", "parameters"),
    [("3x4", 12), ("[]", 1), ("?x4", 0), ("0x4", 0), ("", 0), ("1x1", 1), ("2147483648x2", 2**32)],
)
def test_parameters_are_the_product_of_a_shape_that_is_known(shape: str, parameters: int) -> None:
    assert costs(profile_of(f"w = VariableV2() {shape}"), "params") == [parameters]


def test_a_mean_over_many_steps_stays_exact() -> None:
    profile = profile_of(f"a = Op() {';'.join(f'{step + 1}us' for step in range(1287))}\nb = Op() 1us")
    assert costs(profile) == [Fraction(1288, 2), Fraction(1, 1287)]


def test_a_mean_without_a_handy_denominator_is_off_by_less_than_a_picosecond_a_node() -> None:
    profile = profile_of(f"a = Op() {';'.join(['1ns'] * 5050 + ['2ns'])}\nb = Op() 3ns")
    for found, sum_ in zip(costs(profile), (5052, 3), strict=True):
        assert abs(found - Fraction(sum_, 1000 * 5051)) < Fraction(1, 1_000_000)
    assert measures(profile, Options.of()).scale == 5040  # rather than 5051


def test_an_unknown_step_is_told_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"^step 7 is not in the profile; its steps are 0, 1, 2$"):
        costs(THREE_STEPS, step=7)
    with pytest.raises(ValueError, match=r"^step 0 is not .*; its steps are none: no run metadata was given$"):
        costs(profile_of("a = Op()"), step=0)


def recorded(*executions: dict[str, Any]) -> Profile:
    """A profile of node a with these executions, each a NodeExecStats as a dict."""
    run_meta = RunMetadata()
    device = run_meta.step_stats.dev_stats.add(device=CPU)
    for start, execution in enumerate(executions, 1):
        device.node_stats.add(node_name="a", all_start_micros=start, **execution)
    return Profile.from_protos(protos_of("a = Op() 5flops").graph, run_meta)


def test_executions_without_a_start_count_for_nothing() -> None:
    run_meta = RunMetadata()
    device = run_meta.step_stats.dev_stats.add(device=CPU)
    device.node_stats.add(node_name="a", op_end_rel_micros=9, memory=[{"total_bytes": 9}])
    profile = Profile.from_protos(protos_of("a = Op()").graph, run_meta)
    assert {measure: costs(profile, measure) for measure in MEASURES} == {measure: [0] for measure in MEASURES}


def test_bytes_of_every_sort() -> None:
    profile = recorded(
        {
            "op_end_rel_micros": 2,
            "memory": [
                {"allocator_name": "cpu", "total_bytes": 100, "peak_bytes": 50, "live_bytes": 7},
                {"allocator_name": "cpu", "total_bytes": 10, "peak_bytes": 5, "live_bytes": 1},
            ],
            "memory_stats": {"temp_memory_size": 1000, "persistent_memory_size": 10000},
            "output": [
                {"tensor_description": {"allocation_description": {"requested_bytes": 60, "allocated_bytes": 64}}},
                {"tensor_description": {"allocation_description": {"requested_bytes": 3, "allocated_bytes": 2}}},
                {"slot": 2},
            ],
        }
    )
    assert costs(profile, "bytes") == [110 + 1000 + 10000]
    assert costs(profile, "peak_bytes") == [55 + 1000 + 10000]
    assert costs(profile, "residual_bytes") == [8 + 10000]
    assert costs(profile, "output_bytes") == [64 + 3]


def test_accelerator_time_is_that_of_all_streams_and_cpu_time_that_of_the_device_itself() -> None:
    run_meta = RunMetadata()
    for device, micros in {
        "/job:w/device:GPU:0": 5,
        "/device:GPU:0/stream:all": 70,
        "/device:GPU:0/stream:13": 400,
        "/device:GPU:0/memcpy": 3000,
        "/job:w/device:GPU:1": 20000,  # a second device of its own: left out
    }.items():
        stats = run_meta.step_stats.dev_stats.add(device=device)
        stats.node_stats.add(node_name="a:Op", all_start_micros=1, op_end_rel_micros=micros)
    profile = Profile.from_protos(protos_of("a = Op()").graph, run_meta)
    found = {measure: costs(profile, measure) for measure in ("micros", "accelerator_micros", "cpu_micros", "runs")}
    assert found == {"micros": [75], "accelerator_micros": [70], "cpu_micros": [5], "runs": [1]}


def test_negative_values_are_kept_and_natives_mean_is_cut_towards_0() -> None:
    graph, _, _ = protos_of("a = Op()")
    steps = {}
    for step, micros in enumerate((-7, -4)):
        steps[step] = RunMetadata()
        device = steps[step].step_stats.dev_stats.add(device=CPU)
        device.node_stats.add(
            node_name="a", all_start_micros=1, op_end_rel_micros=micros, memory=[{"total_bytes": micros}]
        )
    profile = Profile.from_protos(graph, steps)
    assert costs(profile) == [0]  # a clock that was set back
    assert costs(profile, "bytes") == [Fraction(-11, 2)]
    assert costs(profile, timing="tfprof") == costs(profile, "bytes", timing="tfprof") == [-5]


def test_a_node_that_counts_several_times_may_count_too_much() -> None:
    graph, (run_meta,), _ = protos_of(f"a = Op() 1us {2**61}B")
    profile = Profile.from_protos(graph, run_meta)
    regexes = ["O.*", ".*p", ".*O.*", ".*p.*"]
    assert profile.view("op", account_type_regexes=regexes).total["bytes"].tolist() == [2**61]
    with pytest.raises(ProfileError, match=r"^bytes: "):
        profile.view("op", account_type_regexes=regexes, timing="tfprof").total["bytes"]


@pytest.mark.parametrize(("size", "regexes"), [(2**62, ["O.*", ".*p"]), (2**63 - 1, [".*", "Op"])])
def test_what_fits_once_may_not_fit_twice(size: int, regexes: list[str]) -> None:
    profile = profile_of(f"a = Op() 1us {size}B")
    for options in ({}, {"timing": "tfprof"}, {"account_type_regexes": regexes}):
        assert profile.view("op", **options).total["bytes"].tolist() == [size]
    with pytest.raises(ProfileError, match=r"^bytes: "):
        profile.view("op", account_type_regexes=regexes, timing="tfprof").total["bytes"]


@pytest.mark.parametrize("timing", ["exact", "tfprof"])
@pytest.mark.parametrize("count", [2, 4, 8])  # four quarters of 2**64 would wrap to 0
@pytest.mark.parametrize(
    "execution",
    [
        {"memory": [{"total_bytes": 2**62}]},
        {"memory": [{"total_bytes": 2**62}] * 4},
        {"memory": [{"peak_bytes": 2**62}], "memory_stats": {"temp_memory_size": 2**62}},
        {"memory_stats": {"persistent_memory_size": 2**62}},
        {"output": [{"tensor_description": {"allocation_description": {"allocated_bytes": 2**62}}}] * 4},
        {"op_end_rel_micros": 2**62},
        {"op_end_rel_nanos": 2**62, "op_end_rel_micros": 2**62},
    ],
    ids=["requested", "several allocators", "temporary", "persistent", "outputs", "micros", "nanos"],
)
def test_a_sum_that_would_wrap_is_refused(execution: dict[str, Any], count: int, timing: str) -> None:
    with pytest.raises(ProfileError, match=r"2\*\*63"):
        recorded(*[execution] * count).view("op", timing=timing, select=["bytes", "micros"])


@pytest.mark.parametrize("count", [2, 4, 8])
def test_a_sum_over_the_runs_of_one_step_that_would_wrap_is_refused(count: int) -> None:
    graph, runs, _ = protos_of(f"a = Op() {';'.join(['1us'] * count)} {2**62}B")
    with pytest.raises(ProfileError, match=r"2\*\*63"):
        Profile.from_protos(graph, {0: runs}).view("op").total["bytes"]


def test_float_operations_times_runs_that_would_wrap_are_refused() -> None:
    graph, (run_meta,), op_log = protos_of(f"loop = Op() {'+'.join(['1us'] * 8)} {2**61}flops")
    with pytest.raises(ProfileError, match=r"^float_ops: "):
        Profile.from_protos(*Protos(graph, [run_meta], op_log)).view("scope")


@pytest.mark.parametrize("shape", ["4294967296x4294967296", "9223372036854775807x2", "2097152x2097152x2097152x8"])
def test_more_parameters_than_64_bits_can_count_are_refused_by_the_name_of_the_node(shape: str) -> None:
    with pytest.raises(ProfileError, match=f"^graph: node 'w' has the shape {shape}, whose product "):
        profile_of(f"w = VariableV2() {shape}")


def test_times_on_both_kinds_of_devices_are_refused_where_their_sum_would_wrap() -> None:
    protos = protos_of("a = Op() 1us @/gpu:0")
    (run_meta,) = protos.run_metas
    (device,) = run_meta.step_stats.dev_stats
    stream = run_meta.step_stats.dev_stats.add(device=f"{device.device}/stream:all")
    stream.node_stats.add().CopyFrom(device.node_stats[0])
    for each in (device, stream):
        each.node_stats[0].op_end_rel_nanos = 3 * 2**61
    with pytest.raises(ProfileError, match=r"^micros: the values add up to more than 2\*\*63 - 1"):
        Profile.from_protos(protos.graph, run_meta).view("op")


def test_run_names_that_match_nothing_are_told_the_ones_that_are() -> None:
    profile = replace(THREE_STEPS, step_names=("train", "eval", "train"))
    assert costs(profile, run_name_regexes=["train"])[0] == Fraction(23, 2)
    reason = r"^run_name_regexes \['t', 'x'\] match no run; the runs are 'eval', 'train'$"
    with pytest.raises(ValueError, match=reason):
        costs(profile, run_name_regexes=["t", "x"])
