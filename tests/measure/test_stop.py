"""Stop rules end where they should."""

from __future__ import annotations

import numpy as np

from gpuexplorer.measure.stop import NoiseReached, TimeUp


def test_time_is_up_only_after_a_sample() -> None:
    rule = TimeUp(1.0)
    assert not rule.met(np.empty(0), 5.0)
    assert not rule.met(np.ones(3), 0.9)
    assert rule.met(np.ones(1), 1.0)


def test_a_quiet_series_ends_early_and_a_noisy_one_goes_on() -> None:
    rng = np.random.Generator(np.random.SFC64(3))
    quiet = rng.normal(1e-3, 1e-6, 100)
    noisy = rng.normal(1e-3, 4e-4, 100)
    assert NoiseReached().met(quiet, 1.0)
    assert not NoiseReached().met(noisy, 1.0)


def test_noise_is_not_judged_before_half_a_second_or_ten_samples() -> None:
    assert not NoiseReached().met(np.ones(100), 0.4)
    assert not NoiseReached().met(np.ones(9), 1.0)


def test_a_series_is_not_looked_at_again_before_it_grew() -> None:
    rng = np.random.Generator(np.random.SFC64(3))
    rule = NoiseReached()
    assert not rule.met(rng.normal(1e-3, 4e-4, 100), 1.0)
    assert not rule.met(np.ones(105), 1.1)
    assert rule.met(np.ones(120), 1.2)
