"""The document of a run says what was received, whatever ended the run."""

from __future__ import annotations

import sys
import time
from itertools import pairwise

import msgspec
import numpy as np
import pytest

from gpuexplorer.core.result import RUN_SCHEMA, Phases, RunResult
from gpuexplorer.core.sample import Reading, SampleBatch
from gpuexplorer.core.telemetry import Counters
from gpuexplorer.engine import record
from gpuexplorer.engine.record import RunRecord
from tests.support.ceilings import made_ceilings
from tests.support.prepared import prepared


def batch(values: list[float], start_ns: int = 0) -> SampleBatch:
    return SampleBatch(
        seconds=np.array(values, dtype="<f8").tobytes(),
        counts=(len(values),),
        starts_ns=(start_ns,),
    )


def test_the_document_holds_every_sample_and_the_figures_follow() -> None:
    one = RunRecord(prepared())
    one.add(batch([1e-3, 3e-3], start_ns=5_000_000_000))
    one.add(batch([2e-3], start_ns=6_000_000_000))
    one.add_reading(Reading(t_ns=5_900_000_000, source="nvml", sm_clock_Hz=1e9, power_W=50.0))
    one.end("user", Phases(compile=0.1, free=0.5))
    result = one.result()
    assert result.schema == RUN_SCHEMA
    assert result.samples_s == [1e-3, 3e-3, 2e-3]
    assert result.timing.median_s == 2e-3
    assert result.timing.stopped_by == "user"
    assert not result.timing.converged
    assert result.throughput.flop_per_s == 2000 / 2e-3
    assert result.throughput.bandwidth_B_per_s == 1200 / 2e-3
    assert result.phases_s.kernel == 2e-3
    assert result.phases_s.free == 0.5
    assert result.batches[1].sm_clock_Hz == 1e9
    assert result.batches[0].start_s == 5.0
    assert result.telemetry.power_W == 50.0
    assert result.telemetry.temperature_C is None


def test_what_is_read_while_the_result_is_checked_once_more_is_none_of_the_runs() -> None:
    one = RunRecord(prepared())
    one.add(batch([0.1] * 5, start_ns=5_000_000_000))
    for at_ms, power_W in ((4_900, 20.0), (5_200, 300.0), (5_550, 300.0), *(
        (at_ms, 20.0) for at_ms in range(5_700, 7_000, 100)
    )):  # fmt: skip
        one.add_reading(Reading(t_ns=at_ms * 1_000_000, source="nvml", power_W=power_W))
    assert one.result().telemetry.power_W == 300.0


def test_the_document_survives_json_bit_for_bit() -> None:
    one = RunRecord(prepared())
    one.add(batch([1 / 3 * 1e-3, 2 / 7 * 1e-3]))
    result = one.result()
    again = msgspec.json.decode(msgspec.json.encode(result), type=RunResult)
    assert again == result


def test_a_library_that_may_do_fewer_operations_is_not_called_impossible() -> None:
    """cuDNN's Winograd convolution does a quarter of what the formula says."""
    said = []
    for fewer_flops in (False, True):
        work = msgspec.structs.replace(prepared(), flops=2e9, fewer_flops=fewer_flops)
        one = RunRecord(work)
        one.ceilings = made_ceilings()
        one.add(batch([2e9 / 300e9] * 20))  # the device reaches 200 GFLOP/s
        said.append(one.result().timing.suspect)
    assert said[0] is not None and said[1] is None


def test_the_schema_comes_first() -> None:
    one = RunRecord(prepared())
    one.add(batch([1e-3]))
    assert msgspec.json.encode(one.result()).startswith(b'{"schema":"gpuexplorer/run/1","id":')


def test_no_samples_make_no_document() -> None:
    with pytest.raises(ValueError, match="no samples"):
        RunRecord(prepared()).result()


def test_the_oldest_samples_go_and_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "MAX_SAMPLES", 10)
    one = RunRecord(prepared())
    for i in range(6):
        one.add(batch([float(i)] * 4))
    assert one.samples == 8
    assert one.dropped == 16
    assert set(one.samples_s()) == {4.0, 5.0}


def test_messages_of_one_sample_are_joined_and_tell_the_same() -> None:
    plain, packed = RunRecord(prepared()), RunRecord(prepared())
    packed.id, packed.time_utc = plain.id, plain.time_utc
    for i in range(1000):
        reading = Reading(t_ns=i * 30_000_000, source="nvml", sm_clock_Hz=1e9 + i, energy_J=i * 1.0)
        for one in (plain, packed):
            one.add(batch([1e-3 + i * 1e-6], start_ns=i * 30_000_000))
            one.add_reading(reading)
        packed.pack()
    assert len(packed.batches) < 1000 / record.PACK + 2 * record.PACK
    assert list(packed.batches[-record.PACK :]) == list(plain.batches[-record.PACK :])
    assert packed.samples == plain.samples
    assert packed.result() == plain.result()
    assert packed.snapshot().samples_s().tolist() == plain.samples_s().tolist()


def test_joined_messages_go_when_there_are_too_many_samples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(record, "MAX_SAMPLES", 500)
    monkeypatch.setattr(record, "BLOCK_SAMPLES", record.PACK)
    one = RunRecord(prepared())
    for i in range(2000):
        one.add(batch([float(i)], start_ns=i))
        one.pack()
    kept = one.samples_s().tolist()
    assert 500 - record.PACK < len(kept) <= 500
    assert kept == [float(i) for i in range(2000 - len(kept), 2000)]
    assert one.dropped == 2000 - len(kept)
    assert len(one.batches) < 3 * record.PACK


@pytest.mark.parametrize("samples", [1, 7, 860, 40_000, 70_000])
def test_joined_messages_are_few_and_of_a_size_that_goes_back_to_the_system(samples: int) -> None:
    one = RunRecord(prepared())
    for i in range(400):
        one.add(batch([1e-6 * (i + 1)] * samples, start_ns=i * 1_000_000))
        one.pack()
    packed = one.batches[: -2 * record.PACK]
    sizes = [sum(message.counts) for message in packed]
    assert all(size <= max(record.BLOCK_SAMPLES, samples) for size in sizes)
    neighbours = [a + b for a, b in pairwise(sizes)]
    assert all(size > record.BLOCK_SAMPLES for size in neighbours), "two would fit into one"
    assert [message.starts_ns[0] for message in one.batches] == sorted(
        message.starts_ns[0] for message in one.batches
    )
    assert one.samples + one.dropped == 400 * samples


def test_with_transfers_the_phases_are_medians_of_the_samples() -> None:
    one = RunRecord(prepared())
    for factor in (1.0, 2.0, 3.0):
        row = (factor, factor * 2, factor * 3, factor * 4, factor * 5)
        one.add(msgspec.structs.replace(batch([sum(row)]), phases_s=np.array(row).tobytes()))
    phases = one.result().phases_s
    assert (phases.allocate, phases.kernel, phases.free) == (2.0, 6.0, 10.0)
    assert phases.compile == 0.1


def test_with_transfers_a_sample_is_an_object_or_two() -> None:
    sent = msgspec.msgpack.encode(
        msgspec.structs.replace(batch([15e-3]), phases_s=np.arange(5.0).tobytes())
    )
    one = RunRecord(prepared())
    before = sys.getallocatedblocks()
    for number in range(20_000):
        told = msgspec.msgpack.decode(sent, type=SampleBatch)
        one.add(msgspec.structs.replace(told, starts_ns=(number * 20_000_000,)))
        one.pack()
    assert sys.getallocatedblocks() - before < 2 * 20_000
    assert one.result().phases_s.kernel == 2.0


def test_one_sample_has_no_spread_and_a_time_of_zero_no_rate() -> None:
    one = RunRecord(prepared())
    one.add(batch([0.0]))
    result = one.result()
    assert result.timing.stdev_s is None
    assert result.throughput.flop_per_s is None
    assert result.throughput.bandwidth_B_per_s is None


def test_each_batch_has_its_median_and_the_reading_nearest_in_time() -> None:
    one = RunRecord(prepared())
    sizes = np.random.default_rng(1).integers(1, 8, 200).tolist()
    series = np.random.default_rng(2).random(sum(sizes))
    parts = np.split(series, np.cumsum(sizes)[:-1])
    for i, part in enumerate(parts):
        one.add(batch(part.tolist(), start_ns=i * 10))
    for t_ns in (900, 100, 1500):
        one.add_reading(Reading(t_ns=t_ns, source="x", sm_clock_Hz=float(t_ns)))
    found = one.result().batches
    assert [b.samples for b in found] == sizes
    assert [b.median_s for b in found] == [float(np.median(part)) for part in parts]
    assert [b.sm_clock_Hz for b in found[::40]] == [100.0, 100.0, 900.0, 900.0, 1500.0]


def test_an_hour_of_batches_becomes_a_document_in_seconds() -> None:
    one = RunRecord(prepared())
    count = 300_000
    one.add(
        SampleBatch(
            seconds=np.full(count, 1e-3).tobytes(),
            counts=(1,) * count,
            starts_ns=tuple(range(0, count * 10_000_000, 10_000_000)),
        )
    )
    for i in range(30_000):
        one.add_reading(Reading(t_ns=i * 100_000_000, source="x"))
    started = time.process_time()
    assert len(one.result().batches) == count
    assert time.process_time() - started < 20.0


def steady(samples: int = 400, seed: int = 3) -> list[float]:
    return list(np.random.default_rng(seed).normal(1e-3, 1e-5, samples))


def test_samples_at_a_low_clock_are_marked_and_not_in_the_figures() -> None:
    one = RunRecord(prepared())
    for i in range(10):
        low = i in (3, 4)
        values = np.array(steady(seed=i)) * (2 if low else 1)
        clock_Hz = 0.8e9 if low else 1.5e9
        one.add(msgspec.structs.replace(batch(values.tolist()), clocks_Hz=(clock_Hz,)))
    result = one.result()
    assert result.timing.marked_throttled == 800
    assert result.timing.samples == len(result.samples_s) == 4000
    assert result.timing.median_s == pytest.approx(1e-3, rel=0.01)
    assert result.timing.p95_s < 1.1e-3
    assert result.throughput.flop_per_s == 2000 / result.timing.median_s
    assert result.batches[3].sm_clock_Hz == 0.8e9
    assert any("clock was held down during 20 %" in said for said in result.timing.warnings)


def test_a_clock_read_before_the_run_throttles_nothing() -> None:
    one = RunRecord(prepared())
    one.add_reading(Reading(t_ns=900_000_000, source="cpu", sm_clock_Hz=0.8e9))
    for i in range(20):
        slow = 2 if i < 2 else 1
        one.add(batch((np.array(steady()) * slow).tolist(), start_ns=1_000_000_000 + i * 10**8))
        if i >= 2:
            t_ns = 1_000_000_000 + i * 10**8
            one.add_reading(Reading(t_ns=t_ns, source="cpu", sm_clock_Hz=2e9))
    assert one.result().timing.marked_throttled == 0


def test_a_batch_far_from_any_reading_has_no_clock_and_no_power() -> None:
    one = RunRecord(prepared())
    for start_ns in (1_000_000_000, 9_000_000_000):
        one.add(batch(steady(), start_ns=start_ns))
    for t_ns in (900_000_000, 1_100_000_000):  # one of the rest, one of the run
        power_W = 50.0 if t_ns < 1_000_000_000 else 250.0
        one.add_reading(Reading(t_ns=t_ns, source="nvml", sm_clock_Hz=2e9, power_W=power_W))
    near, far = one.result().batches
    assert (near.sm_clock_Hz, near.power_W) == (2e9, 250.0)
    assert (far.sm_clock_Hz, far.power_W) == (None, None)


def test_readings_beside_the_batches_mark_those_that_were_slower() -> None:
    one = RunRecord(prepared())
    for i in range(20):
        low = 8 <= i < 12
        t_ns = i * 10**8
        one.add(batch((np.array(steady()) * (1.5 if low else 1)).tolist(), start_ns=t_ns))
        one.add_reading(Reading(t_ns=t_ns, source="nvml", sm_clock_Hz=1e9 if low else 2e9))
    assert one.result().timing.marked_throttled == 4 * 400


def read_beside(
    clock_Hz: float, *reasons: str, counted_Hz: float | None = None, highest_Hz: float = 2.04e9
) -> RunRecord:
    """Return a record of ten batches, each with a reading beside it."""
    device = msgspec.structs.replace(prepared().device, nominal_clock_Hz=highest_Hz)
    one = RunRecord(msgspec.structs.replace(prepared(), device=device))
    for i in range(10):
        made = batch(steady(seed=i), start_ns=i * 10**8)
        one.add(msgspec.structs.replace(made, clocks_Hz=(counted_Hz,)))
        one.add_reading(
            Reading(t_ns=i * 10**8, source="nvml", sm_clock_Hz=clock_Hz, throttle_reasons=reasons)
        )
    return one


@pytest.mark.parametrize("counted_Hz", [None, 1.1e9])
def test_at_its_own_power_limit_a_figure_is_true_with_a_remark(counted_Hz: float | None) -> None:
    timing = read_beside(1.1e9, "power cap", counted_Hz=counted_Hz).result().timing
    assert timing.marked_throttled == 0
    assert timing.warnings == ("at its power limit, 1.10 GHz of 2.04 GHz at most",)
    assert timing.median_s == pytest.approx(1e-3, rel=0.01)


def test_a_limit_that_costs_nothing_or_was_seen_once_is_no_remark() -> None:
    assert read_beside(2.0e9, "power cap").result().timing.warnings == ()
    once = read_beside(1.1e9)
    once.add_reading(Reading(t_ns=10**9, source="nvml", throttle_reasons=("power cap",)))
    assert once.result().timing.warnings == ()


def test_hardware_that_protects_itself_makes_figures_of_a_throttled_device() -> None:
    result = read_beside(1.0e9, "power cap", "power brake").result()
    assert result.timing.marked_throttled == 4000
    assert "throttled device" in result.timing.warnings[0]
    assert result.timing.median_s == pytest.approx(1e-3, rel=0.01)


def test_a_batch_whose_clock_nobody_knows_is_never_marked() -> None:
    one = RunRecord(prepared())
    for i in range(10):
        one.add(batch(steady(seed=i), start_ns=i * 10**8))
        one.add_reading(Reading(t_ns=i * 10**8, source="nvml", throttle_reasons=("power brake",)))
    assert one.result().timing.marked_throttled == 0


def test_a_batch_too_short_for_its_clock_is_judged_by_the_reading_beside_it() -> None:
    one = RunRecord(prepared())
    for i in range(20):
        low = i in (7, 8)
        t_ns = i * 10**8
        made = batch((np.array(steady()) * (1.6 if low else 1)).tolist(), start_ns=t_ns)
        counted_Hz = None if i in (7, 12) else 1e9 if low else 2e9
        one.add(msgspec.structs.replace(made, clocks_Hz=(counted_Hz,)))
        clock_Hz = 1e9 if low or i == 12 else 2e9  # the twelfth is as fast as the others
        one.add_reading(Reading(t_ns=t_ns, source="nvml", sm_clock_Hz=clock_Hz))
    assert one.result().timing.marked_throttled == 2 * 400


def test_what_is_odd_about_a_series_stands_in_the_document() -> None:
    one = RunRecord(prepared())
    values = np.array(steady(2000)) * np.linspace(1, 1.2, 2000)
    values[::400] = 1e-2
    one.add(batch(values.tolist()))
    timing = one.result().timing
    assert timing.outliers == 5
    assert timing.warnings[0].startswith("the times drift: the last fifth is 1")
    assert not timing.converged


def test_a_run_has_converged_when_it_is_known_as_well_as_was_asked() -> None:
    values = np.random.default_rng(5).normal(1e-3, 1e-4, 400).tolist()
    for max_noise, converged in ((None, False), (0.1, True), (1e-4, False)):
        one = RunRecord(prepared(), max_noise=max_noise)
        one.add(batch(values))
        timing = one.result().timing
        assert timing.max_noise == (max_noise or 0.005)
        assert timing.converged is converged


def long_run(one: RunRecord, seconds: float = 7.0, rest_s: float = 1.5) -> None:
    """Add a rest at 50 W, then launches of 1 ms at 250 W that move 2 GB each."""
    one.idle_power_W = 50.0
    for i in range(int(seconds / 0.01)):
        one.add(batch([1e-3] * 10, start_ns=2_000_000_000 + i * 10_000_000))
    steps = int((rest_s + seconds) / 0.1)
    for step in range(steps):
        t_s = step * 0.1 - rest_s
        energy_J = 50.0 * (t_s + rest_s) + 200.0 * max(t_s, 0.0)
        one.add_reading(
            Reading(
                t_ns=2_000_000_000 + int(t_s * 1e9),
                source="nvml",
                energy_J=energy_J,
                dram_B_per_s=2e12 if t_s > 0 else 0.0,
                interval_s=0.1,
                occupancy=0.5,
                sources={"dram_B_per_s": "gpm", "occupancy": "gpm"},
            )
        )


def test_energy_and_measured_bytes_of_a_launch_stand_in_the_document() -> None:
    one = RunRecord(prepared())
    long_run(one)
    result = one.result()
    state = result.telemetry
    assert state.energy_per_launch_J == pytest.approx(0.2, rel=0.01)
    assert state.idle_power_W == 50.0
    assert state.energy_reason is None
    assert state.occupancy == 0.5
    assert state.source == "nvml, gpm"
    (dram,) = [t for t in result.traffic if t.kind == "dram"]
    assert dram.source == "gpm"
    assert dram.combined_B == pytest.approx(2e9, rel=0.01)
    assert (dram.read_B, dram.write_B) == (None, None)
    assert result.throughput.bandwidth_B_per_s == pytest.approx(1200 / 1e-3)  # not mixed


def test_the_rest_before_a_run_is_no_part_of_its_state() -> None:
    one = RunRecord(prepared())
    one.add(batch([1e-3] * 10, start_ns=3_000_000_000))
    for i in range(30):  # two thirds of the readings are of the rest
        works = i >= 20
        one.add_reading(
            Reading(
                t_ns=1_000_000_000 + i * 100_000_000,
                source="nvml" if works else "probe",
                sm_clock_Hz=1.9e9 if works else 0.3e9,
                power_W=250.0 if works else 50.0,
                load=1.0 if works else 0.0,
                throttle_reasons=() if works else ("idle",),
            )
        )
    state = one.result().telemetry
    assert (state.sm_clock_Hz, state.power_W, state.load) == (1.9e9, 250.0, 1.0)
    assert (state.throttle_reasons, state.source) == ((), "nvml")


def test_what_a_counter_cannot_tell_is_null_with_the_reason() -> None:
    one = RunRecord(prepared())
    long_run(one, seconds=2.0)
    state = one.result().telemetry
    assert state.energy_per_launch_J is None
    assert state.energy_reason == "too short to tell: needs 5 s, ran 1.9 s"
    cold = RunRecord(msgspec.structs.replace(prepared(), untimed_B=1e9))
    long_run(cold)
    result = cold.result()
    assert result.telemetry.dram_reason is not None
    assert "moved between launches" in result.telemetry.dram_reason
    assert all(t.kind != "dram" for t in result.traffic)
    assert result.telemetry.energy_per_launch_J is None
    assert result.telemetry.energy_reason is not None
    assert "moved between launches" in result.telemetry.energy_reason
    bare = RunRecord(prepared())
    bare.add(batch([1e-3]))
    assert bare.result().telemetry.energy_reason == "the device was not read"


def test_a_run_with_transfers_has_no_energy_of_the_kernel() -> None:
    config = msgspec.structs.replace(prepared().config, switches={"include_transfers": True})
    one = RunRecord(msgspec.structs.replace(prepared(), config=config))
    long_run(one)
    state = one.result().telemetry
    assert state.energy_per_launch_J is None
    assert state.energy_reason is not None
    assert "transfers" in state.energy_reason


def test_while_a_run_goes_on_only_its_latest_time_is_looked_at() -> None:
    one = RunRecord(prepared())
    one.add_reading(Reading(t_ns=1, source="nvml", missing={"energy_J": "no counter"}))
    long_run(one, seconds=30.0)
    state, dram = one.state(8.0)
    assert state.energy_per_launch_J == pytest.approx(0.2, rel=0.01)
    assert dram is not None
    assert dram.total_B == pytest.approx(2e9, rel=0.01)


def test_a_profilers_bytes_stand_beside_the_counters() -> None:
    one = RunRecord(prepared())
    long_run(one)
    one.count(Counters(kernels=("k",), dram_read_B=1e9, dram_write_B=1e9, l2_B=3e9, occupancy=0.9))
    result = one.result()
    assert [(t.kind, t.source) for t in result.traffic] == [
        ("compulsory", "model"), ("dram", "gpm"), ("dram", "ncu"), ("l2", "ncu"),
    ]  # fmt: skip
    assert result.telemetry.occupancy == 0.5  # read over the run
    bare = RunRecord(prepared())
    bare.add(batch([1e-3]))
    bare.count(one.counters)
    assert bare.result().telemetry.occupancy == 0.9
    assert bare.result().telemetry.source == "ncu"


def test_samples_that_are_means_of_groups_count_as_all_their_launches() -> None:
    one = RunRecord(prepared())
    long_run(one)
    grouped = RunRecord(prepared())
    for kept in one._batches:
        half = SampleBatch(
            seconds=kept.seconds[: len(kept.seconds) // 2],
            counts=(kept.counts[0] // 2,),
            starts_ns=tuple(kept.starts_ns),
            launches=(2,),
        )
        grouped.add(half)
    grouped.idle_power_W = one.idle_power_W
    for reading in one.readings:
        grouped.add_reading(reading)
    first, second = one.state(), grouped.state()
    assert first[0].energy_per_launch_J == pytest.approx(second[0].energy_per_launch_J)
    assert first[1] is not None
    assert second[1] is not None
    assert first[1].total_B == pytest.approx(second[1].total_B)


def test_batches_that_arrive_late_and_together_are_told_apart() -> None:
    one, late = RunRecord(prepared()), RunRecord(prepared())
    long_run(one)
    parts = one._batches
    late.add(
        SampleBatch(
            seconds=b"".join(b.seconds for b in parts),
            counts=tuple(b.counts[0] for b in parts),
            starts_ns=tuple(b.starts_ns[0] for b in parts),
        )
    )
    late.idle_power_W = one.idle_power_W
    for reading in one.readings:
        late.add_reading(reading)
    assert one.state()[0].energy_per_launch_J == pytest.approx(
        late.state()[0].energy_per_launch_J, rel=0.01
    )
