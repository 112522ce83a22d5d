"""The sampler's thread: follows the watched device, survives failures, ends."""

from __future__ import annotations

import queue
import threading
import time

import msgspec
import pytest

from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.sample import Reading
from gpuexplorer.telemetry.base import TelemetrySource
from gpuexplorer.telemetry.sampler import PERIOD_S, Sampler

WAIT_S = 20.0


def device(name: str) -> DeviceInfo:
    return DeviceInfo(
        id=name, hardware_id=name, name=name, backend="test", kind="gpu", driver="",
        compute_units=1,
    )  # fmt: skip


class Source(TelemetrySource):
    """Counts what is done to it; fails on the reading of that number."""

    name = "test"

    def __init__(self, fails_at: int | None = None) -> None:
        self.fails_at = fails_at
        self.reads = 0
        self.closed = threading.Event()

    @classmethod
    def open(cls, device: DeviceInfo) -> Source | None:
        return cls()

    def read(self) -> Reading:
        self.reads += 1
        if self.reads == self.fails_at:
            raise RuntimeError("the device went away")
        return Reading(t_ns=time.perf_counter_ns(), source=self.name, load=0.5)

    def close(self) -> None:
        self.closed.set()


Got = queue.SimpleQueue[tuple[str, Reading]]


def wait_for(got: Got, name: str) -> Reading:
    """Return the next reading of a device."""
    ends = time.monotonic() + WAIT_S
    while time.monotonic() < ends:
        found, reading = got.get(timeout=WAIT_S)
        if found == name:
            return reading
    raise AssertionError(f"no reading of {name}")


def test_readings_follow_the_watched_device_and_close_the_one_before() -> None:
    got: Got = queue.SimpleQueue()
    sources = {"a": Source(), "b": Source()}
    sampler = Sampler(lambda *r: got.put(r), period_s=0.001, open_device=lambda d: sources[d.id])
    sampler.watch(device("a"))
    wait_for(got, "a")
    sampler.watch(device("b"))
    wait_for(got, "b")
    assert sources["a"].closed.wait(WAIT_S)
    reads = sources["a"].reads
    wait_for(got, "b")
    assert sources["a"].reads == reads
    sampler.stop()
    assert sources["b"].closed.is_set()
    sampler.stop()


def test_the_period_is_kept() -> None:
    got: Got = queue.SimpleQueue()
    sampler = Sampler(lambda *r: got.put(r), open_device=lambda d: Source())
    sampler.watch(device("a"))
    first = wait_for(got, "a").t_ns
    for _ in range(3):
        last = wait_for(got, "a").t_ns
    sampler.stop()
    assert (last - first) * 1e-9 >= 3 * PERIOD_S * 0.9


def test_watching_the_same_device_again_opens_nothing() -> None:
    got: Got = queue.SimpleQueue()
    opened: list[str] = []

    def open_device(found: DeviceInfo) -> TelemetrySource:
        opened.append(found.id)
        return Source()

    sampler = Sampler(lambda *r: got.put(r), period_s=0.001, open_device=open_device)
    for _ in range(3):
        sampler.watch(device("a"))
        wait_for(got, "a")
    sampler.stop()
    assert opened == ["a"]


def test_another_view_of_the_same_hardware_keeps_the_source() -> None:
    got: Got = queue.SimpleQueue()
    opened: list[str] = []

    def open_device(found: DeviceInfo) -> TelemetrySource:
        opened.append(found.id)
        return Source()

    sampler = Sampler(lambda *r: got.put(r), period_s=0.001, open_device=open_device)
    sampler.watch(device("a"))
    wait_for(got, "a")
    sampler.watch(msgspec.structs.replace(device("a"), id="again"))
    wait_for(got, "again")
    sampler.stop()
    assert opened == ["a"]


def test_a_source_that_fails_is_closed_and_the_next_device_works() -> None:
    got: Got = queue.SimpleQueue()
    bad, good = Source(fails_at=2), Source()
    sampler = Sampler(
        lambda *r: got.put(r),
        period_s=0.001,
        open_device=lambda d: good if d.id == "good" else bad,
    )
    sampler.watch(device("bad"))
    assert bad.closed.wait(WAIT_S)
    assert bad.reads == 2
    assert wait_for(got, "bad").missing == {}
    ended = wait_for(got, "bad")
    assert ended.missing == {"load": "it failed: the device went away"} and ended.load is None
    again = msgspec.structs.replace(device("bad"), id="again")
    sampler.watch(again)
    assert wait_for(got, "again").missing == ended.missing
    assert sampler.latest is not None and sampler.latest.load is None
    sampler.watch(device("good"))
    wait_for(got, "good")
    sampler.stop()


class Slow(Source):
    """Says at its first reading that a figure is missing; takes the second until ``go`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.go = threading.Event(), threading.Event()

    def read(self) -> Reading:
        reading = super().read()
        if self.reads == 2:
            self.began.set()
            assert self.go.wait(WAIT_S)
        missing = {"power_W": "no meter"} if self.reads == 1 else {}
        return msgspec.structs.replace(reading, missing=missing)


def test_the_latest_reading_is_never_that_of_the_device_before() -> None:
    got: Got = queue.SimpleQueue()
    slow, opens = Slow(), threading.Event()

    def open_device(found: DeviceInfo) -> TelemetrySource:
        if found.id == "a":
            return slow
        assert opens.wait(WAIT_S)
        return Source()

    sampler = Sampler(lambda *r: got.put(r), period_s=0.001, open_device=open_device)
    sampler.watch(device("a"))
    wait_for(got, "a")
    assert slow.began.wait(WAIT_S)
    sampler.watch(device("b"))
    slow.go.set()
    wait_for(got, "a")
    between = sampler.latest
    opens.set()
    of_b, latest = wait_for(got, "b"), sampler.latest
    sampler.stop()
    assert between is None
    assert latest is not None and latest.t_ns >= of_b.t_ns


def test_a_reading_that_was_under_way_does_not_say_for_another_view_what_is_missing() -> None:
    got: Got = queue.SimpleQueue()
    slow = Slow()
    sampler = Sampler(lambda *r: got.put(r), period_s=0.001, open_device=lambda d: slow)
    sampler.watch(device("a"))
    wait_for(got, "a")
    assert slow.began.wait(WAIT_S)
    sampler.watch(msgspec.structs.replace(device("a"), id="again"))
    slow.go.set()
    assert wait_for(got, "again").missing == {"power_W": "no meter"}
    sampler.stop()


@pytest.mark.parametrize("error", [True, False])
def test_a_device_without_a_source_gives_no_readings_and_no_harm(error: bool) -> None:
    got: Got = queue.SimpleQueue()
    tried = threading.Event()

    def open_device(found: DeviceInfo) -> TelemetrySource | None:
        if found.id == "good":
            return Source()
        tried.set()
        if error:
            raise OSError("no such device")
        return None

    sampler = Sampler(lambda *r: got.put(r), period_s=0.001, open_device=open_device)
    sampler.watch(device("none"))
    assert tried.wait(WAIT_S)
    sampler.watch(device("good"))
    wait_for(got, "good")
    sampler.stop()
    assert got.empty() or got.get()[0] == "good"


def test_none_pauses_and_stopping_before_the_start_is_harmless() -> None:
    Sampler(lambda *r: None).stop()
    got: Got = queue.SimpleQueue()
    source = Source()
    sampler = Sampler(lambda *r: got.put(r), period_s=0.001, open_device=lambda d: source)
    sampler.watch(device("a"))
    wait_for(got, "a")
    sampler.watch(None)
    assert source.closed.wait(WAIT_S)
    sampler.stop()


def test_each_time_a_device_is_watched_what_is_missing_is_said_again() -> None:
    got: Got = queue.SimpleQueue()

    class Lacking(Source):
        def read(self) -> Reading:
            reading = super().read()
            missing = {"power_W": "no meter"} if self.reads == 1 else {}
            return msgspec.structs.replace(reading, missing=missing)

    sampler = Sampler(lambda *r: got.put(r), period_s=0.001, open_device=lambda d: Lacking())
    sampler.watch(device("a"))
    assert wait_for(got, "a").missing == {"power_W": "no meter"}
    assert wait_for(got, "a").missing == {}
    sampler.watch(device("a"))
    ends = time.monotonic() + WAIT_S
    while not (said := wait_for(got, "a").missing):
        assert time.monotonic() < ends
    assert said == {"power_W": "no meter"}
    again = msgspec.structs.replace(device("a"), id="again")
    sampler.watch(again)
    assert wait_for(got, "again").missing == {"power_W": "no meter"}
    sampler.stop()


def test_what_was_missing_and_came_is_not_said_to_be_missing_again() -> None:
    got: Got = queue.SimpleQueue()

    class Late(Source):
        def read(self) -> Reading:
            reading = super().read()
            if self.reads == 1:
                news = {"power_W": "not yet", "temperature_C": "never"}
                return msgspec.structs.replace(reading, missing=news)
            return msgspec.structs.replace(reading, power_W=1.0 if self.reads == 2 else None)

    sampler = Sampler(lambda *r: got.put(r), period_s=0.001, open_device=lambda d: Late())
    sampler.watch(device("a"))
    for _ in range(3):
        wait_for(got, "a")
    sampler.watch(device("a"))
    ends = time.monotonic() + WAIT_S
    while not (said := wait_for(got, "a").missing):
        assert time.monotonic() < ends
    sampler.stop()
    assert said == {"temperature_C": "never"}


def test_what_holds_the_clock_is_the_latest_readings_word() -> None:
    got: Got = queue.SimpleQueue()
    sampler = Sampler(lambda name, reading: got.put((name, reading)))
    assert list(sampler.clock_reasons) == []
    sampler.latest = Reading(t_ns=0, source="cpu")
    assert list(sampler.clock_reasons) == []
    sampler.latest = Reading(t_ns=0, source="nvml", throttle_reasons=("power cap",))
    assert list(sampler.clock_reasons) == ["power cap"]
