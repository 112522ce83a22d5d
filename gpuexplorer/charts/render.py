"""Draw a ChartSpec to PNG, SVG or PDF with matplotlib, without a window or a display."""

from __future__ import annotations

import importlib.util
import io
import math
import textwrap
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuexplorer.charts.labels import FRAME_IN, point_labels
from gpuexplorer.charts.render_heat import draw_heat, draw_scale
from gpuexplorer.charts.render_spans import draw_spans
from gpuexplorer.charts.spec import Axis, ChartSpec, Panel, Series
from gpuexplorer.charts.style import STROKES, THEMES, Theme, marker_of
from gpuexplorer.charts.ticks import log_ticks, tick_words
from gpuexplorer.charts.told import texts, told
from gpuexplorer.core.errors import CannotRunHere, InputError, WorkFailed
from gpuexplorer.core.fonts import CHINESE, LATIN, files, is_wide
from gpuexplorer.core.language import in_file
from gpuexplorer.core.text import columns, wrapped
from gpuexplorer.core.units import si_scale
from gpuexplorer.exchange import atomic_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
WIDTH_IN = 10.0
PANEL_ROW_IN = 3.6
"""Height of a row of panels of height 1."""
DOTS_PER_INCH = 160
TITLE_PT, TEXT_PT, NOTE_PT = 15.0, 9.5, 8.0
LINE_SPACING = 1.45
TICKS_ALONG, TICKS_UP = 9, 8
"""At the most on a logarithmic axis as wide as the page, and in a panel of height 1."""
NOTE_CHARACTERS = 148
"""Characters of a note that fit the width at ``NOTE_PT``."""
MORE_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Source Han Sans SC",
    "WenQuanYi Micro Hei", "Microsoft YaHei", "PingFang SC", "Droid Sans Fallback", "SimHei",
)  # fmt: skip
"""Those that may have the rarer letters of East Asia; Matplotlib sees the first of a collection."""


def chart_format(path: Path) -> str:
    """Return the format a file name asks for; InputError when it is none of ``FORMATS``."""
    suffix = path.suffix.lower().lstrip(".")
    if suffix not in FORMATS:
        endings = ", ".join(f".{f}" for f in FORMATS)
        raise InputError(
            f"cannot draw '{path.name}': '.{suffix}' is not a chart format"
            if suffix
            else f"cannot draw '{path.name}': the name has no ending",
            remedy=f"let it end in {endings}",
        )
    return suffix


def check_chart_target(path: Path) -> str:
    """Return the format of ``path``; raise what ``render`` would, as far as it shows before."""
    chosen = chart_format(path)
    if importlib.util.find_spec("matplotlib") is None:
        raise CannotRunHere(
            "charts need matplotlib, which is not installed", remedy="pip install matplotlib"
        )
    return chosen


def render(spec: ChartSpec, path: Path, *, theme: str = "light") -> None:
    """Draw a chart to ``path``; the ending chooses PNG, SVG or PDF.

    The file appears whole or not at all. Raises InputError for a bad ending or a file that cannot
    be written, CannotRunHere without matplotlib, WorkFailed when drawing fails.
    """
    chosen = check_chart_target(path)
    import matplotlib as mpl

    with in_file():
        spec = told(spec)
    with atomic_file(path) as stream, mpl.rc_context(_settings(spec, THEMES[theme])):
        try:
            draw(spec, THEMES[theme]).savefig(
                stream,
                format=chosen,
                dpi=DOTS_PER_INCH,
                metadata={"Title": spec.title},
            )
        except (OSError, MemoryError):
            raise
        except Exception as error:
            raise WorkFailed(f"the chart '{spec.title}' could not be drawn: {error}") from error


def svg_text(spec: ChartSpec, *, theme: str = "light") -> str:
    """Return the chart as SVG; raises as ``render`` does. Letters are outlines."""
    check_chart_target(Path("chart.svg"))
    import matplotlib as mpl

    with in_file():
        spec, stream = told(spec), io.BytesIO()
    with mpl.rc_context(_settings(spec, THEMES[theme])):
        try:
            draw(spec, THEMES[theme]).savefig(stream, format="svg", metadata={"Date": None})
        except MemoryError:
            raise
        except Exception as error:
            raise WorkFailed(f"the chart '{spec.title}' could not be drawn: {error}") from error
    return stream.getvalue().decode()


def draw(spec: ChartSpec, theme: Theme) -> Figure:
    """Return the chart as a matplotlib figure with a canvas of its own."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    subtitle = [line for part in spec.subtitle.split("\n") for line in _wrap(part, 128)]
    notes = [line for note in spec.notes for line in _wrap(note, NOTE_CHARACTERS, "   ")]
    head = 0.3 + _height(TITLE_PT, 1) + _height(TEXT_PT, len(subtitle))
    foot = 0.14 + _height(NOTE_PT, len(notes)) + (0.1 if notes else 0.0)
    heights = [max(p.height for p in row) * PANEL_ROW_IN for row in spec.rows]
    total = head + sum(heights) + foot
    figure = Figure(figsize=(WIDTH_IN, total), facecolor=theme.background)
    FigureCanvasAgg(figure)
    room = (0.012, foot / total, 0.976, 1 - (head + foot) / total)
    figure.set_layout_engine("constrained", rect=room, h_pad=0.1)

    _text(figure, [spec.title], 1 - 0.16 / total, TITLE_PT, theme.text, weight="bold")
    below_title = 1 - (0.16 + _height(TITLE_PT, 1)) / total
    _text(figure, subtitle, below_title, TEXT_PT, theme.muted)
    _text(figure, notes, (foot - 0.08) / total, NOTE_PT, theme.muted)

    grid = figure.add_gridspec(len(spec.rows), 1, height_ratios=heights)
    for index, row in enumerate(spec.rows):
        cells = grid[index].subgridspec(1, len(row), width_ratios=[p.width for p in row])
        drawn: list[Axes] = []
        for column, panel in enumerate(row):
            shared = drawn[-1] if panel.share_y else None
            drawn.append(figure.add_subplot(cells[column], sharey=shared))
            _panel(drawn[-1], panel, theme, panel.width / sum(p.width for p in row))
        for panel in row:
            if panel.z is not None and panel.z.label:
                draw_scale(drawn, panel, theme)
    return figure


def _settings(spec: ChartSpec, theme: Theme) -> Any:
    return {
        "font.family": _fonts(spec),
        "font.size": TEXT_PT,
        "text.color": theme.text,
        "axes.labelcolor": theme.muted,
        "xtick.color": theme.muted,
        "ytick.color": theme.muted,
        "text.parse_math": False,  # a dollar in a name is a dollar
        "pdf.fonttype": 42,
        "svg.hashsalt": "gpuexplorer",
    }


def _text(
    figure: Figure, lines: list[str], top: float, size: float, colour: str, weight: str = "normal"
) -> None:
    """Write lines at the left, the first one's upper edge at ``top`` (a share of the height)."""
    for index, line in enumerate(lines):
        y = top - index * _height(size, 1) / figure.get_figheight()
        figure.text(0.018, y, line, size=size, color=colour, va="top", weight=weight)


def _height(points: float, lines: int) -> float:
    """Return the height of some lines of text in inches."""
    return points * LINE_SPACING * lines / 72


def _wrap(text: str, width: int, indent: str = "") -> list[str]:
    if columns(text) > len(text):  # with letters that are twice as wide
        first, *others = wrapped(text, width)
        return [first, *(f"{indent}{line}" for line in others)]
    return textwrap.wrap(text, width, subsequent_indent=indent) if text else []


@cache
def _load(family: str) -> None:
    """Have matplotlib know letters that the window has, too."""
    from matplotlib import font_manager

    for file in files(family):
        font_manager.fontManager.addfont(file)


def _fonts(spec: ChartSpec) -> list[str]:
    """Return font families that have the chart's letters, as far as this machine has any.

    Ours come first, which look the same everywhere and may lie in a PDF, which outlines other than
    TrueType's may not.
    """
    _load(LATIN)
    families = [LATIN, "DejaVu Sans"]  # which comes with matplotlib, and has more signs
    wide = {letter for words in texts(spec) for letter in words if is_wide(letter)}
    if wide:
        from matplotlib import font_manager

        _load(CHINESE)
        known = {font.name for font in font_manager.fontManager.ttflist}
        families.append(CHINESE)
        has = font_manager.get_font(files(CHINESE)[0]).get_charmap()
        if any(ord(letter) not in has for letter in wide):
            families += [name for name in MORE_FONTS if name in known][:1]
    return families


def _panel(axes: Axes, panel: Panel, theme: Theme, width: float) -> None:
    """Draw one panel, which takes a share ``width`` of the page."""
    axes.set_facecolor(theme.panel)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(theme.grid)
    axes.grid(visible=True, color=theme.grid, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", length=0, labelsize=TEXT_PT - 1)
    for one in panel.series:
        if one.kind not in ("heat", "outline", "spans"):
            _series(axes, one, theme)
    _axis(axes, "x", panel.x, int(TICKS_ALONG * width))
    _axis(axes, "y", panel.y, int(TICKS_UP * panel.height))
    for one in panel.series:
        if one.kind == "spans":
            draw_spans(axes, one, theme)
    if panel.z is not None:
        draw_heat(axes, panel, theme)
    if panel.share_y:
        axes.tick_params(labelleft=False)
        axes.set_ylabel("")
    for note in panel.annotations:
        axes.annotate(note.text, (note.x, note.y), color=theme.muted, size=NOTE_PT, va="center")
    _point_labels(axes, panel, theme, width)
    handles, names = axes.get_legend_handles_labels()
    if names:
        axes.legend(
            handles, names, loc="lower left", bbox_to_anchor=(-0.01, 1.0),
            ncols=_legend_columns(names), frameon=False, fontsize=TEXT_PT - 1,
            handlelength=2.6, columnspacing=1.6, borderaxespad=0.1, labelcolor=theme.text,
        )  # fmt: skip
    rows = math.ceil(len(names) / _legend_columns(names)) if names else 0
    axes.set_title(
        panel.title, loc="left", size=TEXT_PT + 1, weight="bold",
        pad=4 + rows * (TEXT_PT + 4.5) if rows else 6,
    )  # fmt: skip


def _point_labels(axes: Axes, panel: Panel, theme: Theme, width: float) -> None:
    """Write the words of points beside them."""
    low, high = axes.get_ylim()
    placed = point_labels(
        panel, axes.get_xlim(), (min(low, high), max(low, high)),
        height_in=max(PANEL_ROW_IN * panel.height - FRAME_IN, 0.5), width=width,
    )  # fmt: skip
    for label in placed:
        at = (label.x, label.y)
        if label.far:
            axes.plot([label.x, label.point[0]], [label.y, label.point[1]], color=theme.grid,
                      linewidth=0.8, zorder=1.5)  # fmt: skip
        axes.annotate(label.words, at, color=theme.muted, size=NOTE_PT, va="center", zorder=3)


def _legend_columns(names: list[str]) -> int:
    longest = max(map(len, names))
    return max(1, min(len(names), 110 // (longest + 8)))


def _axis(axes: Axes, which: str, axis: Axis, most: int) -> None:
    """Set scale, range, label and ticks; ticks of base units carry SI prefixes.

    A logarithmic axis has two to ``most`` ticks.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

    target = getattr(axes, f"{which}axis")
    getattr(axes, f"set_{which}scale")(axis.scale)
    getattr(axes, f"set_{which}lim")(axis.low, axis.high)
    if axis.categories:
        target.set_ticks(range(len(axis.categories)), labels=axis.categories)
        if which == "y":
            low, high = axes.get_ylim()
            axes.set_ylim(max(low, high), min(low, high))  # the first at the top
        target.grid(visible=False)
        getattr(axes, f"set_{which}label")(axis.label)
        return
    low, high = getattr(axes, f"get_{which}lim")()
    label = axis.label
    if axis.ticks:
        target.set_major_locator(FixedLocator(list(_spread(axis.ticks))))
        target.set_minor_locator(NullLocator())
        target.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    elif axis.scale == "log":
        places = log_ticks(low, high, most)
        target.set_ticks(places, labels=tick_words(places, axis.unit))
        target.set_minor_locator(NullLocator())
    else:
        ticks = 7 if which == "x" else 6
        target.set_major_locator(MaxNLocator(nbins=ticks, steps=[1, 2, 2.5, 5, 10]))
        factor, prefix = (1.0, "") if axis.unit in ("", "%") else si_scale(max(abs(low), abs(high)))
        target.set_major_formatter(FuncFormatter(lambda value, _: f"{value * factor:.6g}"))
        if axis.unit:
            label = f"{label} ({prefix}{axis.unit})"
    getattr(axes, f"set_{which}label")(label, size=TEXT_PT - 0.5)


def _spread(ticks: tuple[float, ...], most: int = 12) -> tuple[float, ...]:
    """Return so few of the ticks, evenly, that their numbers have room."""
    return ticks[:: -(-len(ticks) // most)]


def _series(axes: Axes, one: Series, theme: Theme) -> None:
    stroke = STROKES[one.role]
    colour = theme.colour(one.colour, one.role)
    line: dict[str, Any] = {
        "color": colour,
        "linewidth": stroke.width_pt,
        "alpha": stroke.opacity,
        "linestyle": (0, stroke.dash) if stroke.dash else "solid",
        "zorder": 2.0 if one.role in ("pinned", "ceiling") else 2.5,
    }
    label = one.name or "_nolegend_"
    x, y = one.x, one.y
    if one.kind == "line":
        axes.plot(x, y, label=label, solid_joinstyle="round", **line)
    elif one.kind == "step":
        axes.step(x, y, where="post", label=label, **line)
    elif one.kind == "points":
        alone = len(x) == 1 or len(one.low) > 0  # then it is a run
        axes.plot(x, y, marker=marker_of(one.role, one.colour), markersize=7.0 if alone else 3.5,
                  linestyle="none", color=colour, alpha=stroke.opacity, label=label,
                  markerfacecolor=colour if stroke.filled else axes.get_facecolor())  # fmt: skip
        if len(one.low):
            ends: dict[str, Any] = {"color": colour, "linewidth": 1.4, "zorder": 2.2}
            lines = axes.hlines if one.sideways else axes.vlines
            lines(y if one.sideways else x, one.low, one.high, **ends)
    elif one.kind == "hline":
        named = {**line, "linestyle": line["linestyle"] if one.name else (0, (3, 2))}
        axes.axhline(float(y[0]), label=label, **named)
    elif one.kind == "vline":
        axes.axvline(float(x[0]), label=label, **line)
    elif one.kind == "band":
        axes.fill_between(x, y[: len(x)], y[len(x) :], color=colour, alpha=0.18, linewidth=0,
                          label=label)  # fmt: skip
    elif one.kind == "histogram":
        axes.stairs(y, x, orientation="horizontal" if one.sideways else "vertical", fill=True,
                    color=colour, alpha=0.75 * stroke.opacity, label=label)  # fmt: skip
    else:
        _stems(axes, one, colour, line, label)


def _stems(axes: Axes, one: Series, colour: str, line: dict[str, Any], label: str) -> None:
    """Draw stems from the axis to a marker, with words beside the marker."""
    stroke = STROKES[one.role]
    marker: dict[str, Any] = {
        "marker": marker_of(one.role, one.colour),
        "markersize": 7,
        "markerfacecolor": colour if stroke.filled else axes.get_facecolor(),
        "markeredgewidth": 1.6,
        "markeredgecolor": colour,
    }
    for index, (position, length) in enumerate(zip(one.x, one.y, strict=True)):
        ends = ([0, length], [position, position])
        if not one.sideways:
            ends = (ends[1], ends[0])
        # Towards zero the stem leaves the range, also where a logarithmic axis has no zero.
        start = np.nextafter(0.0, 1.0)
        along = [start if v == 0 else v for v in ends[0 if one.sideways else 1]]
        xs, ys = (along, ends[1]) if one.sideways else (ends[0], along)
        axes.plot(xs, ys, markevery=[1], label=label if index == 0 else "_nolegend_",
                  **marker, **line)  # fmt: skip
        if index < len(one.labels):
            at = (length, position) if one.sideways else (position, length)
            axes.annotate(
                one.labels[index], at, xytext=(9, 0) if one.sideways else (0, 9),
                textcoords="offset points", va="center" if one.sideways else "bottom",
                ha="left" if one.sideways else "center", size=TEXT_PT - 1, zorder=3,
                bbox={"facecolor": axes.get_facecolor(), "linewidth": 0, "pad": 1.5},
            )  # fmt: skip
