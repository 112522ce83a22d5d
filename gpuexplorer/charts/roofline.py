"""The roofline (Williams, Waterman & Patterson 2009): runs under what their device can do at most.

A ``Picture`` is what there is to see, in FLOP/B and FLOP/s; ``roofline_chart`` makes the chart of
it that the window shows live and a file holds. Intensity counts compulsory bytes, so a run's x says
what the algorithm could do, whatever its kernel makes of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec

from gpuexplorer.charts.spec import Axis, ChartSpec, Panel, Role, series
from gpuexplorer.core.axis_words import threads_words
from gpuexplorer.core.ceilings import COMPUTE_KINDS, Ceilings
from gpuexplorer.core.units import quantity, ratio

SAME_CLOCK = 0.02
"""Clocks nearer than this fraction are drawn as one."""
APART = 1.25
"""A cache whose rate is nearer than this factor to the level below it has no roof of its own."""
EMPTY_X = (0.01, 1000.0)
EMPTY_Y = (1e8, 1e13)
MEMORY_COLOURS = (2, 5, 1)
"""Slots in the palette of main memory and of the caches, the slowest first, ..."""
COMPUTE_COLOURS = {"fma": 3, "gemm": 4}
"""... and of arithmetic."""
SUSPECT_COLOUR = 4
MOST_NAMED = 5
"""A trail of more runs has no words beside its points; the pointer tells which is which."""
KINDS = {"fma": "multiply-add", "gemm": "matrix product"}

SpotKind = Literal["current", "past", "pinned"]


class Spot(msgspec.Struct, frozen=True):
    """One run: operations for each compulsory byte, and operations a second."""

    name: str
    intensity: float
    flop_per_s: float
    kind: SpotKind
    colour: int = 0
    """Slot in the palette."""
    suspect: str | None = None
    label: str = ""
    """A few words beside the mark, where there is room for some of them."""


class Roof(msgspec.Struct, frozen=True):
    """One straight roof on log axes, from its left to its right end."""

    name: str
    """In words with its figure."""
    kind: Literal["memory", "compute"]
    level: float
    """B/s of memory, FLOP/s of arithmetic."""
    stated: bool
    """Stated or computed for another clock, rather than measured as it stands."""
    colour: int
    x: tuple[float, float]
    y: tuple[float, float]


class _Level(msgspec.Struct, frozen=True):
    """One ceiling to be drawn."""

    words: str
    value: float
    colour: int = 0


class Ridge(msgspec.Struct, frozen=True):
    """Where a memory roof meets the highest arithmetic one."""

    intensity: float
    flop_per_s: float
    of_cache: bool = False
    """Of the caches' roof, rather than main memory's."""

    @property
    def words(self) -> str:
        """The ridge's intensity in words."""
        return f"ridge {ratio(self.intensity, 'FLOP/B', 2)}"


class Picture(msgspec.Struct, frozen=True):
    """Roofs, ridges and runs, with the ranges that hold them all."""

    precision: str
    device: str
    roofs: tuple[Roof, ...]
    ridges: tuple[Ridge, ...]
    spots: tuple[Spot, ...]
    x: tuple[float, float]
    y: tuple[float, float]
    notes: tuple[str, ...] = ()

    @property
    def calibrated(self) -> bool:
        """Whether any roof was measured."""
        return any(not roof.stated for roof in self.roofs)

    def bound(self, spot: Spot) -> float | None:
        """Return what the measured roofs allow at a run's intensity, in FLOP/s."""
        measured = [r for r in self.roofs if not r.stated]
        memory = max((r.level for r in measured if r.kind == "memory"), default=None)
        compute = max((r.level for r in measured if r.kind == "compute"), default=None)
        known = [compute, memory * spot.intensity if memory is not None else None]
        return min((v for v in known if v is not None), default=None)


def picture(
    ceilings: Ceilings | None,
    precision: str,
    spots: Sequence[Spot],
    *,
    device: str,
    peak_B_per_s: float | None = None,
    peak_source: str | None = None,
    clock_held_Hz: float | None = None,
) -> Picture:
    """Return what there is to see of some runs in one precision on one device.

    ``clock_held_Hz`` is the clock of the latest run: where it is not the calibration's, arithmetic
    roofs are drawn for it too, in proportion, and for the clock that the device states.
    """
    memory = _memory_levels(ceilings)
    compute = _compute_levels(ceilings, precision)
    stated: list[_Level] = []
    if peak_B_per_s:
        words = f"peak {quantity(peak_B_per_s, 'B/s')}"
        stated.append(_Level(f"{words} ({peak_source})" if peak_source else words, peak_B_per_s))
    other = _other_clocks(ceilings, compute, clock_held_Hz)
    x, y = _ranges([*memory, *stated], [*compute, *other], spots)
    highest = max((level.value for level in compute), default=None)
    widest = max((level.value for level in memory or stated), default=None)
    roofs = [
        *(_memory_roof(level, highest, x, y, stated=False) for level in memory),
        *(_memory_roof(level, highest, x, y, stated=True) for level in stated),
        *(_compute_roof(level, widest, x, stated=False) for level in compute),
        *(_compute_roof(level, widest, x, stated=True) for level in other),
    ]
    ridges = []
    if highest is not None and memory:
        ends = {memory[0].value: False, memory[-1].value: len(memory) > 1}
        ridges = [Ridge(highest / level, highest, cached) for level, cached in ends.items()]
    return Picture(
        precision=precision,
        device=device,
        roofs=tuple(roofs),
        ridges=tuple(ridges),
        spots=tuple(spots),
        x=x,
        y=y,
        notes=_notes(ceilings, precision),
    )


# ---- levels


def _memory_levels(ceilings: Ceilings | None) -> list[_Level]:
    """Return the main memory's best and the caches', as far as they stand apart."""
    if ceilings is None:
        return []
    found: list[_Level] = []
    main = ceilings.memory()
    if main is not None:
        rate = quantity(main.value, "B/s")
        words = {
            "copy": f"main memory {rate} (copy)",
            "triad": f"main memory {rate} (triad)",
            "read": f"main memory {rate} (read-only)",
        }[main.kind]
        found.append(_Level(words, main.value, MEMORY_COLOURS[0]))
    caches = sorted((c for c in ceilings.ceilings if c.kind == "cache"), key=lambda c: c.value)
    for cache in caches:
        if not found or cache.value > APART * found[-1].value:
            rate = quantity(cache.value, "B/s")
            words = f"cache {rate}"
            if cache.footprint_B:
                words = f"cache {rate} ({quantity(cache.footprint_B, 'B', 2)})"
            slot = MEMORY_COLOURS[min(len(found), len(MEMORY_COLOURS) - 1)]
            found.append(_Level(words, cache.value, slot))
    return found


def _compute_levels(ceilings: Ceilings | None, precision: str) -> list[_Level]:
    """Return the arithmetic roofs of a precision, the highest first."""
    if ceilings is None:
        return []
    own = [c for c in ceilings.ceilings if c.kind in COMPUTE_KINDS and c.precision == precision]
    best = ceilings.compute(precision)
    if best is not None and best not in own:
        own.append(best)  # what halves are added up in
    own.sort(key=lambda c: -c.value)
    return [
        _Level(
            f"{one.precision} {KINDS[one.kind]} {quantity(one.value, 'FLOP/s')}",
            one.value, COMPUTE_COLOURS[one.kind],
        )
        for one in own
    ]  # fmt: skip


def _other_clocks(
    ceilings: Ceilings | None, compute: Sequence[_Level], clock_held_Hz: float | None
) -> list[_Level]:
    """Return the highest arithmetic roof at the highest clock and at the latest run's."""
    if ceilings is None or not compute:
        return []
    highest = max(level.value for level in compute)
    measured_Hz = next(
        (c.clock_held_Hz for c in ceilings.ceilings if c.value == highest and c.clock_held_Hz), None
    )
    if measured_Hz is None:
        return []
    found: list[_Level] = []
    for words, clock_Hz in (
        ("at the highest clock", ceilings.nominal_clock_Hz),
        ("at the clock held", clock_held_Hz),
    ):
        if clock_Hz and abs(clock_Hz / measured_Hz - 1) > SAME_CLOCK:
            level = highest * clock_Hz / measured_Hz
            found.append(_Level(f"{words}, {quantity(clock_Hz, 'Hz')}", level))
    return found


# ---- geometry


def _memory_roof(
    level: _Level,
    highest: float | None,
    x: tuple[float, float],
    y: tuple[float, float],
    *,
    stated: bool,
) -> Roof:
    left = max(x[0], y[0] / level.value)
    right = x[1] if highest is None else min(x[1], highest / level.value)
    ends = (left * level.value, right * level.value)
    return Roof(level.words, "memory", level.value, stated, level.colour, (left, right), ends)


def _compute_roof(
    level: _Level, widest: float | None, x: tuple[float, float], *, stated: bool
) -> Roof:
    left = x[0] if widest is None else max(x[0], level.value / widest)
    ends = (level.value, level.value)
    return Roof(level.words, "compute", level.value, stated, level.colour, (left, x[1]), ends)


def _ranges(
    memory: Sequence[_Level], compute: Sequence[_Level], spots: Sequence[Spot]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return ranges of whole decades that hold every ridge and run, so that they rarely move."""
    xs = [s.intensity for s in spots]
    ys = [s.flop_per_s for s in spots]
    tops, rates = [level.value for level in compute], [level.value for level in memory]
    if tops and rates:
        xs += [max(tops) / min(rates) * 8, max(tops) / max(rates) / 30]
    if tops:
        ys += [max(tops) * 2, min(tops) / 30]
    if not xs or not ys:
        return EMPTY_X, EMPTY_Y
    return _decades(xs), _decades(ys)


def _decades(values: Sequence[float]) -> tuple[float, float]:
    low = math.floor(math.log10(min(values)) - 0.1)
    high = math.ceil(math.log10(max(values)) + 0.1)
    return 10.0**low, 10.0 ** max(high, low + 2)


def _notes(ceilings: Ceilings | None, precision: str) -> tuple[str, ...]:
    if ceilings is None:
        return ("This device has not been calibrated: its roofs are not known.",)
    high = ceilings.time_utc[:10]
    low = min([high, *(one.time_utc[:10] for one in ceilings.ceilings if one.time_utc)])
    held = next((c.clock_held_Hz for c in ceilings.ceilings if c.clock_held_Hz), None)
    facts = [
        threads_words(ceilings.threads),
        quantity(held, "Hz") if held else "",
        "in five seconds" if ceilings.brief else "quickly" if ceilings.quick else "",
        high if low == high else f"{low} to {high}",
    ]
    shown = ", ".join(filter(None, facts))
    return (
        f"Roofs measured on this device ({shown}); arithmetic in {precision}. Intensity counts "
        "the bytes needed: each operand moved once (compulsory traffic).",
    )


# ---- a file


def roofline_chart(shown: Picture, *, title: str, subtitle: str = "") -> ChartSpec:
    """Return the chart of a picture; the keys of marks are the numbers of its spots."""
    drawn = []
    for roof in shown.roofs:
        role: Role = "ceiling" if roof.stated else "model"
        drawn.append(series(roof.name, "line", role, x=roof.x, y=roof.y, colour=roof.colour))
    numbered = [(str(number), spot) for number, spot in enumerate(shown.spots)]
    trail = [(key, spot) for key, spot in numbered if spot.kind == "past"]
    if trail:
        path = [spot for spot in shown.spots if spot.kind != "pinned"]
        drawn.append(
            series(
                "", "line", "pinned",
                x=[s.intensity for s in path], y=[s.flop_per_s for s in path],
            )
        )  # fmt: skip
        drawn.append(
            series(
                "before", "points", "pinned",
                x=[s.intensity for _, s in trail], y=[s.flop_per_s for _, s in trail],
                keys=tuple(key for key, _ in trail),
                labels=tuple(s.label for _, s in trail) if len(trail) <= MOST_NAMED else (),
            )
        )  # fmt: skip
    if shown.ridges:
        drawn.append(
            series(
                "", "points", "pinned",
                x=[r.intensity for r in shown.ridges], y=[r.flop_per_s for r in shown.ridges],
                labels=tuple(ridge.words for ridge in shown.ridges),
            )
        )  # fmt: skip
    roles: tuple[tuple[SpotKind, Role], ...] = (("pinned", "pinned"), ("current", "measured"))
    for kind, spot_role in roles:
        for key, spot in numbered:
            if spot.kind != kind:
                continue
            name = f"pinned: {spot.name}" if kind == "pinned" else spot.name
            drawn.append(
                series(
                    f"{name}, SUSPECT" if spot.suspect else name, "points",
                    "hardware" if spot.suspect else spot_role,
                    x=[spot.intensity], y=[spot.flop_per_s],
                    colour=SUSPECT_COLOUR if spot.suspect else spot.colour, keys=(key,),
                    labels=(spot.label,) if spot.label else (),
                )
            )  # fmt: skip
    suspects = [f"SUSPECT: {s.suspect}." for s in shown.spots if s.suspect and s.kind == "current"]
    panel = Panel(
        x=Axis(
            label="arithmetic intensity, operations for each byte needed (FLOP/B)",
            unit="", scale="log", low=shown.x[0], high=shown.x[1],
        ),
        y=Axis(
            label="useful operations over time", unit="FLOP/s", scale="log",
            low=shown.y[0], high=shown.y[1],
        ),
        series=tuple(drawn),
        height=1.6,
    )  # fmt: skip
    return ChartSpec(
        title=title, subtitle=subtitle, rows=((panel,),), notes=(*shown.notes, *suspects)
    )
