"""What is made of NVML's performance monitoring; NVML itself is a stand-in."""

from __future__ import annotations

import time

import pynvml
import pytest

from gpuexplorer.telemetry.base import Refusal
from gpuexplorer.telemetry.gpm import FIELDS, LEAST_INTERVAL_S, GpmSource
from tests.telemetry.stand_ins import MIG, Nvml, gpu

PEAK = 4.8e12


def source(nvml: Nvml, hardware_id: str | None = None) -> GpmSource:
    device = gpu(peak_bandwidth_B_per_s=PEAK)
    if hardware_id is not None:
        device = gpu(hardware_id, peak_bandwidth_B_per_s=PEAK)
    found = GpmSource.find(nvml, device)
    assert isinstance(found, GpmSource)
    return found


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A clock that stands still until its one element is changed."""
    now = [1_000_000_000]
    monkeypatch.setattr(time, "perf_counter_ns", lambda: now[0])
    return now


def test_a_reading_holds_means_over_the_interval_in_base_units(clock: list[int]) -> None:
    reader = source(Nvml())
    clock[0] += 105_000_000
    reading = reader.read()
    assert reading.source == "gpm"
    assert reading.interval_s == pytest.approx(0.105)
    assert reading.dram_B_per_s == pytest.approx(0.8 * PEAK)
    assert reading.occupancy == pytest.approx(0.625)
    assert reading.sm_active == pytest.approx(0.98)
    assert reading.pcie_tx_B_per_s == 16 * 2**20
    assert reading.pcie_rx_B_per_s == 32 * 2**20
    assert reading.dram_read_B_per_s is None  # it counts both together
    assert reading.missing == {}


def test_two_snapshots_lie_more_than_100_ms_apart(clock: list[int]) -> None:
    nvml = Nvml()
    reader = source(nvml)
    before = nvml.snapshots
    for _ in range(4):
        clock[0] += 25_000_000
        assert reader.read().dram_B_per_s is None
    assert nvml.snapshots == before
    clock[0] += 10_000_000
    assert reader.read().interval_s == pytest.approx(0.110)
    assert LEAST_INTERVAL_S > 0.1


def test_the_older_snapshot_always_comes_first(clock: list[int]) -> None:
    reader = source(Nvml())
    for _ in range(5):  # the stand-in refuses any other order
        clock[0] += 200_000_000
        assert reader.read().dram_B_per_s is not None


def test_a_gpu_without_it_and_a_user_without_permission_are_told(clock: list[int]) -> None:
    old = Nvml()
    old.gpm_supported = 0
    refusal = GpmSource.find(old, gpu())
    assert isinstance(refusal, Refusal)
    assert "Hopper" in refusal.reason
    assert old.open == 0
    denied = GpmSource.find(Nvml(nvmlGpmQueryDeviceSupport=4), gpu())
    assert isinstance(denied, Refusal)
    assert "NVreg_RestrictProfilingToAdminUsers=0" in denied.remedy


def test_a_first_snapshot_that_fails_leaves_nothing_behind(clock: list[int]) -> None:
    nvml = Nvml(nvmlGpmSampleGet=999)
    assert isinstance(GpmSource.find(nvml, gpu()), Refusal)
    assert nvml.allocated == 0
    assert nvml.open == 0


def test_a_counter_that_fails_is_none_and_said_once(clock: list[int]) -> None:
    nvml = Nvml()
    nvml.gpm_values = {**Nvml.gpm_values, 3: (3, 0.0)}  # type: ignore[misc]
    reader = source(nvml)
    clock[0] += 200_000_000
    first = reader.read()
    clock[0] += 200_000_000
    second = reader.read()
    assert first.occupancy is None
    assert set(first.missing) == {"occupancy"}
    assert second.missing == {}
    assert first.sm_active is not None


def test_without_a_peak_a_share_of_it_is_no_rate(clock: list[int]) -> None:
    found = GpmSource.find(Nvml(), gpu())
    assert isinstance(found, GpmSource)
    clock[0] += 200_000_000
    reading = found.read()
    assert reading.dram_B_per_s is None
    assert "peak" in reading.missing["dram_B_per_s"]


def test_an_instance_is_read_through_its_parent(clock: list[int]) -> None:
    nvml = Nvml()
    reader = source(nvml, MIG)
    clock[0] += 200_000_000
    reading = reader.read()
    assert reading.sm_active is not None
    assert reading.dram_B_per_s is None
    assert "nvmlGpmMigSampleGet" in nvml.calls


def test_closing_frees_every_snapshot(clock: list[int]) -> None:
    nvml = Nvml()
    reader = source(nvml)
    reader.close()
    assert nvml.allocated == 0
    assert nvml.open == 0


def test_an_instance_is_supported_where_its_gpu_is(clock: list[int]) -> None:
    nvml = Nvml()  # which refuses the question about an instance
    assert isinstance(GpmSource.find(nvml, gpu(MIG)), GpmSource)
    nvml.gpm_supported = 0
    assert isinstance(GpmSource.find(nvml, gpu(MIG)), Refusal)


def test_the_numbers_of_metrics_are_the_real_modules() -> None:
    names = ("SM_UTIL", "SM_OCCUPANCY", "DRAM_BW_UTIL", "PCIE_TX_PER_SEC", "PCIE_RX_PER_SEC")
    assert [getattr(pynvml, f"NVML_GPM_METRIC_{n}") for n in names] == list(FIELDS)
