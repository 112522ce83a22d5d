"""What a run in turns says of the device: what was read in its turns, and nothing in between."""

from __future__ import annotations

import numpy as np
import pytest

from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.sample import Reading, SampleBatch
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.situation import situation_of
from gpuexplorer.workloads.loader import load
from tests.support.prepared import prepared


def turn(start_ms: int, launches: int = 5, *, counter: bool = False) -> RunRecord:
    """Launches of 0.1 s each at 300 W, with 1.5 s at 20 W before them and 1 s after."""
    one = RunRecord(prepared())
    one.idle_power_W = 20.0
    for number in range(launches):
        one.add(
            SampleBatch(
                seconds=np.array([0.1], dtype="<f8").tobytes(),
                counts=(1,),
                starts_ns=((start_ms + 100 * number) * 1_000_000,),
            )
        )
    energy_J = 0.0
    for after_ms in range(-1_500, 100 * launches + 1_000, 100):
        works = 0 <= after_ms <= 100 * launches + 100  # the one that follows tells, too
        one.add_reading(
            Reading(
                t_ns=(start_ms + after_ms) * 1_000_000,
                source="nvml",
                sm_clock_Hz=1.9e9 if works else 0.3e9,
                power_W=300.0 if works else 20.0,
                energy_J=energy_J if counter else None,
                throttle_reasons=() if works else ("idle",),
                missing={"users": "not permitted"},
            )
        )
        energy_J += 0.1 * (300.0 if works else 20.0)
    return one


def test_what_is_read_between_the_turns_of_a_run_is_none_of_the_runs() -> None:
    one = turn(5_000)
    for start_ms in (15_000, 25_000, 35_000):
        one.extend(turn(start_ms))
    result = one.result()
    state = result.telemetry
    assert (state.power_W, state.sm_clock_Hz, state.throttle_reasons) == (300.0, 1.9e9, ())
    assert [batch.power_W for batch in result.batches] == [300.0] * 20
    rest = [r.t_ns for r in one.readings if r.power_W == 20.0]
    assert rest == [at_ms * 1_000_000 for at_ms in range(3_500, 5_000, 100)]  # before the first
    assert one.missing == {"users": "not permitted"}


def test_a_counter_that_ran_on_between_turns_tells_nothing_of_a_launch() -> None:
    one = turn(5_000, 70, counter=True)
    assert one.state()[0].energy_per_launch_J == pytest.approx(28.0, rel=0.01)
    one.extend(turn(13_000, counter=True))  # launches fill most of the time even so
    state, dram = one.state()
    assert (state.energy_per_launch_J, dram) == (None, None)
    assert state.energy_reason is not None
    assert "turns" in state.energy_reason
    bare = turn(5_000)
    bare.extend(turn(15_000))
    assert bare.state()[0].energy_reason == "this device has no energy counter"


def test_advice_on_a_run_is_not_from_the_rest_around_it() -> None:
    one = turn(5_000)
    devices = DeviceList(devices=(one.prepared.device,))
    situation = situation_of(one, one.result(), load()["matmul"], devices)
    assert situation.throttle_reasons == situation.lasting_reasons == ()
    assert situation.clock_Hz == 1.9e9
