"""The device's figures on the plots' time axis."""

from __future__ import annotations

import numpy as np
import pytest

from gpuexplorer.core.sample import Reading, SampleBatch
from gpuexplorer.gui.model.device import MOST, DeviceTrack
from gpuexplorer.gui.model.live import Live
from tests.support.results import made_config

BRAKE = ("power brake",)


def reading(**fields: object) -> Reading:
    return Reading(t_ns=0, source="nvml", **fields)  # type: ignore[arg-type]


def chunk(live: Live, from_s: float, to_s: float) -> None:
    """Let launches of 10 ms fill a stretch of time."""
    times = np.arange(from_s, to_s, 0.01)
    durations = np.full(len(times), 0.01)
    batch = SampleBatch(
        seconds=durations.astype("<f8").tobytes(),
        counts=(len(times),),
        starts_ns=(int(from_s * 1e9),),
    )
    live.add(times, durations, [batch])


def test_readings_find_their_place_among_the_samples() -> None:
    live = Live()
    live.begin(1, made_config())
    for step in range(11):
        live.read(reading(power_W=100.0 + step), 50.0 + 0.1 * step)
    assert len(live.device) == 0  # no samples yet
    chunk(live, 50.15, 50.75)
    x, y = live.device.series("power_W", -1, 100, 1000)
    assert x == pytest.approx([0.05, 0.15, 0.25, 0.35, 0.45, 0.55], abs=1e-6)
    assert y.tolist() == [102, 103, 104, 105, 106, 107]
    chunk(live, 50.75, 51.05)
    assert live.device.series("power_W", -1, 100, 1000)[1].tolist()[-1] == 110


def test_what_was_read_while_nothing_ran_has_no_place() -> None:
    live = Live()
    live.begin(1, made_config())
    chunk(live, 10.0, 11.0)
    for step in range(100):  # ten seconds of rest
        live.read(reading(power_W=1.0), 11.1 + 0.1 * step)
    live.begin(2, made_config(block=(8, 8, 1)))
    live.read(reading(power_W=2.0), 21.3)
    chunk(live, 21.2, 21.5)
    x, y = live.device.series("power_W", -1, 100, 1000)
    assert y.tolist() == [2.0]
    assert x[0] == pytest.approx(live.end_s - 0.19, abs=0.02)


def test_a_stretch_of_a_held_clock_is_one_span_with_its_reason() -> None:
    track = DeviceTrack()
    reasons: list[tuple[str, ...]] = [
        (),
        ("power cap",),
        ("power cap",),
        (),
        ("power cap",),
        BRAKE,
        BRAKE,
    ]
    for step, why in enumerate(reasons):
        track.read(step * 0.1, reading(throttle_reasons=why))
    track.place(0, 10, 0)
    spans = [(round(s.start_s, 6), round(s.end_s, 6), s.reasons, s.slowed) for s in track.held]
    assert spans == [
        (0.1, 0.2, ("power cap",), False),
        (0.4, 0.4, ("power cap",), False),
        (0.5, 0.6, BRAKE, True),
    ]


def test_sources_and_reasons_are_kept_until_a_value_comes() -> None:
    track = DeviceTrack()
    track.read(0.0, reading(power_W=1.0, missing={"occupancy": "later", "load": "never"}))
    track.read(0.1, reading(occupancy=0.5, sources={"occupancy": "gpm"}))
    assert track.sources == {"power_W": "nvml", "occupancy": "gpm"}
    assert track.missing == {"load": "never"}


def test_a_source_that_ends_leaves_its_reason_and_no_source() -> None:
    track = DeviceTrack()
    track.read(0.0, reading(power_W=1.0, occupancy=0.5, sources={"occupancy": "gpm"}))
    track.read(0.1, reading(power_W=1.0, missing={"occupancy": "GPM: it failed"}))
    assert track.sources == {"power_W": "nvml"}
    assert track.missing == {"occupancy": "GPM: it failed"}
    assert track.now("occupancy") is None
    track.read(0.2, reading(power_W=1.0, occupancy=0.25))
    assert "occupancy" in track.sources and not track.missing
    assert track.now("occupancy") == 0.25


def test_the_present_value_is_one_of_the_latest_second() -> None:
    track = DeviceTrack()
    assert track.now("power_W") is None
    track.read(5.0, reading(power_W=300.0, load=0.5))
    for step in range(1, 10):
        track.read(5.0 + 0.1 * step, reading(load=0.6))
        assert track.now("power_W") == 300.0, "some sources tell less often than others"
    for step in range(11, 20):
        track.read(5.0 + 0.1 * step, reading(load=0.7))
        assert (track.now("power_W"), track.now("load")) == (None, 0.7)
    track.read(1.0, reading(power_W=200.0))  # by another clock, as after a session was opened
    assert (track.now("power_W"), track.now("load")) == (200.0, None)
    track.clear()
    assert track.now("power_W") is None


def test_many_readings_are_thinned_for_drawing_and_the_oldest_go() -> None:
    track = DeviceTrack()
    for step in range(MOST + 10):
        track.read(step * 0.1, reading(power_W=float(step)))
        track.place(0, step * 0.1, 0)
    assert len(track) <= MOST
    x, y = track.series("power_W", -np.inf, np.inf, 500)
    assert 200 < len(x) <= 501
    assert y[-1] == MOST + 9
    assert np.all(np.diff(x) > 0)


def test_a_run_without_readings_of_a_field_draws_nothing() -> None:
    track = DeviceTrack()
    track.read(0.0, reading(power_W=1.0))
    track.place(0, 1, 0)
    assert len(track.series("occupancy", 0, 1, 100)[0]) == 0
