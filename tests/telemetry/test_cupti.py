"""PM sampling against a stand-in of ``cupti-python``: its names, its errors, its samples."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from gpuexplorer.telemetry.base import Refusal
from gpuexplorer.telemetry.cupti import FETCH_EVERY_S, SWITCH, CuptiSource
from tests.telemetry.stand_ins import gpu

COUNTERS = {
    "dram__bytes_read", "dram__bytes_write", "sm__cycles_active", "sm__warps_active",
    "pcie__read_bytes", "pcie__write_bytes", "lts__t_bytes",
}  # fmt: skip


class CuptiError(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(f"CUPTI {status}")
        self.status = status


class Collector:
    """One device's collector; ``cupti`` holds what happens."""

    def __init__(self, cupti: Cupti, device_index: int) -> None:
        self.cupti = cupti
        self.index = device_index
        self.state: list[str] = []
        self.metrics: list[str] = []
        self.queue: list[list[Any]] = []

    def enable(self) -> None:
        if self.cupti.fails is not None:
            raise self.cupti.fails
        self.state.append("enabled")

    def configure(
        self, *, metrics: list[str], hardware_buffer_size: int = 1, sampling_interval: int = 1
    ) -> None:
        if len(metrics) > self.cupti.per_pass:
            raise ValueError("the metrics cannot be collected in a single pass")
        self.metrics = metrics

    def start(self) -> None:
        self.state.append("started")

    def stop(self) -> None:
        self.state.append("stopped")

    def disable(self) -> None:
        self.state.append("disabled")

    def decode(self, max_samples: int = 1) -> Any:
        assert self.state[-1] == "started", "decode before disable"
        return iter(self.queue.pop(0) if self.queue else [])


class Cupti:
    """The package: ``cupti``, ``pm_sampling``, ``profiler_host`` as far as they are used."""

    def __init__(
        self, counters: set[str] = COUNTERS, per_pass: int = 6, fails: Exception | None = None
    ) -> None:
        self.per_pass, self.fails = per_pass, fails
        self.collectors: list[Collector] = []
        self.hosts_open = 0
        outer = self

        class Host:
            def __init__(self, chip: str, kind: str) -> None:
                assert (chip, kind) == ("GH100", "pm sampling")

            def initialize(self) -> None:
                outer.hosts_open += 1

            def deinitialize(self) -> None:
                outer.hosts_open -= 1

            def get_base_metrics(self, kind: str) -> list[str]:
                assert kind == "counter"
                return sorted(counters)

        def name_of(pointer: Any) -> None:
            assert pointer.device_index == 0
            assert pointer.struct_size == 24
            pointer.p_chip_name = "GH100"

        class Params(SimpleNamespace):
            @property
            def ptr(self) -> Any:
                return self

        self.cupti = SimpleNamespace(
            DeviceGetChipNameParams=Params,
            DEVICE_GET_CHIP_NAME_PARAMS_STRUCT_SIZE=24,
            device_get_chip_name=name_of,
            Result=SimpleNamespace(
                ERROR_HARDWARE_BUSY=26, ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED=39
            ),
        )
        self.pm_sampling = SimpleNamespace(Collector=self.collector)
        self.profiler_host = SimpleNamespace(
            ProfilerHost=Host,
            ProfilerType=SimpleNamespace(PM_SAMPLING="pm sampling"),
            MetricType=SimpleNamespace(COUNTER="counter"),
        )

    def collector(self, device_index: int) -> Collector:
        self.collectors.append(Collector(self, device_index))
        return self.collectors[-1]


def sample(start_ns: int, end_ns: int, *values: float) -> Any:
    return SimpleNamespace(
        start_timestamp=start_ns, end_timestamp=end_ns, metric_values=list(values)
    )


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


def opened(cupti: Cupti) -> tuple[CuptiSource, Collector]:
    found = CuptiSource.find(cupti, 0)
    assert isinstance(found, CuptiSource)
    return found, cupti.collectors[-1]


def test_bytes_become_rates_and_percentages_means(clock: list[float]) -> None:
    cupti = Cupti()
    reader, collector = opened(cupti)
    assert cupti.hosts_open == 0
    assert collector.metrics[:2] == ["dram__bytes_read.sum", "dram__bytes_write.sum"]
    ms = 1_000_000
    collector.queue = [
        [
            sample(0, 900 * ms, 9e99, 9e99, 0, 0, 0, 0),  # the first timestamp is not one
            sample(900 * ms, 910 * ms, 2e10, 1e10, 100, 50, 4e6, 2e6),
            sample(910 * ms, 940 * ms, 6e10, 3e10, 20, 10, 0, 0),
        ]
    ]
    clock[0] += FETCH_EVERY_S
    reading = reader.read()
    assert reading.source == "cupti"
    assert reading.interval_s == pytest.approx(0.040)
    assert reading.dram_read_B_per_s == pytest.approx(8e10 / 0.04)
    assert reading.dram_write_B_per_s == pytest.approx(4e10 / 0.04)
    assert reading.dram_B_per_s == pytest.approx(12e10 / 0.04)
    assert reading.sm_active == pytest.approx((100 * 10 + 20 * 30) / 40 / 100)
    assert reading.occupancy == pytest.approx((50 * 10 + 10 * 30) / 40 / 100)
    assert reading.pcie_rx_B_per_s == pytest.approx(1e8)
    assert reading.missing == {}


def test_only_the_very_first_sample_is_left_out(clock: list[float]) -> None:
    reader, collector = opened(Cupti())
    one = [sample(0, 10_000_000, 1, 1, 1, 1, 1, 1)]
    collector.queue = [one, one]
    clock[0] += FETCH_EVERY_S
    assert reader.read().dram_B_per_s is None
    clock[0] += FETCH_EVERY_S
    assert reader.read().dram_B_per_s == pytest.approx(200)


def test_it_fetches_a_few_times_a_second(clock: list[float]) -> None:
    reader, collector = opened(Cupti())
    collector.queue = [[sample(0, 1, *[1.0] * 6)], [sample(1, 2, *[1.0] * 6)]]
    reader.read()
    assert len(collector.queue) == 2
    clock[0] += FETCH_EVERY_S
    reader.read()
    reader.read()
    assert len(collector.queue) == 1


def test_names_differ_by_chip_and_what_it_lacks_is_said_once(clock: list[float]) -> None:
    cupti = Cupti({"dram__bytes_op_read", "dram__bytes_op_write", "sm__warps_active"})
    reader, collector = opened(cupti)
    assert collector.metrics == [
        "dram__bytes_op_read.sum",
        "dram__bytes_op_write.sum",
        "sm__warps_active.avg.pct_of_peak_sustained_active",
    ]
    first = reader.read()
    assert set(first.missing) == {"sm_active", "pcie_rx_B_per_s", "pcie_tx_B_per_s"}
    assert reader.read().missing == {}


def test_what_does_not_fit_into_one_pass_is_left_out_from_the_end(clock: list[float]) -> None:
    reader, collector = opened(Cupti(per_pass=2))
    assert collector.metrics == ["dram__bytes_read.sum", "dram__bytes_write.sum"]
    assert "occupancy" in reader.read().missing


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError("no"), "NVreg_RestrictProfilingToAdminUsers=0"),
        (CuptiError(26), "another program holds the counters"),
        (CuptiError(39), "another profiler"),
        (RuntimeError("libnvperf is missing"), "libnvperf is missing"),
    ],
)
def test_why_it_does_not_start_is_a_sentence(error: Exception, words: str) -> None:
    cupti = Cupti(fails=error)
    refusal = CuptiSource.find(cupti, 0)
    assert isinstance(refusal, Refusal)
    assert words in f"{refusal.reason}; {refusal.remedy}"
    assert cupti.collectors[0].state == ["disabled"]


def test_a_chip_without_known_counters_is_refused() -> None:
    cupti = Cupti({"fe__cycles"})
    assert isinstance(CuptiSource.find(cupti, 0), Refusal)
    assert cupti.collectors[0].state == ["enabled", "disabled"]


def test_closing_stops_before_it_disables(clock: list[float]) -> None:
    reader, collector = opened(Cupti())
    reader.close()
    assert collector.state == ["enabled", "started", "stopped", "disabled"]


def test_it_is_off_until_asked_for_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SWITCH, raising=False)
    refusal = CuptiSource.open(gpu(compute_capability=(9, 0)))
    assert isinstance(refusal, Refusal)
    assert SWITCH in refusal.remedy
    old = CuptiSource.open(gpu(compute_capability=(7, 0)))
    assert isinstance(old, Refusal)
    assert "7.5" in old.reason
    assert CuptiSource.open(gpu("cpu:X", kind="cpu")) is None


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setenv(SWITCH, "1")
    for name in ("cupti", "cupti.cupti", "cupti.pm_sampling"):
        monkeypatch.setitem(sys.modules, name, None)
    refusal = CuptiSource.open(gpu())
    assert isinstance(refusal, Refusal)
    assert "pip install 'cupti-python" in refusal.remedy


def test_the_real_package_has_every_name_that_is_used() -> None:
    pytest.importorskip("cupti.pm_sampling", reason="cupti-python is an extra")
    import inspect

    import cupti.cupti
    import cupti.pm_sampling
    import cupti.profiler_host

    real = cupti.pm_sampling.Collector
    for name in ("enable", "configure", "start", "stop", "decode", "disable"):
        ours = set(inspect.signature(getattr(Collector, name)).parameters)
        assert ours <= set(inspect.signature(getattr(real, name)).parameters), name
    assert "device_index" in inspect.signature(real).parameters
    stand_in = Cupti()
    for name in vars(stand_in.cupti):
        assert hasattr(cupti.cupti, name), name
    for name in vars(stand_in.profiler_host):
        assert hasattr(cupti.profiler_host, name), name
    for name in vars(stand_in.cupti.Result):
        assert hasattr(cupti.cupti.Result, name), name
