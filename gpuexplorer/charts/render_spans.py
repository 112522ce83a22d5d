"""Draw spans with matplotlib: bars along x in rows, such as the calls of a flame chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpuexplorer.charts.colours import words_on
from gpuexplorer.charts.spec import Series
from gpuexplorer.charts.style import Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEIGHT = 0.9
"""Of a bar, where a row is 1 high."""
LETTER = 0.0066
"""Width of a letter as a share of the panel's."""
WORDS_PT = 6.5
MOST_WORDS = 600


def draw_spans(axes: Axes, one: Series, theme: Theme) -> None:
    """Draw one series of spans; words stand in those that are wide enough for all of them.

    A colour beyond the palette is grey.
    """
    from matplotlib.collections import PolyCollection

    grey = one.colour >= len(theme.palette)
    colour = theme.muted if grey else theme.colour(one.colour, one.role)
    left, right = one.x, one.x + one.z
    low, high = one.y - HEIGHT / 2, one.y + HEIGHT / 2
    corners = np.stack(
        [
            np.stack([left, right, right, left], axis=1),
            np.stack([low, low, high, high], axis=1),
        ],
        axis=2,
    )
    axes.add_collection(
        PolyCollection(
            list(corners), facecolors=colour, edgecolors=theme.panel, linewidths=0.3,
            label=one.name or "_nolegend_", zorder=2,
        )
    )  # fmt: skip
    room = LETTER * float(np.ptp(np.asarray(axes.get_xlim())))
    fits = [i for i, words in enumerate(one.labels) if words and one.z[i] > room * (len(words) + 2)]
    if len(fits) > MOST_WORDS:
        fits = sorted(fits, key=lambda i: -float(one.z[i]))[:MOST_WORDS]
    words_colour = words_on(colour)
    for i in fits:
        axes.text(
            float(left[i] + one.z[i] / 2), float(one.y[i]), one.labels[i], ha="center",
            va="center", size=WORDS_PT, color=words_colour, clip_on=True, zorder=3,
        )  # fmt: skip
