"""Where a launch's memory goes: the predicted parts stacked, the counted peak beside them."""

from __future__ import annotations

from gpuexplorer.charts.spec import Axis, Panel, Series, series
from gpuexplorer.core.memory import PARTS, MemoryUse
from gpuexplorer.core.units import percent, quantity

PART_COLOURS = {name: slot for slot, name in enumerate(PARTS)}
"""Slots in the palette, here and in the window; the one past its end is drawn in grey."""
EXACT = 0.0005
"""A prediction that is this near is called exact."""
ROOM = 1.06
"""The axis is this much longer than the longest bar."""


def has_memory(use: MemoryUse | None) -> bool:
    """Whether there is more to say of a run's memory than which arrays it has."""
    if use is None:
        return False
    parts = use.predicted
    layers = parts is not None and bool(
        parts.weights_B or parts.gradients_B or parts.optimizer_B or parts.activations_B
    )
    return layers or use.peak_B is not None


def memory_words(use: MemoryUse) -> str:
    """Return the peak in a line: counted, predicted, and how far these are apart."""
    predicted = use.predicted.total_B if use.predicted is not None else None
    error = use.relative_error
    if use.peak_B is None:
        return f"{quantity(predicted, 'B')} predicted, not counted: {use.reason or 'not known why'}"
    if predicted is None or error is None:
        return f"counted by {use.counter}; no formula predicts it"
    if abs(error) < EXACT:
        return f"counted by {use.counter}; as predicted"
    counter, expected, apart = use.counter, quantity(predicted, "B"), percent(abs(error))
    if error > 0:
        return f"counted by {counter}; {expected} predicted, {apart} too much"
    return f"counted by {counter}; {expected} predicted, {apart} too little"


def parts_words(use: MemoryUse) -> str:
    """Return the predicted parts, the largest first; empty without a prediction."""
    if use.predicted is None:
        return ""
    parts = sorted(use.predicted.named(), key=lambda part: -part[1])
    return " · ".join(f"{title} {quantity(nbytes, 'B')}" for title, nbytes in parts)


def memory_panel(use: MemoryUse) -> Panel:
    """Return the stacked bar of the predicted parts above that of the counted peak.

    ValueError where neither is known.
    """
    drawn: list[Series] = []
    rows: list[str] = []
    longest = 0.0
    if use.predicted is not None:
        at = 0.0
        for name, title in PARTS.items():
            nbytes = float(getattr(use.predicted, f"{name}_B"))
            if not nbytes:
                continue
            drawn.append(_bar(title, at, len(rows), nbytes, PART_COLOURS[name]))
            at += nbytes
        rows.append("predicted")
        longest = at
    if use.peak_B is not None:
        drawn.append(_bar("counted", 0.0, len(rows), use.peak_B, len(PARTS)))
        rows.append("counted")
        longest = max(longest, use.peak_B)
    if not longest:
        raise ValueError("nothing is known of the memory")
    return Panel(
        title="Memory at its peak",
        x=Axis(label="memory held at once", unit="B", low=0.0, high=longest * ROOM),
        y=Axis(label="", low=-0.6, high=len(rows) - 0.4, categories=tuple(rows)),
        series=tuple(drawn),
        height=0.28 + 0.14 * len(rows),
    )


def _bar(name: str, start_B: float, row: int, nbytes: float, colour: int) -> Series:
    return series(
        name, "spans", "measured", x=[start_B], y=[row], z=[nbytes], colour=colour,
        labels=(f"{name} {quantity(nbytes, 'B')}",),
    )  # fmt: skip


def memory_notes(use: MemoryUse) -> list[str]:
    """Return where the figures come from, a sentence each."""
    if use.peak_B is not None:
        return [f"Memory: {quantity(use.peak_B, 'B')} {memory_words(use)}."]
    return [f"Memory: {memory_words(use)}."]
