"""The colour scale of heat maps: equal steps look equally far apart, also in grey.

The path runs through Oklab (Ottosson, 2020), in which Euclidean distance is how different two
colours look: from a dark violet over blue and green to a light yellow, lightness rising all the
way, cut into steps of equal length. Light is good on every map: fast, much work, near the best.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from gpuexplorer.charts.spec import Axis
from gpuexplorer.core.units import si_scale

Floats = npt.NDArray[np.float64]
STEPS = 256
INK, PAPER = "#010101", "#fefefe"
"""Of words on colours; none of a theme's, which a report exchanges for another theme's."""
_LIGHTNESS = (0.28, 0.42, 0.56, 0.70, 0.82, 0.94)
_CHROMA = (0.09, 0.115, 0.095, 0.115, 0.155, 0.13)
_HUE = (300.0, 275.0, 225.0, 168.0, 128.0, 106.0)
"""Degrees: violet, blue, teal, green, lime, yellow."""
_TO_CONES = np.array(
    [
        [1.0, 0.3963377774, 0.2158037573],
        [1.0, -0.1055613458, -0.0638541728],
        [1.0, -0.0894841775, -1.2914855480],
    ]
)
_TO_LINEAR = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)


def colour_at(fraction: float) -> str:
    """Return the colour at 0 (dark) to 1 (light) of the scale as ``#rrggbb``."""
    scale = colour_scale()
    return scale[round(min(max(fraction, 0.0), 1.0) * (len(scale) - 1))]


def shared_prefix(axis: Axis) -> tuple[float, str]:
    """Return the factor and prefix of all values on the scale: the best's has three digits."""
    if axis.unit == "%":
        return 1.0, ""
    best = axis.low if axis.unit == "s" else axis.high
    return si_scale(best or 1.0)


def words_at(fraction: float) -> str:
    """Return the colour of words on the scale's colour at ``fraction``."""
    return words_on(colour_at(fraction))


@lru_cache(maxsize=2 * STEPS)
def words_on(colour: str) -> str:
    """Return the colour of words on ``#rrggbb``: the one of the two that stands out more.

    Either does by 4.5 times at least, by WCAG 2.2, whatever the colour is.
    """
    ends = {words: sorted((_luminance(colour), _luminance(words))) for words in (INK, PAPER)}
    return max(ends, key=lambda words: (ends[words][1] + 0.05) / (ends[words][0] + 0.05))


def _luminance(colour: str) -> float:
    """Return the relative luminance of ``#rrggbb``, by WCAG 2.2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@lru_cache(maxsize=1)
def colour_scale() -> tuple[str, ...]:
    """Return the scale's colours from dark to light as ``#rrggbb``."""
    rgb = np.rint(255 * srgb(oklab_path())).astype(int)
    return tuple(f"#{r:02x}{g:02x}{b:02x}" for r, g, b in rgb.tolist())


def oklab_path() -> Floats:
    """Return ``STEPS`` colours in Oklab, equally far apart: rows of lightness, a and b."""
    knots = np.linspace(0, 1, len(_LIGHTNESS))
    fine = np.linspace(0, 1, 16 * STEPS)
    hue = np.radians(np.interp(fine, knots, _HUE))
    chroma = np.interp(fine, knots, _CHROMA)
    lightness = np.interp(fine, knots, _LIGHTNESS)
    path = np.stack([lightness, chroma * np.cos(hue), chroma * np.sin(hue)], axis=1)
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    even = np.linspace(0, along[-1], STEPS)
    return np.stack([np.interp(even, along, path[:, i]) for i in range(3)], axis=1)


def srgb(oklab: Floats) -> Floats:
    """Return Oklab colours as sRGB between 0 and 1; what the screen cannot show is cut."""
    linear = np.clip((oklab @ _TO_CONES.T) ** 3 @ _TO_LINEAR.T, 0, 1)
    encoded: Floats = np.where(
        linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055
    )
    return encoded
