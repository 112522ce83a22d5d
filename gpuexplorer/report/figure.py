"""Charts inside a page: SVG whose colours follow the page's light or dark."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable

from gpuexplorer.charts.render import svg_text
from gpuexplorer.charts.spec import ChartSpec
from gpuexplorer.charts.style import THEMES, Theme
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.report.html import paragraph, told

DRAWN = "light"
"""The theme a chart is drawn in; its colours are then names that both themes give a value."""
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")


Draw = Callable[[ChartSpec], str]
"""Draws a chart as SVG in the theme ``DRAWN``."""


def drawn_here(spec: ChartSpec) -> str:
    """Draw a chart in this process, which loads a plotter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a letter that no font has is a box in the chart
        return svg_text(spec, theme=DRAWN)


def variables(theme: Theme) -> dict[str, str]:
    """Return a theme's colours by the name that the page's style calls them."""
    names = {
        "--page": theme.background,
        "--text": theme.text,
        "--muted": theme.muted,
        "--grid": theme.grid,
        "--ceiling": theme.ceiling,
    }
    return names | {f"--slot{i}": colour for i, colour in enumerate(theme.palette)}


def figure(make: Callable[[], ChartSpec], number: int, draw: Draw = drawn_here) -> str:
    """Return a chart as a figure of the page, the ``number``-th on it, as ``draw`` draws it.

    A chart that cannot be drawn is a sentence in its place: a file from elsewhere may hold what no
    chart fits, and the figures are there all the same.
    """
    try:
        spec = make()
        drawn = draw(spec)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - see above
        words = str(error) if isinstance(error, ExplorerError) else f"it failed with {error!r}"
        return paragraph(f"There is no chart: {words}.", "note")
    label = told(f"Chart: {spec.title}. {' '.join(spec.notes)}")
    return f"<figure>\n{inline(drawn, f'c{number}-', label)}</figure>\n"


def inline(svg: str, prefix: str, label: str) -> str:
    """Return SVG text as an element of a page; ``prefix`` keeps its names apart from others'."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    root, body = svg[: svg.index(">")], svg[svg.index(">") :]
    root = re.sub(r'\s(?:xmlns|xmlns:xlink|version|width|height)="[^"]*"', "", root)
    svg = root + body
    svg = svg.replace("xlink:href=", "href=")
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}\1"', svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}\1)", svg)
    names = {colour.lower(): name for name, colour in variables(THEMES[DRAWN]).items()}

    def named(found: re.Match[str]) -> str:
        name = names.get(found[0].lower())
        return f"var({name})" if name else found[0]

    svg = re.sub(r'style="[^"]*"', lambda part: _COLOUR.sub(named, part[0]), svg)
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
