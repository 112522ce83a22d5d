"""How a role and a colour slot look, in any drawer: dashes, widths, hatches, palettes.

Colours are the hues of Okabe and Ito's set (2008), in lightnesses that stay distinct for readers
who lack one kind of cone. A role is told apart by its stroke, so a chart also reads in grey.
"""

from __future__ import annotations

import msgspec

from gpuexplorer.charts.spec import Role


class Stroke(msgspec.Struct, frozen=True):
    """How one role is drawn. ``dash`` counts line widths on and off; empty is a solid line."""

    dash: tuple[float, ...] = ()
    width_pt: float = 1.4
    opacity: float = 1.0
    marker: str = "o"
    """In the usual one-letter notation: o circle, s square, D diamond, ^ triangle."""
    filled: bool = True
    """Whether the marker is filled."""


STROKES: dict[Role, Stroke] = {
    "measured": Stroke(width_pt=1.0),
    "compulsory": Stroke(width_pt=1.8),
    "requested": Stroke(dash=(5, 2.5), width_pt=1.6, marker="s", filled=False),
    "hardware": Stroke(dash=(1, 1.6), width_pt=2.2, marker="D"),
    "transfer": Stroke(dash=(7, 2, 1.5, 2), width_pt=1.4, marker="^", filled=False),
    "pinned": Stroke(width_pt=1.0, opacity=0.45),
    "ceiling": Stroke(dash=(9, 4), width_pt=1.1, opacity=0.9),
    "model": Stroke(width_pt=1.3),
}


SLOT_MARKERS = ("o", "s", "^", "D", "v", "P")
"""Of what was measured, by the slot of its colour, so that lines of one role also read in grey."""


def marker_of(role: Role, colour: int) -> str:
    """Return the marker of a series, in the usual one-letter notation."""
    if role in ("measured", "model"):
        return SLOT_MARKERS[colour % len(SLOT_MARKERS)]
    return STROKES[role].marker


class Theme(msgspec.Struct, frozen=True):
    """Colours of one chart, as ``#rrggbb``."""

    background: str
    panel: str
    text: str
    muted: str
    grid: str
    ceiling: str
    palette: tuple[str, ...]

    def colour(self, slot: int, role: Role = "measured") -> str:
        """Return the colour of a palette slot; a ceiling has its own."""
        return self.ceiling if role == "ceiling" else self.palette[slot % len(self.palette)]


THEMES: dict[str, Theme] = {
    "light": Theme(
        background="#ffffff",
        panel="#ffffff",
        text="#1b1f24",
        muted="#5b6570",
        grid="#e3e7eb",
        ceiling="#a3323b",
        palette=("#0072b2", "#d55e00", "#009e73", "#a9518a", "#665200", "#263a80"),
    ),
    "dark": Theme(
        background="#15181c",
        panel="#1a1e23",
        text="#e8ebee",
        muted="#98a2ad",
        grid="#2c3239",
        ceiling="#ff8087",
        palette=("#4db1f0", "#ff9350", "#2fcf9f", "#e58fc3", "#ffe14d", "#d7ecff"),
    ),
    "contrast": Theme(
        background="#000000",
        panel="#000000",
        text="#ffffff",
        muted="#dedede",
        grid="#6e6e6e",
        ceiling="#ff9c9c",
        palette=("#3fa0ff", "#ff8b3d", "#19e0a0", "#ffa8e0", "#ffe600", "#ffffff"),
    ),
}
