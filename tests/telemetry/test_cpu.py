"""The processor's readings, from this very machine and from systems that report less."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any, NamedTuple

import psutil
import pytest

from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.telemetry.cpu import CpuSource
from gpuexplorer.telemetry.ladder import Ladder, open_source
from gpuexplorer.telemetry.sampler import PERIOD_S

CPU = DeviceInfo(
    id="opencl:0", hardware_id="cpu:Test", name="Test", backend="opencl", kind="cpu",
    driver="", compute_units=1,
)  # fmt: skip


def test_this_machines_readings_are_plausible() -> None:
    source = open_source(CPU)
    assert isinstance(source, Ladder)
    assert isinstance(source.rungs[-1], CpuSource)
    first = source.read()
    ends = time.perf_counter() + 0.05
    while time.perf_counter() < ends:
        pass  # some load to see
    reading = source.read()
    assert reading.source == "cpu"
    assert reading.load is not None
    assert 0 < reading.load <= 1
    assert reading.memory_used_B is not None
    assert 1e6 < reading.memory_used_B < psutil.virtual_memory().total
    assert reading.sm_clock_Hz is None or 1e8 < reading.sm_clock_Hz < 1e10
    assert reading.missing == {}
    assert (reading.power_W is None) is ("power_W" in first.missing)
    assert all("RAPL: " in first.missing[f] for f in {"power_W", "energy_J"} & set(first.missing))


def test_ten_readings_a_second_take_less_than_a_hundredth_of_a_core() -> None:
    source = CpuSource(psutil)
    source.read()
    readings = 50
    began = time.thread_time()
    for _ in range(readings):
        source.read()
    each_s = (time.thread_time() - began) / readings
    assert each_s / PERIOD_S < 0.01


class Bare:
    """psutil on a system that reports neither clock nor temperature."""

    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)

    @staticmethod
    def Process() -> Any:
        return SimpleNamespace(memory_info=lambda: SimpleNamespace(rss=123))

    @staticmethod
    def cpu_percent(interval: float | None) -> float:
        return 250.0


def test_what_a_system_does_not_report_is_none_with_a_reason_once() -> None:
    source = CpuSource(Bare())
    first, second = source.read(), source.read()
    assert first.sm_clock_Hz is None
    assert first.temperature_C is None
    assert set(first.missing) == {"sm_clock_Hz", "temperature_C"}
    assert second.missing == {}
    assert first.load == 1.0
    assert first.memory_used_B == 123


def test_the_hottest_sensor_of_the_processor_counts_and_no_other() -> None:
    sensors = {
        "nvme": [SimpleNamespace(current=90.0)],
        "coretemp": [SimpleNamespace(current=51.0), SimpleNamespace(current=57.0)],
    }
    source = CpuSource(
        Bare(
            sensors_temperatures=lambda: sensors,
            cpu_freq=lambda: SimpleNamespace(current=3100.0),
        )
    )
    reading = source.read()
    assert reading.temperature_C == 57.0
    assert reading.sm_clock_Hz == 3.1e9


def test_the_clock_is_asked_seldom() -> None:
    asked = []

    def cpu_freq() -> Any:
        asked.append(1)
        return SimpleNamespace(current=3000.0)

    source = CpuSource(Bare(cpu_freq=cpu_freq))
    for _ in range(20):
        assert source.read().sm_clock_Hz == 3e9
    assert len(asked) == 1


class Times(NamedTuple):
    """Seconds of all cores together, as psutil tells them on Linux."""

    user: float
    system: float
    idle: float
    steal: float
    guest: float = 0.0


class Machine(Bare):
    """psutil on a machine of two cores whose time is spent as the test says."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.times = Times(50.0, 5.0, 145.0, 0.0)
        self.used = {"engine": 20.0, "window": 10.0}
        super().__init__(cpu_times=lambda: self.times, Error=LookupError)

    def spend(
        self, seconds: float, engine: float, window: float, others: float, stolen: float
    ) -> None:
        """Let time pass, of which each had so many seconds of a core."""
        self.now_s += seconds
        self.used["engine"] += engine
        self.used["window"] += window
        user, system, idle, steal, _ = self.times
        busy = engine + window + others
        self.times = Times(
            user + busy, system, idle + 2 * seconds - busy - stolen, steal + stolen, guest=others
        )

    def Process(self) -> Any:  # type: ignore[override]
        def one(name: str, parent: Any = None) -> Any:
            return SimpleNamespace(
                memory_info=lambda: SimpleNamespace(rss=123),
                cpu_times=lambda: SimpleNamespace(user=self.used[name], system=0.0),
                parent=lambda: parent,
            )

        return one("engine", one("window"))


def test_what_others_use_of_the_processor_is_what_neither_engine_nor_window_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = Machine()
    monkeypatch.setattr("gpuexplorer.telemetry.cpu.time.monotonic", lambda: machine.now_s)
    source = CpuSource(machine)
    assert source.read().other_cores is None, "nothing has passed yet"
    machine.spend(2.0, engine=1.5, window=0.1, others=1.8, stolen=0.4)
    reading = source.read()
    assert reading.other_cores == pytest.approx(0.9)
    assert reading.stolen == pytest.approx(0.1)
    machine.spend(2.0, engine=2.0, window=0.0, others=0.0, stolen=0.0)
    assert source.read().other_cores == pytest.approx(0.0)


def test_others_are_still_told_apart_once_the_window_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = Machine()
    monkeypatch.setattr("gpuexplorer.telemetry.cpu.time.monotonic", lambda: machine.now_s)
    source = CpuSource(machine)
    source.read()
    machine.spend(2.0, engine=1.0, window=0.0, others=1.0, stolen=0.0)
    before = source.read().other_cores
    machine.used = {"engine": machine.used["engine"]}  # KeyError is a LookupError
    for _ in range(3):
        machine.now_s += 2.0
        user, system, idle, steal, _ = machine.times
        machine.used["engine"] += 1.0
        machine.times = Times(user + 2.0, system, idle + 2.0, steal)
        after = source.read().other_cores
    assert before == after == pytest.approx(0.5)


def test_a_device_nobody_reads_has_no_source() -> None:
    other = DeviceInfo(
        id="opencl:1", hardware_id="Platform:GPU:0", name="GPU", backend="opencl", kind="gpu",
        driver="", compute_units=1,
    )  # fmt: skip
    assert open_source(other) is None
