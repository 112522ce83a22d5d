"""Draw a heat map with matplotlib: cells coloured by value, words in them, frames around some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuexplorer.charts.colours import colour_scale, shared_prefix, words_at
from gpuexplorer.charts.spec import Axis, Panel, Series
from gpuexplorer.charts.style import Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_WORDS = 13
"""Columns in which words still have room."""
WORDS_PT = 7.5
TALL = 0.85
"""Above this height of a panel the scale has room for what it shows, below for the unit."""


def draw_heat(axes: Axes, panel: Panel, theme: Theme) -> None:
    """Draw the heat series of a panel and the outlines on top.

    Cells that will never have a value are hatched. Light is good: of times, which are better short,
    the scale runs the other way.
    """
    from matplotlib.patches import Rectangle

    assert panel.z is not None
    heat = [one for one in panel.series if one.kind == "heat"]
    columns, rows = len(panel.x.categories), len(panel.y.categories)
    axes.grid(visible=False)
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(-0.5, rows - 0.5)  # the first at the bottom, as numbers grow
    backwards = panel.z.unit == "s"
    colours, norm = _mapping(panel.z)
    for one in heat:
        values = np.full((rows, columns), np.nan)
        values[one.y.astype(int), one.x.astype(int)] = one.z
        edges = np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5
        axes.pcolormesh(*edges, np.ma.masked_invalid(values), cmap=colours, norm=norm)
        for x, y in zip(one.x[np.isnan(one.z)], one.y[np.isnan(one.z)], strict=True):
            axes.add_patch(
                Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, hatch="///", linewidth=0,
                          edgecolor=theme.grid)
            )  # fmt: skip
        if columns <= MOST_WORDS:
            _words(axes, one, norm, backwards)
    for one in panel.series:
        if one.kind == "outline":
            _frames(axes, one, theme)


def _words(axes: Axes, one: Series, norm: Any, backwards: bool) -> None:
    """Write each cell's words, dark on light and light on dark."""
    for x, y, z, words in zip(one.x, one.y, one.z, one.labels, strict=False):
        if not words or np.isnan(z):  # what was not measured is in no colour of the scale
            continue
        fraction = float(norm(z))
        shade = 1 - fraction if backwards else fraction
        axes.text(
            x, y, words, ha="center", va="center", size=WORDS_PT,
            color=words_at(shade),
        )  # fmt: skip


def _mapping(axis: Axis) -> tuple[Any, Any]:
    """Return the colours of an axis and what brings its values between 0 and 1."""
    from matplotlib.colors import ListedColormap, LogNorm, Normalize

    colours = ListedColormap(colour_scale()[::-1] if axis.unit == "s" else colour_scale())
    return colours, (LogNorm if axis.scale == "log" else Normalize)(axis.low, axis.high)


def draw_scale(row: Sequence[Axes], panel: Panel, theme: Theme) -> None:
    """Draw the colour scale of a panel at the right of its row."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    assert panel.z is not None
    axis = panel.z
    log = axis.scale == "log"
    high = axis.high or 1.0
    factor, prefix = shared_prefix(axis)
    figure = row[0].get_figure()
    assert figure is not None
    colours, norm = _mapping(axis)
    bar = figure.colorbar(
        ScalarMappable(norm, colours), ax=list(row), pad=0.015, fraction=0.05, aspect=28
    )
    bar.outline.set_visible(False)
    many = log and high / (axis.low or high) > 300
    bar.ax.yaxis.set_major_locator(
        LogLocator(subs=[1.0] if many else [1.0, 2.0, 5.0], numticks=9)
        if log
        else MaxNLocator(nbins=5)
    )
    bar.ax.yaxis.set_minor_formatter(NullFormatter())
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value * factor:.4g}"))
    bar.ax.tick_params(which="both", length=0, colors=theme.muted, labelsize=WORDS_PT)
    unit = f"{prefix}{axis.unit}"
    words = f"{axis.label} ({unit})" if panel.height > TALL else unit
    bar.set_label(words, color=theme.muted, size=WORDS_PT + 1)


def _frames(axes: Axes, one: Series, theme: Theme) -> None:
    """Draw a frame around each cell; the first series' is the thickest."""
    from matplotlib.patches import Rectangle

    colour = theme.colour(one.colour, one.role)
    for index, (x, y) in enumerate(zip(one.x, one.y, strict=True)):
        frame = Rectangle(
            (x - 0.47, y - 0.47), 0.94, 0.94, fill=False, edgecolor=colour, linewidth=2.2,
            zorder=4, label=one.name if index == 0 and one.name else "_nolegend_",
        )  # fmt: skip
        axes.add_patch(frame)
