"""Numbers near 2**63: Python's sums and means are exact or refused by the name of what they are sums of."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from tests.properties.columns import ran, with_nodes, with_totals
from tests.sketches import profile_of, protos_of
from tfprof_widget.api.profile import Profile
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.profiles.options import VIEWS

EXACT_IN_PYTHON = 2**63 - 1
TWO_NODES = f"{ran(3)}\n{ran(3, 'b')}"
COLUMNS = {
    "requested_bytes": "bytes",
    "peak_bytes": "peak_bytes",
    "residual_bytes": "residual_bytes",
    "output_bytes": "output_bytes",
    "run_count": "runs",
    "cpu_nanos": "micros",
    "accelerator_nanos": "micros",
}
EVERY_VIEW = pytest.mark.parametrize("view", VIEWS)


@EVERY_VIEW
@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("values", [[2**62, 0, 0, 2**62], [2**63 - 1, 0, 0, -1], [-(2**63)], [2**62, 0, 0, -(2**62)]])
@pytest.mark.parametrize("step", [-1, 0])
def test_a_sum_that_64_bits_cannot_hold_is_refused(view: str, column: str, values: list[int], step: int) -> None:
    profile = with_totals(TWO_NODES, **{column: values})
    with pytest.raises(ProfileError, match=rf"^{COLUMNS[column]}: the values add up to more than 2\*\*63 - 1"):
        profile.view(view, step=step)


@EVERY_VIEW
@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("steps", [2, 4])
def test_a_sum_over_the_steps_of_one_node_does_not_wrap(view: str, column: str, steps: int) -> None:
    """Four quarters of 2**64 would come to 0."""
    profile = with_totals(ran(steps), **{column: [2**62] * steps})
    with pytest.raises(ProfileError, match=rf"^{COLUMNS[column]}: the values add up to more than 2\*\*63 - 1"):
        profile.view(view, timing="exact")


@EVERY_VIEW
@pytest.mark.parametrize("column", COLUMNS)
def test_the_largest_sum_is_exact(view: str, column: str) -> None:
    values = {"cpu_nanos": [], column: [2**62, 0, 0, 2**62 - 1]}
    profile = with_totals(TWO_NODES, **values)
    assert profile.view(view, step=0).grand_total[COLUMNS[column]].tolist()[0] == EXACT_IN_PYTHON


@EVERY_VIEW
def test_what_is_known_of_nodes_is_exact_or_refused(view: str) -> None:
    for column, measure in (("parameters", "params"), ("float_ops", "float_ops")):
        fits = with_nodes(profile_of(TWO_NODES), **{column: [2**61, 2**61 - 1]})
        assert fits.view(view, step=0).grand_total[measure].tolist()[0] == 2**62 - 1
        for values in ([2**62, 2**62], [-(2**62), 2**62]):
            with pytest.raises(ProfileError, match=f"^{measure}: "):
                with_nodes(profile_of(TWO_NODES), **{column: values}).view(view, step=0)


def test_parameters_times_the_common_denominator_are_refused_where_they_do_not_fit() -> None:
    sketch = f"{ran(6)}\n{ran(2, 'b')}"
    for parameters, fits in ((EXACT_IN_PYTHON // 6, True), (EXACT_IN_PYTHON // 6 + 1, False)):
        profile = with_nodes(profile_of(sketch), parameters=[parameters, 0])
        assert profile.view("op", step=0).grand_total["params"][0] == parameters
        if fits:
            assert profile.view("op").grand_total["params"][0] == 6 * parameters
        else:
            with pytest.raises(ProfileError, match=r"^params: "):
                profile.view("op")


@pytest.mark.parametrize(("total", "rounded"), [(1, 1), (3, 2), (2, 1), (-1, -1), (-3, -2)])
def test_a_mean_without_a_handy_denominator_is_the_nearest_one_and_of_two_the_larger(total: int, rounded: int) -> None:
    """In 1 / 5040 a mean of 10080 steps is a multiple of a half."""
    profile = with_totals(ran(10080), requested_bytes=[total])
    found = profile.view("scope")
    assert found.scale == 5040
    assert found.grand_total["bytes"][0] == rounded


@pytest.mark.parametrize("total", [1, 4, 5, 6, 7, 8, -1, -4, -5, -6])
def test_a_mean_is_rounded_to_the_nearest(total: int) -> None:
    """In 1 / 5040 a mean of 6000 steps is a multiple of 0.84."""
    profile = with_totals(ran(6000), requested_bytes=[total])
    assert profile.view("op").grand_total["bytes"][0] == round(Fraction(5040 * total, 6000))


@pytest.mark.parametrize("below", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_mean_right_below_64_bits_is_exact(below: int, sign: int) -> None:
    """The sum times the common denominator 7 just fits, for 2**63 - 1 is a multiple of 7; rounding may add nothing."""
    total = sign * (EXACT_IN_PYTHON // 7 - below)
    found = with_totals(ran(7), requested_bytes=[total]).view("scope")
    assert Fraction(int(found.grand_total["bytes"][0]), found.scale) == Fraction(total, 7)


def test_a_mean_whose_common_denominator_does_not_fit_is_refused() -> None:
    """In 1 / 14 the mean of the seven steps of one kind is twice their sum; in 1 / 7 it is their sum."""
    most = EXACT_IN_PYTHON // 2 + 1
    profile = with_totals(f"{ran(7)}\nb = Op() {'-;' * 7}1us;1us", requested_bytes=[most])
    kinds = replace(profile, step_names=("train",) * 7 + ("evaluate",) * 2)
    with pytest.raises(ProfileError, match=r"^bytes: "):
        kinds.view("op")
    assert kinds.view("op", run_name_regexes=["train"]).grand_total["bytes"][0] == most
    assert kinds.view("op", step=0).grand_total["bytes"][0] == most


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"alloc_micros": 5, "alloc_bytes": 2**62}, r"^run_meta: bytes of allocations: the values add up to more than"),
        ({"alloc_micros": 5, "alloc_bytes": -(2**62)}, r"^run_meta: bytes of allocations: "),
        ({"alloc_micros": 2**62, "alloc_bytes": 1}, r"^run_meta: a time is more than 2\*\*63 - 1 nanoseconds"),
    ],
)
def test_allocations_that_no_timeline_could_add_up_are_refused(record: dict[str, int], reason: str) -> None:
    protos = protos_of("a = Op() 1us\nb = Op() 1us")
    for execution in protos.run_metas[0].step_stats.dev_stats[0].node_stats:
        execution.memory.add(allocator_name="cpu").allocation_records.add(**record)
    with pytest.raises(ProfileError, match=reason):
        Profile.from_protos(*protos)
