"""How a block map's cells look and what is said of them: values, colours, ticks, words."""

from __future__ import annotations

import math
from typing import Literal

import msgspec
import numpy as np

from gpuexplorer.analysis.occupancy import LIMITS
from gpuexplorer.charts.words import known_words
from gpuexplorer.core.config import Block
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.units import (
    percent,
    plural,
    quantity,
    samples_words,
    si_scale,
    speed_than,
)
from gpuexplorer.gui.model.block import product_words
from gpuexplorer.gui.model.map_surface import Surface
from gpuexplorer.search.block_grid import Grid
from gpuexplorer.search.blockmap import MapCell

Colouring = Literal["time", "throughput", "best"]
COLOURINGS: dict[Colouring, str] = {
    "time": "Time per launch",
    "throughput": "Throughput",
    "best": "Fraction of the best",
}
LEAST_RATIO = 1.05
"""The colour scale of times spans at least so much."""
FULL = 0.9
SLOW = 1.25
"""Occupancy and time disagree: nearly as full as any block, and so many times slower."""
HALF = 0.6
FAST = 1.05
"""The other way round: far from full, and nearly as fast as the best."""
ALIKE = 1.05
"""A block's own median stands for it unless it is so many times off what decided."""
MANY = 1e4
"""From here on a cell's figure is told in thousands."""
PHASES = {
    "survey": "First looks, coarse to fine",
    "race": "Racing the contenders",
    "turns": "The leaders take turns",
}

Disagreement = Literal["full and slow", "fast though not full"]


class Tick(msgspec.Struct, frozen=True):
    """A mark of the colour bar: where, 0 to 1, and its words."""

    place: float
    words: str


class Look:
    """The colours and words of one map's cells at one moment."""

    def __init__(self, held: Surface, colouring: Colouring) -> None:
        self._held = held
        self.colouring = colouring
        timed = [c for c in held.cells if c.time_s and c.state == "measured"]
        times = [c.time_s for c in timed if c.time_s]
        best = next((c for c in timed if c.block == held.best), None)
        self._best = best
        self.best_s = best.time_s if best is not None else min(times, default=None)
        self.slowest_s = max((s for c in timed if (s := self.time_s(c))), default=None)
        self.works_with_bytes = bool(timed) and not any(c.flops for c in timed)
        self.rate_unit = "B/s" if self.works_with_bytes else "FLOP/s"
        self._most = max((self.rate(c) or 0.0 for c in timed), default=0.0)
        occupancies = [o for c in timed if (o := occupancy_of(c)) is not None]
        self.fullest = max(occupancies, default=None)
        reference = self.best_s if colouring == "time" else self._most
        self._factor, self._prefix = si_scale(reference or 0.0)

    # ---- values

    def time_s(self, cell: MapCell) -> float | None:
        """Return what a block takes on the map: the median of its launches, as its run has it.

        Where the machine's pace has changed meanwhile, that would say other than what decided: then
        it is the best's time, by the ratio at which both stood side by side.
        """
        if not cell.time_s or self.best_s is None or cell is self._best:
            return cell.time_s
        beside_s = self._beside(cell) * self.best_s
        alike = 1 / ALIKE <= cell.time_s / beside_s <= ALIKE
        return cell.time_s if alike and cell.time_s >= self.best_s else beside_s

    def _beside(self, cell: MapCell) -> float:
        """Return the ratio that decided: that of the turns, or of the looks at both.

        Nobody is shown as faster than the best: where turns leave it open, it is for words to say.
        """
        if cell.ratio is not None:
            return max(cell.ratio.ratio, 1.0)
        best = self._best
        own_s, best_s = cell.time_s or 0.0, self.best_s or math.inf
        if best is not None and best.looked_s and cell.looked_s:
            own_s, best_s = cell.looked_s, best.looked_s
        return max(own_s / best_s, 1.0)

    def rate(self, cell: MapCell) -> float | None:
        """Return a cell's operations a second, or bytes where the work counts none."""
        time_s = self.time_s(cell)
        work = cell.compulsory_B if self.works_with_bytes else cell.flops
        return work / time_s if work and time_s else None

    def ratio(self, cell: MapCell) -> float | None:
        """Return a cell's time over the best's: that of their turns where they took some."""
        if cell.ratio is not None:
            return cell.ratio.ratio
        time_s = self.time_s(cell)
        return time_s / self.best_s if time_s and self.best_s else None

    def fraction(self, cell: MapCell) -> float:
        """Return how near a cell comes to the best, of which none is above."""
        return min(1 / (self.ratio(cell) or math.inf), 1.0)

    def shade(self, cell: MapCell) -> float | None:
        """Return a cell's place on the colour scale, 0 slow to 1 fast; None without a time."""
        time_s = self.time_s(cell)
        return self.shade_of(time_s, self.rate(cell)) if time_s else None

    def shade_of(self, time_s: float, rate: float | None = None) -> float | None:
        """Return the place on the colour scale of a time, and of the rate that it means."""
        if not self.best_s or not self.slowest_s:
            return None
        if self.colouring == "time":
            span = math.log(max(self.slowest_s / self.best_s, LEAST_RATIO))
            return 1 - math.log(max(time_s, 1e-15) / self.best_s) / span
        if self.colouring == "best" or rate is None or not self._most:
            return self.best_s / time_s
        return rate / self._most

    def text(self, cell: MapCell) -> str:
        """Return the value in a cell, without its unit, which stands beside the colour bar."""
        if not cell.time_s:
            return ""
        if self.colouring == "best":
            return f"{100 * self.fraction(cell):.0f}" if self.best_s else ""
        value = self.time_s(cell) if self.colouring == "time" else self.rate(cell)
        return short(value * self._factor) if value is not None else ""

    @property
    def unit(self) -> str:
        """The unit of the values in the cells."""
        if self.colouring == "best":
            return "% of the best"
        return self._prefix + ("s" if self.colouring == "time" else self.rate_unit)

    def ticks(self, room: int) -> list[Tick]:
        """Return at most ``room`` marks of the colour bar, the dark end first."""
        if not self.best_s or not self.slowest_s:
            return []
        if self.colouring == "time":
            low, high = self.best_s, max(self.slowest_s, self.best_s * LEAST_RATIO)
            marks = log_marks(low, high, room)
            return [
                Tick(1 - math.log(m / low) / math.log(high / low), plain(m * self._factor))
                for m in reversed(marks)
            ]
        top = 1.0 if self.colouring == "best" else self._most
        factor = 100.0 if self.colouring == "best" else self._factor
        step = even_step(top * factor, room)
        marks = [i * step for i in range(int(top * factor / step + 1e-9) + 1)]
        return [Tick(m / (top * factor), f"{m:g}") for m in marks]

    # ---- occupancy

    def disagreement(self, cell: MapCell) -> Disagreement | None:
        """Return how a cell's theoretical occupancy and its time disagree, if they do."""
        occupancy, ratio = occupancy_of(cell), self.ratio(cell)
        if occupancy is None or ratio is None or not self.fullest:
            return None
        if occupancy >= FULL * self.fullest and ratio >= SLOW:
            return "full and slow"
        if occupancy <= HALF * self.fullest and ratio <= FAST:
            return "fast though not full"
        return None

    def occupancy_legend(self) -> str:
        """Return the overlay's signs with how many there are; empty without occupancy."""
        if self.fullest is None:
            return ""
        found = [self.disagreement(c) for c in self._held.cells]
        slow, fast = found.count("full and slow"), found.count("fast though not full")
        return f"▼ full and slow: {slow}   ▲ fast though not full: {fast}"

    def occupancy_words(self, device: DeviceInfo) -> str:
        """Return where occupancy and time disagree, or why there is no occupancy."""
        if self.fullest is None:
            return self._no_occupancy(device)
        found = [self.disagreement(c) for c in self._held.cells]
        slow, fast = found.count("full and slow"), found.count("fast though not full")
        if not slow and not fast:
            best = occupancy_of(self._best) if self._best is not None else None
            if best is not None and best >= FULL * self.fullest:
                return "The fullest blocks are the fastest here: occupancy and time agree."
            return "No block is full and slow, or fast though not full, by much."
        parts = []
        if slow:
            parts.append(f"{slow} full yet at least {SLOW:g}× slower than the best ▼")
        if fast:
            parts.append(f"{fast} as fast as the best though not full ▲")
        return f"Occupancy and time disagree: {', '.join(parts)}."

    def _no_occupancy(self, device: DeviceInfo) -> str:
        if device.kind == "cpu":
            return "A processor has no multiprocessors to fill: occupancy is a figure of GPUs."
        if device.compute_capability is None:
            return "The limits of this device's multiprocessors are not known, so no occupancy is."
        if device.compute_capability not in LIMITS:
            major, minor = device.compute_capability
            return (
                f"The multiprocessor's limits of compute capability {major}.{minor} are not known."
            )
        return "Occupancy needs a block's registers: measure first."

    # ---- words

    def cell_words(self, cell: MapCell) -> str:
        """Return what is known of a cell, in one line."""
        shape = f"{product_words(cell.block)} threads"
        if not cell.time_s or cell.state != "measured":
            state = STATES.get(cell.state)
            words = (shape, *([state] if state else []), cell.reason or "not measured yet")
            return ": ".join(words)
        time_s = self.time_s(cell)
        own = time_s == cell.time_s
        parts = [time_words(cell) if own else f"{quantity(time_s, 's')} beside the best"]
        rate = self.rate(cell)
        if rate is not None:
            parts.append(quantity(rate, self.rate_unit))
        parts.append(self.ratio_words(cell))
        if cell.turns:
            parts.append(plural(cell.turns, "{number} turn", "{number} turns"))
        parts.append(samples_words(cell.samples))
        occupancy = occupancy_of(cell)
        if occupancy is not None and cell.resources is not None:
            limiter = cell.resources.occupancy_limiter
            parts.append(
                f"occupancy {percent(occupancy)} ({limiter})"
                if limiter and occupancy < 1
                else f"occupancy {percent(occupancy)}"
            )
        told = f"{shape}: {', '.join(parts)}"
        if own:
            return told
        return f"{told}; by itself it took {time_words(cell)}, at another pace of the machine"

    def ratio_words(self, cell: MapCell) -> str:
        """Return how a cell stands to the best."""
        held = self._held
        if cell.block == held.best:
            return "the best" if held.done else "the best so far"
        ratio = self.ratio(cell)
        if ratio is None:
            return ""
        tied = cell.block in held.ties
        if cell.ratio is None:
            if tied:
                return "cannot be told from the best: too few turns beside it"
            if ratio <= 1:  # as the machine was by then
                return "took no turns beside the best: it was slower when both were looked at"
            return speed_than(ratio, "the best")
        if tied:
            return f"cannot be told from the best ({cell.ratio.interval}) in turns beside it"
        return f"{cell.ratio.words} in turns beside the best"

    @property
    def best_words(self) -> str:
        """The best block with its figures; empty while there is none."""
        best = next((c for c in self._held.cells if c.block == self._held.best), None)
        if best is None:
            return ""
        rate = self.rate(best)
        facts = [f"{product_words(best.block)} threads: {time_words(best)}"]
        if rate is not None:
            facts.append(quantity(rate, self.rate_unit))
        return ", ".join(facts)

    def map_words(self) -> str:
        """Return how far the map is, or what it found."""
        held = self._held
        if held.step is not None:
            return step_words(held)
        if not held.measured:
            return f"{held.able} of {held.wanted.grid.count} blocks can run; Start measures them"
        text = self.best_words
        if not text:
            return "No block could be measured"
        if not held.done:
            measured = sum(c.time_s is not None for c in held.cells)
            words = f"Left at {measured} of {held.able} blocks; best so far {text}"
        elif (others := len(held.ties) - 1) > 0:
            words = f"Best {text}; {others} more cannot be told from it"
        else:
            words = f"Best {text}"
        unknown = next((cell.not_verified for cell in held.cells if cell.not_verified), "")
        return f"{words} · {unknown}" if unknown else words


STATES = {
    "cannot": "cannot run",
    "long": "not run",
    "failed": "failed",
    "suspect": "not believed",
}


def step_words(held: Surface, *, paused: bool = False) -> str:
    """Return how far a map is that is measured; empty for another."""
    step = held.step
    if step is None:
        return ""
    if step.phase == "survey":
        state = f"{step.measured} of {held.able} blocks"
    else:
        state = f"{step.contenders} of {held.able} blocks left"
    if paused:
        return f"Paused at {state}"
    facts = [state]
    if step.left_s:
        facts.append(f"about {quantity(step.left_s, 's', 2)} to go")
    return f"{PHASES[step.phase]}: {', '.join(facts)}"


def time_words(cell: MapCell) -> str:
    """Return a cell's time and how well it is known."""
    return known_words(cell.time_s, cell.ci95_low_s, cell.ci95_high_s)


def occupancy_of(cell: MapCell) -> float | None:
    """Return a cell's theoretical occupancy; None where there is none."""
    return cell.resources.occupancy if cell.resources is not None else None


def plain(value: float) -> str:
    """Return a number with three significant digits and no exponent."""
    whole = len(str(int(abs(value)))) if value else 1
    return f"{value:.{max(0, 3 - whole)}f}" if value >= 0.001 else f"{value:.1g}"


def short(value: float) -> str:
    """Return a number for a cell, which has no room for five digits and more: ``34.9k``."""
    return plain(value) if value < MANY else f"{plain(value / 1000)}k"


def log_marks(low: float, high: float, room: int) -> list[float]:
    """Return round values from ``low`` to ``high`` on a logarithmic scale, the ends' own first."""
    for factors in ((1, 1.5, 2, 3, 5, 7), (1, 2, 3, 5), (1, 2, 5), (1, 3), (1,)):
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        marks = [m for d in decades for f in factors if low <= (m := f * 10.0**d) <= high]
        if len(marks) <= room:
            break
    stride = max(1, math.ceil(len(marks) / max(1, room)))
    chosen = marks[::stride]
    if len(chosen) < 2:  # less than a round value apart
        chosen = [low, math.sqrt(low * high), high]
    return chosen


def even_step(most: float, room: int) -> float:
    """Return a round step that makes at most ``room`` marks from 0 to ``most``."""
    raw = max(most, 1e-12) / max(1, room - 1)
    power = 10.0 ** math.floor(math.log10(raw))
    return next((f * power for f in (1, 2, 2.5, 5) if f * power >= raw), 10 * power)


def guesses(held: Surface) -> dict[int, float]:
    """Return the time of the measured cell nearest to each one still waiting, by number."""
    grid = held.wanted.grid
    known = [n for n, c in enumerate(held.cells) if c.time_s is not None]
    waiting = [n for n, c in enumerate(held.cells) if c.state == "waiting"]
    if not known or not waiting:
        return {}
    columns = len(grid.x)
    at = np.array([divmod(n, columns) for n in known])
    of = np.array([divmod(n, columns) for n in waiting])
    apart = np.abs(of[:, None, :] - at[None, :, :]).max(axis=2)
    nearest = apart.argmin(axis=1)
    return {n: held.cells[known[i]].time_s or 0.0 for n, i in zip(waiting, nearest, strict=True)}


def place_of(grid: Grid, block: Block) -> tuple[float, float] | None:
    """Return where a block lies on a grid, in cells from the first along x and y.

    Between two counts it lies as far along as its logarithm; None beyond the grid, or at another z.
    """
    if block[2] != grid.z:
        return None
    found = []
    for counts, value in ((grid.x, block[0]), (grid.y, block[1])):
        if not counts[0] <= value <= counts[-1]:
            return None
        found.append(float(np.interp(math.log2(value), np.log2(counts), np.arange(len(counts)))))
    return found[0], found[1]
