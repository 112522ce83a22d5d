"""Energy of one launch from a counter, on runs whose energy is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuexplorer.analysis.energy import energy_per_launch, energy_words, idle_power_W
from gpuexplorer.analysis.timeline import Timeline
from gpuexplorer.core.result import TelemetrySummary
from gpuexplorer.core.sample import Reading

BEGIN_NS = 10_000_000_000


def timeline(seconds: float, launch_s: float = 1e-3, busy: float = 0.99) -> Timeline:
    """Launches in batches of ten, filling ``busy`` of the time."""
    each_ns = int(10 * launch_s / busy * 1e9)
    batches = int(seconds * 1e9 / each_ns) + 2
    starts = BEGIN_NS + each_ns * np.arange(batches, dtype=np.int64)
    counts = np.full(batches, 10, dtype=np.int64)
    return Timeline(starts, counts, np.full(batches, 10 * launch_s))


def readings(
    seconds: float, idle_W: float, busy_W: float, rest_s: float = 1.5, every_s: float = 0.105
) -> list[Reading]:
    """A counter that rises with the idle power before the run and with the busy one in it."""
    made = []
    t_s = -rest_s
    while t_s <= seconds:
        energy_J = 500.0 + idle_W * (t_s + rest_s) if t_s < 0 else None
        if energy_J is None:
            energy_J = 500.0 + idle_W * rest_s + busy_W * t_s
        made.append(Reading(t_ns=BEGIN_NS + int(t_s * 1e9), source="nvml", energy_J=energy_J))
        t_s += every_s
    return made


def test_the_energy_of_a_launch_is_what_the_run_took_above_rest() -> None:
    made = readings(8.0, 70.0, 420.0)
    energy = energy_per_launch(made, timeline(8.0), idle_power_W(made[:14]))
    assert energy.reason is None
    assert energy.idle_power_W == pytest.approx(70.0)
    assert energy.per_launch_J == pytest.approx(350.0 * 1e-3 / 0.99, rel=0.01)


@settings(deadline=None)
@given(
    idle_W=st.floats(5, 100),
    more_W=st.floats(1, 700),
    launch_s=st.floats(1e-5, 0.05),
    busy=st.floats(0.55, 1.0),
)
def test_whatever_the_powers_and_launches_are(
    idle_W: float, more_W: float, launch_s: float, busy: float
) -> None:
    energy = energy_per_launch(
        readings(8.0, idle_W, idle_W + more_W), timeline(8.0, launch_s, busy), idle_W
    )
    assert energy.per_launch_J == pytest.approx(more_W * launch_s / busy, rel=0.02)


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ((readings(2.0, 70, 400), timeline(2.0)), "too short to tell: needs 5 s, ran 1."),
        ((readings(8.0, 70, 400), timeline(8.0)), "idle power is not known"),
        ((readings(8.0, 70, 400), timeline(8.0, busy=0.2), 70.0), "launches filled only 20 % of"),
        ((readings(8.0, 70, 60), timeline(8.0), 70.0), "no more than at rest"),
        (([], timeline(8.0)), "the device was not read"),
        (([Reading(t_ns=1, source="cpu")], timeline(8.0)), "no energy counter"),
        (
            ([Reading(t_ns=1, source="cpu")], timeline(8.0), None, {"energy_J": "RAPL: closed"}),
            "RAPL: closed",
        ),
    ],
)
def test_otherwise_it_is_none_with_the_reason(made: tuple[Any, ...], reason: str) -> None:
    energy = energy_per_launch(*made)
    assert energy.per_launch_J is None
    assert energy.reason is not None
    assert reason in energy.reason


def test_what_is_moved_between_launches_takes_energy_that_is_not_theirs() -> None:
    made = readings(8.0, 70.0, 420.0), timeline(8.0), 70.0
    cold = energy_per_launch(*made, untimed_B=1e8, compulsory_B=1e9)
    assert cold.per_launch_J is None
    assert cold.reason is not None
    assert "100 MB are moved between launches" in cold.reason
    assert energy_per_launch(*made, untimed_B=4.0, compulsory_B=1e9).per_launch_J is not None
    bare = energy_per_launch([Reading(t_ns=1, source="cpu")], timeline(8.0), untimed_B=1e8)
    assert bare.reason == "this device has no energy counter"


def test_power_at_rest_needs_a_second_and_a_counter_that_runs_forward() -> None:
    rest = [Reading(t_ns=int(s * 1e9), source="x", energy_J=30.0 * s) for s in (0, 0.5, 1.2)]
    assert idle_power_W(rest) == pytest.approx(30.0)
    assert idle_power_W(rest[:2]) is None
    assert idle_power_W([]) is None
    backwards = [Reading(t_ns=0, source="x", energy_J=9.0), rest[-1]]
    assert idle_power_W([backwards[1], Reading(t_ns=9 * 10**9, source="x", energy_J=1.0)]) is None


def test_power_at_rest_is_of_the_time_since_the_latest_gap() -> None:
    def rest(from_s: float, to_s: float, from_J: float, watts: float) -> list[Reading]:
        return [
            Reading(t_ns=int(t * 1e9), source="x", energy_J=from_J + watts * (t - from_s))
            for t in np.arange(from_s, to_s, 0.1)
        ]

    before, after = rest(0.0, 5.0, 0.0, 70.0), rest(8.0, 10.0, 2000.0, 72.0)
    assert idle_power_W([*before, *after]) == pytest.approx(72.0), "not with the work between them"
    assert idle_power_W([*before, *after[:8]]) is None
    assert idle_power_W(before) == pytest.approx(70.0)


def test_in_words() -> None:
    known = TelemetrySummary(energy_per_launch_J=0.0012, idle_power_W=70.0)
    assert energy_words(known) == "1.20 mJ a launch, less 70.0 W at rest"
    unknown = TelemetrySummary(energy_reason="too short to tell: needs 5 s, ran 2.0 s")
    assert energy_words(unknown) == "not known: too short to tell: needs 5 s, ran 2.0 s"
    assert energy_words(TelemetrySummary()) == "not known"
