"""Occupancy, ceilings and telemetry: what cannot be true fails, what is not there is skipped."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpuexplorer.analysis.occupancy import LIMITS, occupancy
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.core.result import Resources, RunResult
from gpuexplorer.core.sample import Reading
from gpuexplorer.core.telemetry import FIELD_TITLES, SourceState
from gpuexplorer.selftest import ceilings, telemetry
from gpuexplorer.selftest import occupancy as section
from gpuexplorer.selftest.task import Found, Skipped
from tests.selftest.context_support import MadeContext, timed
from tests.support.problems import device

GPU = device("cuda:0", kind="gpu", compute_capability=(9, 0))


# ---- occupancy


def driver_run(config: RunConfig, factor: float = 1.0) -> RunResult:
    assert config.block is not None
    threads = config.block[0] * config.block[1] * config.block[2]
    found = occupancy(LIMITS[9, 0], threads, 40, 2048)
    resources = Resources(
        registers_per_thread=40, shared_B=2048, occupancy=found.occupancy * factor
    )
    return msgspec.structs.replace(timed(config, 1e-4), resources=resources)


def test_every_kernel_is_compared_with_the_driver() -> None:
    made = MadeContext(driver_run, GPU)
    tasks = section.plan(made.context)
    assert len(tasks) >= 40
    for task in tasks:
        assert "by driver" in task.do().words
    written = {
        name
        for name, w in made.shipped.items()
        if any(variant.launch for variant in w.manifest.variants.values())
    }
    assert {c.workload for c in made.measured} == written


def test_a_driver_that_answers_otherwise_fails() -> None:
    made = MadeContext(lambda c: driver_run(c, 0.5), GPU)
    with pytest.raises(WorkFailed, match="occupancy differs"):
        section.plan(made.context)[0].do()


def test_a_cpu_has_no_occupancy() -> None:
    (task,) = section.plan(MadeContext(driver_run).context)
    with pytest.raises(Skipped, match="only the CUDA driver"):
        task.do()


# ---- ceilings


def judged(
    name: str, rates: dict[tuple[str, str | None], float], failures: tuple[str, ...] = (), **on: Any
) -> Found:
    measured = ceilings._Measured(MadeContext(lambda c: timed(c, 1e-4)).context)
    measured.__dict__["rates"] = rates
    measured.words = dict.fromkeys(rates, "made")
    measured.failures = list(failures)
    context = MadeContext(lambda c: timed(c, 1e-4), device(**on)).context
    match name:
        case "runs":
            return ceilings._runs(measured)
        case "memory" | "arithmetic":
            return ceilings._plausible(measured, name == "arithmetic")
        case "caches":
            return ceilings._caches(measured)
        case _:
            return ceilings._products(context, measured)


RIGHT: dict[tuple[str, str | None], float] = {
    ("copy", None): 2e10,
    ("cache", None): 9e10,
    ("fma", "fp32"): 1.6e11,
    ("gemm", "fp32"): 1.4e11,
}


@pytest.mark.parametrize("name", ["runs", "memory", "arithmetic", "caches", "products"])
def test_plausible_ceilings_pass(name: str) -> None:
    assert judged(name, RIGHT).words


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("memory", ("copy", None), 0.0),
        ("memory", ("copy", None), 2e16),
        ("memory", ("cache", None), float("nan")),
        ("arithmetic", ("fma", "fp32"), -1.0),
        ("arithmetic", ("gemm", "fp32"), 1e20),
        ("caches", ("cache", None), 1e10),
        ("products", ("gemm", "fp32"), 9e11),
    ],
)
def test_a_ceiling_that_cannot_be_true_fails(
    name: str, key: tuple[str, str | None], value: float
) -> None:
    with pytest.raises(WorkFailed):
        judged(name, RIGHT | {key: value})


def test_a_candidate_that_fails_is_told() -> None:
    with pytest.raises(WorkFailed, match="1 candidates failed; copy: out of memory"):
        judged("runs", RIGHT, ("copy: out of memory",))


def test_what_was_not_measured_is_not_judged() -> None:
    with pytest.raises(Skipped):
        judged("caches", {("copy", None): 1e10})
    with pytest.raises(Skipped):
        judged("products", {("gemm", "fp32"): 1e10})
    with pytest.raises(Skipped, match="PoCL"):
        judged("products", RIGHT, driver="Portable Computing Language 3.0")


def test_matrix_units_of_a_gpu_are_not_held_against_its_multiply_adds() -> None:
    rates = RIGHT | {("gemm", "fp16"): 9e14, ("fma", "fp16"): 1e14}
    assert "fp16" not in judged("products", rates, kind="gpu").words
    with pytest.raises(WorkFailed):
        judged("products", rates)


# ---- telemetry


def read(field: str, *readings: Reading) -> Found:
    watch = telemetry._Watch(MadeContext(lambda c: timed(c, 1e-4)).context)
    watch.__dict__["readings"] = list(readings)
    if field == "order":
        return telemetry._order(watch)
    return telemetry._field(watch, field)


def reading(t_ns: int = 1, **fields: Any) -> Reading:
    return Reading(t_ns=t_ns, source="made", **fields)


def test_figures_name_their_source() -> None:
    found = read("power_W", reading(power_W=300.0, sources={"power_W": "meter"}))
    assert found.words == "300 W, from meter"
    assert read("temperature_C", reading(temperature_C=54.0)).words == "54 °C, from made"


@pytest.mark.parametrize(
    "fields",
    [
        {"sm_clock_Hz": 1980.0},
        {"power_W": -1.0},
        {"temperature_C": 300.0},
        {"load": 55.0},
        {"occupancy": 1.2},
        {"dram_B_per_s": 1e18},
    ],
)
def test_impossible_figures_fail(fields: dict[str, Any]) -> None:
    (field,) = fields
    with pytest.raises(WorkFailed, match="cannot be true"):
        read(field, reading(**fields))


def test_an_energy_counter_must_not_run_backwards() -> None:
    assert "grew by 5" in read("energy_J", reading(energy_J=1.0), reading(energy_J=6.0)).words
    with pytest.raises(WorkFailed, match="backwards"):
        read("energy_J", reading(energy_J=6.0), reading(energy_J=1.0))


def test_what_is_missing_is_skipped_with_its_reason() -> None:
    with pytest.raises(Skipped, match="power: needs root"):
        read("power_W", reading(missing={"power_W": "needs root"}))
    with pytest.raises(Skipped, match="made does not give it"):
        read("energy_J", reading())
    with pytest.raises(Skipped, match="no source"):
        read("order")


def test_sources_say_what_they_give_or_why_they_do_not() -> None:
    made = SourceState(
        source="made", title="A meter", gives=("power_W",), missing={"load": "not counted"}
    )
    assert telemetry._source(made).words == "gives power (not device load: not counted)"
    away = SourceState(source="away", title="A counter", reason="needs root", remedy="use sudo")
    with pytest.raises(Skipped, match="A counter: needs root; use sudo"):
        telemetry._source(away)


def test_every_field_of_a_reading_is_looked_at() -> None:
    assert {*telemetry.FIELDS, "throttle_reasons", "users"} == set(FIELD_TITLES)


def test_readings_out_of_order_fail() -> None:
    assert "2 readings" in read("order", reading(1), reading(2)).words
    with pytest.raises(WorkFailed, match="do not rise"):
        read("order", reading(2), reading(1))
