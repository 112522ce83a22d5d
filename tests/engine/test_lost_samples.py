"""Samples that were lost on their way are missing where a counter is divided by launches."""

from __future__ import annotations

import numpy as np
import pytest

from gpuexplorer.core.sample import Reading, SampleBatch
from gpuexplorer.engine import record
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.sampled import Sampled
from tests.support.prepared import prepared

WHY = "samples were lost on their way, while the counters ran on"


def long_run(*, seconds: float, lost_s: tuple[float, float] | None = None) -> RunRecord:
    """Launches of 1 ms at 150 W, 100 W of which at rest; those of a time in ``lost_s`` are lost."""
    one = RunRecord(prepared())
    one.idle_power_W = 100.0
    dropped = 0
    for number in range(round(seconds * 10)):
        t_s, t_ns = number / 10, 10**9 + number * 10**8
        reading = Reading(
            t_ns=t_ns, source="nvml", energy_J=150.0 * t_s, dram_B_per_s=1e9, interval_s=0.1
        )
        one.add_reading(reading)
        if lost_s is not None and lost_s[0] <= t_s < lost_s[1]:
            dropped += 100
            continue
        seconds_of_each = np.full(100, 1e-3).astype("<f8").tobytes()
        batch = SampleBatch(seconds=seconds_of_each, counts=(100,), starts_ns=(t_ns,))
        one.add(batch, dropped=dropped)
        dropped = 0
    return one


def energy_of(one: RunRecord, latest_s: float | None = None) -> float | str | None:
    state, dram = one.state(latest_s)
    assert (dram is None) == (state.energy_per_launch_J is None)
    assert state.dram_reason == state.energy_reason
    return state.energy_per_launch_J or state.energy_reason


def test_neither_energy_nor_bytes_are_told_of_a_run_whose_samples_were_lost() -> None:
    assert energy_of(long_run(seconds=10.0)) == pytest.approx(0.05)
    one = long_run(seconds=10.0, lost_s=(3.0, 6.0))
    assert one.dropped == 3000
    assert energy_of(one) == WHY
    assert energy_of(one.snapshot()) == WHY


def test_what_was_sampled_after_the_loss_tells_them_again() -> None:
    one = long_run(seconds=20.0, lost_s=(3.0, 6.0))
    assert energy_of(one, 15.0) == WHY
    assert energy_of(one, 13.0) == pytest.approx(0.05)


def test_samples_that_the_record_itself_lets_go_hide_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(record, "MAX_SAMPLES", 7000)
    one = long_run(seconds=10.0)
    assert one.dropped == 3000
    assert energy_of(one) == pytest.approx(0.05)


def test_a_device_without_counters_says_that_first() -> None:
    one = long_run(seconds=10.0, lost_s=(3.0, 6.0))
    bare = RunRecord(prepared())
    for batch in one.batches:
        bare.add(batch, dropped=1)
    assert bare.state()[0].energy_reason == "the device was not read"


def test_a_record_that_travels_says_what_was_lost() -> None:
    again = Sampled.of(long_run(seconds=10.0, lost_s=(3.0, 6.0))).record()
    assert (again.dropped, energy_of(again)) == (3000, WHY)


def test_what_a_later_part_lost_is_lost_to_the_whole() -> None:
    whole = RunRecord(prepared())
    whole.extend(long_run(seconds=10.0, lost_s=(3.0, 6.0)))
    assert (whole.dropped, energy_of(whole)) == (3000, WHY)
