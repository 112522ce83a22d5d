"""A flame chart's calls as columns, and which of them a view of a certain width can show."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from gpuexplorer.charts.operators import FAMILY_COLOURS, short
from gpuexplorer.core.operators import Call, OperatorProfile, family
from gpuexplorer.core.units import percent, quantity

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
TITLE_ROWS = 1
"""Above a track's calls stands its name."""


class Visible(msgspec.Struct, frozen=True):
    """What is drawn: spans by row, left, width and colour; ``index`` is the call's, -1 for several.

    ``left`` and ``width`` are seconds; ``picked`` says which are, or hold, calls that stand out.
    """

    index: Whole
    row: Whole
    left: Floats
    width: Floats
    colour: Whole
    picked: Flags


class Flame:
    """The calls of one profile, in rows from the top."""

    def __init__(self, profile: OperatorProfile) -> None:
        self.profile = profile
        self.begins: list[int] = []
        """The row at which each track's calls begin."""
        row = 0
        for track in profile.tracks:
            self.begins.append(row + TITLE_ROWS)
            row += TITLE_ROWS + track.levels
        self.rows = row
        colours = np.array([FAMILY_COLOURS[family(n)] for n in profile.names], dtype=np.int64)
        self.labels = [short(name) for name in profile.names]
        calls = profile.calls
        self.name: Whole = np.array([c.name for c in calls], dtype=np.int64)
        self.start: Floats = np.array([c.start_s for c in calls], dtype=np.float64)
        self.duration: Floats = np.array([c.duration_s for c in calls], dtype=np.float64)
        self.row: Whole = np.array([self.begins[c.track] + c.depth for c in calls], dtype=np.int64)
        self.colour: Whole = colours[self.name] if len(calls) else np.empty(0, dtype=np.int64)

    @property
    def end_s(self) -> float:
        """Where the last call ends, in seconds from the iteration's start."""
        ends = self.start + self.duration
        return max(self.profile.iteration_s, float(ends.max()) if len(ends) else 0.0)

    def visible(
        self, low_s: float, high_s: float, columns: int, picked: Flags | None = None
    ) -> Visible:
        """Return what so many columns can show of the time between two moments.

        Calls narrower than a column are drawn together, a column each; among them those that are
        ``picked`` give it their colour.
        """
        stand_out = np.zeros(len(self.row), dtype=np.bool_) if picked is None else picked
        column_s = max((high_s - low_s) / max(columns, 1), 1e-15)
        inside = (self.start + self.duration >= low_s) & (self.start <= high_s)
        wide = inside & (self.duration >= column_s)
        narrow = np.flatnonzero(inside & ~wide)
        narrow = narrow[np.argsort(~stand_out[narrow], kind="stable")]
        chosen = np.flatnonzero(wide)
        places = ((self.start[narrow] - low_s) / column_s).astype(np.int64)
        keys = self.row[narrow] * (columns + 2) + places
        _, first = np.unique(keys, return_index=True)
        left = low_s + places[first] * column_s
        return Visible(
            index=np.concatenate([chosen, np.full(len(first), -1, dtype=np.int64)]),
            row=np.concatenate([self.row[chosen], self.row[narrow][first]]),
            left=np.concatenate([self.start[chosen], left]),
            width=np.concatenate([self.duration[chosen], np.full(len(first), column_s)]),
            colour=np.concatenate([self.colour[chosen], self.colour[narrow][first]]),
            picked=np.concatenate([stand_out[chosen], stand_out[narrow][first]]),
        )

    def at(self, time_s: float, row: int, near_s: float) -> int | None:
        """Return the call in a row at a moment, the nearest within ``near_s``; None for none."""
        here = np.flatnonzero(self.row == row)
        if not len(here):
            return None
        start, duration = self.start[here], self.duration[here]
        away = np.maximum(np.maximum(start - time_s, time_s - (start + duration)), 0.0)
        best = int(np.argmin(away))
        return int(here[best]) if away[best] <= near_s else None

    def named(self, name: str) -> Whole:
        """Return the calls of an operator."""
        if name not in self.profile.names:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(self.name == self.profile.names.index(name))

    def words(self, index: int) -> str:
        """Return one call in words."""
        call: Call = self.profile.calls[index]
        track = self.profile.tracks[call.track]
        share = call.duration_s / self.profile.iteration_s if self.profile.iteration_s else 0.0
        return (
            f"{self.profile.names[call.name]}\n"
            f"{quantity(call.duration_s, 's')}, {percent(share)} of the iteration\n"
            f"begins at {quantity(call.start_s, 's')} · {track.title}, level {call.depth + 1}"
        )


class RecordedProfile(msgspec.Struct, frozen=True):
    """A profile with what its flame chart draws."""

    profile: OperatorProfile
    flame: Flame
    origin: str = ""
    """The session file that it comes from; empty where it was recorded here."""
