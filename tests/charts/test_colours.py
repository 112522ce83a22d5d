"""The scale of heat maps: even steps, rising lightness, and colours a screen can show."""

from __future__ import annotations

import numpy as np

from gpuexplorer.charts.colours import colour_at, colour_scale, is_light, oklab_path, srgb


def test_steps_look_equally_far_apart_and_lightness_rises() -> None:
    path = oklab_path()
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
    assert steps.max() / steps.min() < 1.05
    assert np.all(np.diff(path[:, 0]) > 0)


def test_the_screen_shows_the_colours_as_they_are_meant() -> None:
    rgb = srgb(oklab_path())
    assert rgb.min() > 0 and rgb.max() < 1
    scale = colour_scale()
    assert len(set(scale)) > 200 and all(len(c) == 7 and c[0] == "#" for c in scale)


def test_grey_paper_keeps_the_order() -> None:
    rgb = srgb(oklab_path())
    luminance = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ (
        0.2126,
        0.7152,
        0.0722,
    )
    assert np.all(np.diff(luminance) > 0)


def test_words_on_every_colour_can_be_read() -> None:
    for fraction in np.linspace(0, 1, 101).tolist():
        colour = colour_at(fraction)
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        luminance = float(np.dot(linear, (0.2126, 0.7152, 0.0722)))
        dark_words = (luminance + 0.05) / 0.055
        light_words = 1.05 / (luminance + 0.05)
        assert (dark_words if is_light(fraction) else light_words) >= 3.0


def test_the_ends_of_the_scale_hold_everything_beyond() -> None:
    assert colour_at(-1) == colour_at(0) == colour_scale()[0]
    assert colour_at(2) == colour_at(1) == colour_scale()[-1]
