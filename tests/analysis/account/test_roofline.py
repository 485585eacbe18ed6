"""The roofline by hand: intensity, rate and bound of ops whose shapes and times are known."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from tests.sketches import profile_of, shaped
from tfprof_widget.analysis import machines
from tfprof_widget.analysis.account.roofline import roof_of, step_nanos
from tfprof_widget.analysis.machines import Band, Machine
from tfprof_widget.api.profile import Profile
from tfprof_widget.lib.errors import ProfileError, ProfileWarning
from tfprof_widget.lib.processor import processor
from tfprof_widget.profiles.devices import Accelerator
from tfprof_widget.profiles.kept_run import KeptRun

HALF = 19


def machine(dtype: str = "float32") -> Machine:
    """One of 100 GFLOP/s and 40 GB/s, so that 2.5 FLOP for each byte are the ridge."""
    bands = Band(100e9, 95e9, 90e9), Band(40e9, 36e9, 30e9)
    return Machine(dtype, *bands, {1024: 100e9}, 2**26, 9, 1.0, 0.0, processor())


@pytest.fixture(autouse=True)
def nothing_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machines, "_MEASURED", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def model(product: str = "26844us", small: str = "50us") -> Profile:
    """A product of 1024 at 80 % of the peak, a sum of 2**20 at three quarters of the bandwidth, and one of four."""
    sketch = f"""
        dense/a = Placeholder()
        dense/b = Placeholder()
        dense/c = MatMul(dense/a, dense/b)  {product}
        add/x   = Placeholder()
        add/y   = Placeholder()
        add/z   = AddV2(add/x, add/y)       419us
        tiny/p  = Placeholder()
        tiny/q  = AddV2(tiny/p, tiny/p)     {small}
        tiny/r  = Mystery(tiny/q)           30us
    """
    square, long, four = (1024, 1024), (2**20,), (4,)
    shapes = {"dense/a": square, "dense/b": square, "dense/c": square, "add/x": long, "add/y": long, "add/z": long}
    return shaped(sketch, **shapes, **{"tiny/p": four, "tiny/q": four, "tiny/r": four})


def test_a_product_is_bound_by_computing_a_sum_by_the_memory_and_a_tiny_op_by_neither() -> None:
    frame = model().roofline(machine()).set_index("name")
    product, total, tiny = (frame.loc[name] for name in ("dense/c", "add/z", "tiny/q"))
    assert product["float_ops"] == 2 * 1024**3
    assert product["bytes_moved"] == 3 * 4 * 1024**2
    assert product["intensity"] == pytest.approx(2 * 1024 / 12)
    assert product["gflops"] == pytest.approx(80, rel=1e-4)
    assert product["of_peak"] == pytest.approx(0.8, rel=1e-4)
    assert total["intensity"] == pytest.approx(1 / 12)
    assert total["of_bandwidth"] == pytest.approx(12 * 2**20 / 419e-6 / 40e9)
    assert 0.74 < total["of_bandwidth"] < 0.76
    assert (product["bound"], total["bound"], tiny["bound"]) == ("compute", "memory", "overhead")
    assert frame.index.tolist() == ["dense/c", "add/z", "tiny/q", "tiny/r"]
    assert frame["type"].tolist() == ["MatMul", "AddV2", "AddV2", "Mystery"]


@pytest.mark.parametrize(("product", "bound"), [("200000us", "compute"), ("220000us", "overhead")])
def test_overhead_begins_where_a_tenth_of_the_time_is_not_explained(product: str, bound: str) -> None:
    """At 100 GFLOP/s the product needs 21,475 µs."""
    assert model(product).roofline(machine()).set_index("name").loc["dense/c", "bound"] == bound


def test_no_overhead_is_told_where_there_is_none() -> None:
    frame = model(small="1ns").roofline(machine())
    assert "overhead" not in frame["bound"].tolist()


def test_nothing_is_told_of_ops_whose_work_is_not_known() -> None:
    frame = model().roofline(machine()).set_index("name")
    assert frame["bound"].isna().to_dict() == {"dense/c": False, "add/z": False, "tiny/q": False, "tiny/r": True}
    assert (frame.loc["tiny/r", "known"], frame.loc["tiny/q", "known"]) == (0, 1)


def test_rows_of_types_and_layers_add_up() -> None:
    profile = model()
    types = profile.roofline(machine(), by="type").set_index("name")
    layers = profile.roofline(machine(), by="layer").set_index("name")
    assert types.loc["AddV2", "bytes_moved"] == 3 * 4 * 2**20 + 3 * 16
    assert types.loc["AddV2", "micros"] == 469
    assert layers[["micros", "bytes_moved", "known"]].T["tiny"].tolist() == [80, 5 * 16, 50 / 80]
    assert layers.loc["tiny", "bound"] == "overhead"
    with pytest.raises(ValueError, match="by has no 'line'; choose from op, layer, type"):
        profile.roofline(machine(), by="line")


def test_without_a_roof_what_needs_it_is_missing_and_the_reason_is_told() -> None:
    with pytest.warns(ProfileWarning, match=r"bound are missing: on which machine .* run tfprof_widget.machine\(\)"):
        frame = model().roofline()
    assert frame[["of_peak", "of_bandwidth"]].isna().all(axis=None)
    assert frame["bound"].isna().all()
    assert frame.loc[0, "gflops"] == pytest.approx(80, rel=1e-4)
    assert "on which machine this ran is not known" in frame.attrs["roof"]


def test_a_measurement_is_for_the_profiles_of_its_machine() -> None:
    machines.remember_machine(machine())
    here, profile = KeptRun(fingerprint=processor()), model()
    elsewhere = KeptRun(fingerprint={**processor(), "cores": "4096"})
    assert roof_of(replace(profile, kept_run=here)).roof is not None
    assert roof_of(replace(profile, kept_run=here)).reason == ""
    assert roof_of(replace(profile, kept_run=elsewhere)).roof is None
    assert "another machine" in roof_of(replace(profile, kept_run=elsewhere)).reason
    assert roof_of(profile).reason == "on which machine this ran is not known, and this one is compared with"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert profile.roofline().loc[0, "bound"] == "compute"


def test_the_type_that_a_model_computes_in_decides() -> None:
    machines.remember_machine(machine())
    square = (64, 64)
    profile = shaped("a = Placeholder()\nc = MatMul(a, a) 9us", HALF, a=square, c=square)
    here = replace(profile, kept_run=KeptRun(fingerprint=processor()))
    reason = 'this machine is not measured for float16: run tfprof_widget.machine("float16")'
    assert roof_of(here).reason == reason
    machines.remember_machine(machine("float16"))
    assert roof_of(here).reason == ""


GPU = "/job:localhost/replica:0/task:0/device:gpu:0"


def on_gpu(**facts: object) -> Profile:
    """A product of 64 whose kernel took 2 µs, and its host 3 µs."""
    square = (64, 64)
    sketch = f"a = Placeholder()\nc = MatMul(a, a) 3us @{GPU}\nc = MatMul(a, a) 2us @{GPU}/stream:all"
    profile = shaped(sketch, a=square, c=square)
    return replace(profile, accelerators=(Accelerator(GPU, **facts),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("facts", "rate"),
    [
        ({"float_ops_per_second": 275 * 10**12, "bytes_per_second": 1228 * 10**9}, 275e12),
        # A V100: 80 multiprocessors of 64 units at 1.53 GHz, that is 15.7 TFLOP/s in float32.
        (
            {"clock_hertz": 1_530_000_000, "cores": 80, "compute_capability": "7.0", "bytes_per_second": 898 * 10**9},
            2 * 64 * 80 * 1.53e9,
        ),
    ],
)
def test_an_accelerator_says_itself_what_it_can(facts: dict[str, object], rate: float) -> None:
    roof = roof_of(on_gpu(**facts)).roof
    assert roof is not None
    assert (roof.float_ops, roof.bytes) == (rate, facts["bytes_per_second"])
    assert "GPU:0" in roof.name


def test_the_time_of_an_op_on_an_accelerator_is_that_of_its_kernels() -> None:
    """The product takes 2 * 64**3 operations and moves three matrices of 16 KiB."""
    profile = on_gpu(float_ops_per_second=10**12, bytes_per_second=10**11)
    (product,) = profile.roofline().to_dict("records")
    assert product["micros"] == 2
    assert product["of_peak"] == pytest.approx(2 * 64**3 / 2e-6 / 1e12)
    assert product["of_bandwidth"] == pytest.approx(3 * 2**14 / 2e-6 / 1e11)
    assert product["bound"] == "compute"


def test_an_accelerator_that_tells_nothing_has_no_roof() -> None:
    machines.remember_machine(machine())
    assert roof_of(on_gpu(cores=80)).roof is None


def test_a_profile_without_times_has_no_roofline() -> None:
    with pytest.raises(ProfileError, match="no op of this profile has a time"):
        profile_of("a = MatMul()").roofline(machine())


def test_layers_tell_their_rate_and_how_near_it_is_to_the_peak() -> None:
    machines.remember_machine(machine())
    frame = model().view("layers").to_dataframe().set_index("name")
    assert frame.loc["dense", "gflops"] == pytest.approx(80, rel=1e-4)
    assert frame.loc["dense", "of_peak"] == pytest.approx(0.8, rel=1e-4)
    assert frame["total_of_peak"].equals(frame["of_peak"])
    machines._MEASURED.clear()
    again = model().view("layers").to_dataframe().set_index("name")
    assert again["of_peak"].isna().all()


def test_a_step_takes_by_the_clock_what_its_ops_span() -> None:
    """They begin one microsecond after each other."""
    assert step_nanos(profile_of("a = Op() 3us\nb = Op() 9us")).tolist() == [10_000]
