"""PM sampling against a stand-in of ``cupti-python``: its names, its errors, its samples."""

from __future__ import annotations

import importlib.metadata
import sys
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from gpuexplorer.telemetry.base import Refusal
from gpuexplorer.telemetry.cupti import FETCH_EVERY_S, SWITCH, CuptiSource
from tests.signatures import Signatures, all_of
from tests.telemetry.stand_ins import gpu

COUNTERS = {
    "dram__bytes_read", "dram__bytes_write", "sm__cycles_active", "sm__warps_active",
    "pcie__read_bytes", "pcie__write_bytes", "lts__t_bytes",
}  # fmt: skip


VERSIONS = [v for v in all_of("cupti") if "pm_sampling.Collector" in v]
NEWEST = VERSIONS[-1]


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
        self.trigger = -1
        self.queue: list[list[Any]] = []

    def enable(self) -> None:
        if self.cupti.fails is not None:
            raise self.cupti.fails
        self.state.append("enabled")

    def configure(
        self,
        *,
        metrics: list[str],
        hardware_buffer_size: int,
        sampling_interval: int,
        trigger_mode: int,
    ) -> None:
        assert hardware_buffer_size > 0
        assert sampling_interval > 0
        if trigger_mode not in self.cupti.triggers:
            raise ValueError("the trigger is not supported on this GPU")
        if len(metrics) > self.cupti.per_pass:
            raise ValueError("the metrics cannot be collected in a single pass")
        self.metrics, self.trigger = metrics, trigger_mode

    def start(self) -> None:
        self.state.append("started")

    def stop(self) -> None:
        self.state.append("stopped")

    def disable(self) -> None:
        self.state.append("disabled")

    def decode(self, max_samples: int) -> Any:
        assert self.state[-1] == "started", "decode before disable"
        return iter(self.queue.pop(0) if self.queue else [])


class Host:
    """What knows the counters of a chip."""

    def __init__(self, cupti: Cupti, chip: str, kind: int) -> None:
        assert (chip, kind) == ("GH100", 1)
        self.cupti = cupti

    def initialize(self) -> None:
        self.cupti.hosts_open += 1

    def deinitialize(self) -> None:
        self.cupti.hosts_open -= 1

    def get_base_metrics(self, kind: int) -> list[str]:
        assert kind == 0
        return sorted(self.cupti.counters)


class Params(SimpleNamespace):
    @property
    def ptr(self) -> Any:
        return self


class Cupti:
    """The package in one version: ``cupti``, ``pm_sampling``, ``profiler_host``."""

    def __init__(
        self,
        counters: set[str] = COUNTERS,
        per_pass: int = 6,
        fails: Exception | None = None,
        triggers: Sequence[int] = (0, 1),
        version: Signatures = NEWEST,
    ) -> None:
        self.counters, self.per_pass, self.fails = counters, per_pass, fails
        self.triggers = triggers
        self.collectors: list[Collector] = []
        self.hosts_open = 0
        modules: dict[str, dict[str, Any]] = {
            "cupti": {
                "DeviceGetChipNameParams": Params,
                "Device_GetChipName_Params": Params,
                "device_get_chip_name": self.name_of,
            },
            "pm_sampling": {"Collector": self.collector},
            "profiler_host": {"ProfilerHost": lambda chip, kind: Host(self, chip, kind)},
        }
        enumerations = {
            "cupti": ["Result"],
            "pm_sampling": ["TriggerMode"],
            "profiler_host": ["ProfilerType", "MetricType"],
        }
        for part, made in modules.items():
            names = {n: version.constants(f"{part}.{n}") for n in enumerations[part]}
            module = {**vars(version.namespace(part, made)), **vars(version.constants(part))}
            setattr(self, part, SimpleNamespace(**module, **names))

    @staticmethod
    def name_of(pointer: Any) -> None:
        assert pointer.device_index == 0
        assert pointer.struct_size == 32
        pointer.p_chip_name = "GH100"

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


@pytest.mark.parametrize("version", VERSIONS, ids=lambda v: v.version)
def test_bytes_become_rates_and_percentages_means(clock: list[float], version: Signatures) -> None:
    cupti = Cupti(version=version)
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


def test_gpus_that_cannot_sample_by_time_sample_by_cycles(clock: list[float]) -> None:
    by_cycles, by_time = 0, 1
    _, collector = opened(Cupti(triggers=(by_cycles,), per_pass=2))
    assert collector.trigger == by_cycles
    assert len(collector.metrics) == 2
    assert opened(Cupti())[1].trigger == by_time
    refusal = CuptiSource.find(Cupti(triggers=()), 0)
    assert isinstance(refusal, Refusal)
    assert "not supported" in refusal.reason


class Installed:
    """Distributions by name, each with its version and what it asks for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **packages: tuple[str, list[str]]) -> None:
        self.packages = {name.replace("_", "-"): what for name, what in packages.items()}
        monkeypatch.setattr(importlib.metadata, "version", lambda name: self._find(name)[0])
        monkeypatch.setattr(importlib.metadata, "requires", lambda name: self._find(name)[1])

    def _find(self, name: str) -> tuple[str, list[str]]:
        if name not in self.packages:
            raise importlib.metadata.PackageNotFoundError(name)
        return self.packages[name]


OWN_CUPTI = ["numpy", "nvidia-cuda-cupti==13.0.85; platform_system == 'Linux'"]


@pytest.mark.parametrize(
    ("packages", "missing", "reason", "remedy"),
    [
        ({}, "cupti", "cupti-python is not installed", "pip install 'cupti-python>=13.3'"),
        (
            {"cupti_python": ("13.0.1", []), "torch": ("2.13.0", ["numpy"])},
            "cupti.pm_sampling",
            "cupti-python 13.0.1 has no PM sampling",
            "pip install 'cupti-python>=13.3'",
        ),
        (
            {"cupti_python": ("13.0.1", []), "torch": ("2.13.0", OWN_CUPTI)},
            "cupti.pm_sampling",
            "cupti-python 13.0.1 has no PM sampling",
            "use an engine without PyTorch; there pip install 'cupti-python>=13.3'",
        ),
        (
            {"cupti_python": ("13.4.0", [])},
            "elftools",
            "cupti-python 13.4.0 cannot be imported: No module named 'elftools'",
            "pip install 'cupti-python>=13.3'",
        ),
    ],
)
def test_what_is_missing_is_said_with_what_brings_it(
    monkeypatch: pytest.MonkeyPatch, packages: Any, missing: str, reason: str, remedy: str
) -> None:
    class Missing:
        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            if name.startswith("cupti"):
                raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)

    for name in [n for n in sys.modules if n.partition(".")[0] == "cupti"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv(SWITCH, "1")
    Installed(monkeypatch, **packages)
    assert CuptiSource.open(gpu()) == Refusal(reason, remedy)


def test_where_the_package_is_not_made_there_is_no_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "1")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "cupti", None)
    assert CuptiSource.open(gpu()) == Refusal("NVIDIA has no cupti-python for this system")


@pytest.mark.parametrize("version", VERSIONS, ids=lambda v: v.version)
def test_the_stand_in_is_called_as_the_package_is(version: Signatures) -> None:
    for kind, name in ((Collector, "pm_sampling.Collector"), (Host, "profiler_host.ProfilerHost")):
        methods = {n: f for n, f in vars(kind).items() if not n.startswith("_")}
        for method, function in methods.items():
            version.check_function(f"{name}.{method}", function)
    version.check_call("pm_sampling.Sample", 0, tuple(vars(sample(0, 1))))
    version.check_call("pm_sampling.Collector", 0, ("device_index",))
    version.check_call("profiler_host.ProfilerHost", 2)


def test_one_spelling_of_the_chips_name_is_in_every_version() -> None:
    spellings = {"cupti.DeviceGetChipNameParams", "cupti.Device_GetChipName_Params"}
    for version in VERSIONS:
        found = [spelling for spelling in spellings if spelling in version]
        assert found
        for spelling in found:
            for attribute in ("struct_size", "device_index", "p_chip_name", "ptr"):
                assert f"{spelling}.{attribute}" in version
