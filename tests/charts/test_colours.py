"""The scale of heat maps: even steps, rising lightness, and colours a screen can show; and the
colours of series, which every eye tells apart."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest

from gpuexplorer.charts.colours import colour_at, colour_scale, oklab_path, srgb, words_at, words_on
from gpuexplorer.charts.style import THEMES

# What linear light becomes for eyes without one kind of cone: Machado, Oliveira and Fernandes
# (2009), severity 1.
SEEN_BY = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
         [0.004733, 0.691367, 0.303900]]
    ),
}  # fmt: skip
XYZ_OF_RGB = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
     [0.0193339, 0.1191920, 0.9503041]]
)  # fmt: skip
WHITE = XYZ_OF_RGB.sum(axis=1)
APART = 13.0
"""In CIELAB; 2.3 can just be noticed side by side, and a line lies far from its legend."""


def lab(colour: str, seen: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return a colour in CIELAB, as it is seen."""
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    ratio = XYZ_OF_RGB @ np.clip(seen @ linear, 0, 1) / WHITE
    x, y, z = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eyes", SEEN_BY)
@pytest.mark.parametrize("theme", THEMES)
def test_every_eye_tells_the_colours_of_series_apart(theme: str, eyes: str) -> None:
    seen = [lab(colour, SEEN_BY[eyes]) for colour in THEMES[theme].palette]
    least = min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2))
    assert least > APART


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


def contrast(one: str, other: str) -> float:
    found = []
    for colour in (one, other):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        found.append(float(np.dot(linear, (0.2126, 0.7152, 0.0722))))
    return (max(found) + 0.05) / (min(found) + 0.05)


def test_words_on_every_colour_can_be_read() -> None:
    for fraction in np.linspace(0, 1, 101).tolist():
        assert contrast(colour_at(fraction), words_at(fraction)) >= 4.5


def test_words_on_the_colours_of_a_chart_can_be_read_in_every_theme() -> None:
    for theme in THEMES.values():
        for colour in (*theme.palette, theme.muted):
            assert contrast(colour, words_on(colour)) >= 4.5, colour
    greys = [f"#{grey:02x}{grey:02x}{grey:02x}" for grey in range(256)]
    assert min(contrast(grey, words_on(grey)) for grey in greys) >= 4.5


def test_the_ends_of_the_scale_hold_everything_beyond() -> None:
    assert colour_at(-1) == colour_at(0) == colour_scale()[0]
    assert colour_at(2) == colour_at(1) == colour_scale()[-1]
