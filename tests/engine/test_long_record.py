"""The record of a run that goes on for hours tells what was received, and takes little memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from typing import TypeVar

import msgspec
import numpy as np
import pytest

from gpuexplorer.core.sample import DeviceUser, Reading, SampleBatch
from gpuexplorer.core.sample_block import Samples, unpacked
from gpuexplorer.engine import record
from gpuexplorer.engine.readings import PACK, Readings
from gpuexplorer.engine.record import MAX_READINGS, RunRecord
from gpuexplorer.engine.sampled import Sampled
from tests.support.prepared import prepared


def batch(values: list[float], start_ns: int = 0) -> SampleBatch:
    return SampleBatch(
        seconds=np.array(values, dtype="<f8").tobytes(),
        counts=(len(values),),
        starts_ns=(start_ns,),
    )


def test_joined_messages_tell_of_clocks_launches_and_phases_what_the_messages_told() -> None:
    plain, packed = RunRecord(prepared()), RunRecord(prepared())
    packed.id, packed.time_utc = plain.id, plain.time_utc
    for i in range(1000):
        sent = SampleBatch(
            seconds=np.array([1e-3, 2e-3, 3e-3]).tobytes(),
            counts=(1, 2),
            starts_ns=(i * 1_000_000_000, i * 1_000_000_000 + 500_000_000),
            launches=(1, 4) if i % 3 else (),
            clocks_Hz=(None, 1e9 + i) if i % 2 else (),
            phases_s=np.arange(15.0).tobytes(),
        )
        for one in (plain, packed):
            one.add(sent)
        packed.pack()
    assert len(packed.batches) < 500
    assert packed.result() == plain.result()
    assert packed.state(100.0) == plain.state(100.0)
    again, as_sent = Sampled.of(packed), [unpacked(one) for one in packed.batches]
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(again), type=Sampled).batches == as_sent
    columns = zip(sample_columns(plain.batches), sample_columns(packed.batches), strict=True)
    assert all(one == other for one, other in columns)


def sample_columns(batches: Sequence[Samples]) -> list[list[object]]:
    """Return all batches' counts, starts, launches and clocks, with what empty ones stand for."""
    return [
        [n for b in batches for n in b.counts],
        [n for b in batches for n in b.starts_ns],
        [n for b in batches for n in b.launches or (1,) * len(b.counts)],
        [n for b in batches for n in b.clocks_Hz or (None,) * len(b.counts)],
    ]


def test_the_oldest_batches_go_when_there_are_too_many_and_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(record, "MAX_BATCHES", 1000)
    monkeypatch.setattr(record, "BLOCK_BATCHES", record.PACK)
    one = RunRecord(prepared())
    for i in range(3000):
        one.add(batch([float(i)], start_ns=i))
        one.pack()
    kept = one.samples_s().tolist()
    assert 1000 - record.PACK < len(kept) <= 1000
    assert kept == [float(i) for i in range(3000 - len(kept), 3000)]
    assert one.dropped == 3000 - len(kept)


Message = TypeVar("Message", SampleBatch, Reading)


def decoded(message: Message) -> Message:
    """Return a message as one that was sent."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=type(message))


@pytest.mark.parametrize(("samples", "counted"), [(1, False), (1, True), (10, True)])
def test_a_batch_of_a_long_run_takes_a_few_numbers_more_than_its_samples(
    samples: int, counted: bool
) -> None:
    tracemalloc.start()
    try:
        one = RunRecord(prepared())
        before_B = tracemalloc.get_traced_memory()[0]
        for i in range(20_000):
            told = msgspec.structs.replace(
                batch([1e-3] * samples, start_ns=10**15 + i * 20_000_000),
                clocks_Hz=(1e9 + i,) if counted else (),
            )
            one.add(decoded(told))
            one.pack()
        taken_B = tracemalloc.get_traced_memory()[0] - before_B
    finally:
        tracemalloc.stop()
    latest_B = 2 * record.PACK * 1000
    assert taken_B < 20_000 * (8 * samples + 32) + latest_B


def busy_reading(number: int) -> Reading:
    """Return a reading that has as many fields as those of a GPU with counters."""
    value = 1 + number / 7
    return decoded(
        Reading(
            t_ns=10**15 + number * 105_000_000,
            source="nvml",
            sm_clock_Hz=1.98e9 - 15e6 * (number % 3),
            memory_clock_Hz=2.6e9,
            power_W=400 + value,
            temperature_C=50.0,
            memory_used_B=1e9,
            load=1.0,
            users=(DeviceUser(pid=7, program="other"),) if number % 5 == 0 else (),
            throttle_reasons=("sw_power_cap",) if number % 2 else None,
            energy_J=40 * value,
            dram_B_per_s=value * 1e9,
            pcie_rx_B_per_s=value,
            occupancy=0.5,
            interval_s=0.105,
            sources=dict.fromkeys(("dram_B_per_s", "occupancy", "pcie_rx_B_per_s"), "gpm"),
        )
    )


def test_an_hour_of_readings_takes_a_few_mebibytes_and_comes_back_as_it_was() -> None:
    tracemalloc.start()
    try:
        one = RunRecord(prepared())
        before_B = tracemalloc.get_traced_memory()[0]
        for number in range(34_000):
            one.add_reading(busy_reading(number))
        taken_B = tracemalloc.get_traced_memory()[0] - before_B
    finally:
        tracemalloc.stop()
    assert taken_B < 8 * 2**20
    held = one.snapshot()
    for number in range(34_000, 40_000):
        one.add_reading(busy_reading(number))
    assert held.readings == [busy_reading(number) for number in range(34_000)]
    kept = len(one.readings)
    assert MAX_READINGS - 2 * PACK < kept <= MAX_READINGS
    assert one.readings == [busy_reading(number) for number in range(40_000 - kept, 40_000)]


@pytest.mark.parametrize("seconds", [1.0, 60.0, 150.0, 1000.0])
def test_the_latest_state_rests_on_the_latest_readings_however_many_are_packed(
    seconds: float,
) -> None:
    readings = Readings()
    for number in range(3000):
        readings.add(busy_reading(number), MAX_READINGS)
    since_ns = busy_reading(2999).t_ns - int(seconds * 1e9)
    told = readings.all()
    assert readings.since(since_ns) == [one for one in told if one.t_ns >= since_ns]
