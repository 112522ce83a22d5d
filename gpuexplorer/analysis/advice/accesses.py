"""What the counted accesses of a warp advise: lines that fetch or wait for more than they use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from gpuexplorer.analysis.advice.advice import Advice
from gpuexplorer.analysis.advice.situation import Situation
from gpuexplorer.core.accesses import (
    BANK_B,
    BANKS,
    METHOD,
    SECTOR_B,
    WARP,
    AccessProfile,
    AccessRow,
)
from gpuexplorer.core.units import count

FETCHES = "A warp fetches more than it uses"
WAITS = "A warp waits for its banks"
LEAST_FACTOR = 2.0
"""Lines that fetch less than this many times what they could are not worth a word."""
LEAST_SHARE = 0.05
"""Neither are those with less than this share of the warp's sectors, or of its passes."""


def access_advice(profile: AccessProfile) -> tuple[str, ...]:
    """Return a sentence for each place that fetches scattered sectors or meets in a bank.

    The worst places come first.
    """
    return (*(sentence for _, sentence in _places(profile)), *_idle(profile))


def _places(profile: AccessProfile) -> list[tuple[str, str]]:
    """Return what such a place costs in a few words, and its sentence, of each; the worst first."""
    rows = profile.rows
    all_sectors = sum(row.sectors for row in rows)
    all_passes = sum(row.passes for row in rows)
    found = [
        (row.sectors / all_sectors, FETCHES, _scattered(profile, number, row))
        for number, row in enumerate(rows)
        if row.sectors >= LEAST_FACTOR * row.least_sectors
        and row.fetched_B > row.asked_B  # lanes that share an element fetch it once
        and row.sectors > max(row.requests, LEAST_SHARE * all_sectors)
    ]
    found += [
        (row.passes / all_passes, WAITS, _conflicting(row))
        for row in rows
        if row.passes >= LEAST_FACTOR * row.least_passes and row.passes > LEAST_SHARE * all_passes
    ]
    return [(cost, sentence) for _, cost, sentence in sorted(found, key=lambda one: -one[0])]


def scattered(situation: Situation) -> Advice | None:
    """Say which line fetches or waits for more than it uses, where accesses were counted."""
    said = [place for profile in situation.accesses for place in _places(profile)]
    if not said:
        return None
    title, sentence = said[0]
    evidence = sentence.removesuffix(".")
    return Advice(
        rule="scattered",
        kind="place",
        title=title,
        evidence=f"{evidence} ({METHOD})",
        saves=0.0,
        section="A line that fetches more than it uses",
    )


def _steps_B(profile: AccessProfile, number: int) -> list[int]:
    """Return how far apart neighbouring lanes are in a row's first request, in bytes."""
    first = profile.requests.first_of(number)
    if first is None:
        return []
    there = [place for place in profile.requests[first].offsets_B if place is not None]
    return [b - a for a, b in pairwise(there)]


def _stride_B(steps_B: Sequence[int]) -> int | None:
    """Return the step that most lanes not at the same place have in common; None for none."""
    moved = [step for step in steps_B if step]
    found = max(set(moved), key=moved.count, default=None)
    return found if found is not None and 2 * moved.count(found) > len(moved) else None


def _scattered(profile: AccessProfile, number: int, row: AccessRow) -> str:
    sectors, used_B = row.sectors / row.requests, row.used_B / row.requests
    line, text = row.line, row.text
    steps = _steps_B(profile, number)
    stride = _stride_B(steps)
    shown = f"{sectors:.3g}"
    fetched = (
        f"Line {line} fetches {shown} sectors of {SECTOR_B} B for {used_B:.4g} B a request ({text})"
    )
    if not any(steps):  # not recorded
        return f"{fetched}: let neighbouring threads take neighbouring elements."
    if stride is None:
        return (
            f"{fetched}, for its lanes want scattered elements: let neighbouring threads take "
            "neighbouring elements."
        )
    if abs(stride) <= row.width_B:
        return (
            f"{fetched}: neighbouring lanes take neighbouring elements, but few of them, or from "
            "the middle of a sector: let more of them follow each other along x."
        )
    apart = count(abs(stride))
    x, y, _ = profile.block
    if x == 1 and y > 1:
        return (
            f"{fetched}, for neighbouring lanes are {apart} B apart: swap x and y of the block, so "
            "that its threads lie along x."
        )
    if y == 1:
        return (
            f"{fetched}, for neighbouring lanes are {apart} B apart: let neighbouring threads take "
            "neighbouring elements (an element a lane, or arrays instead of structs)."
        )
    if 1 < x < WARP and 0 in steps:
        return (
            f"{fetched}, for the {x} lanes along x want the same element, and those of the next "
            f"row one {apart} B away: make the block wider along x."
        )
    return (
        f"{fetched}, for neighbouring lanes are {apart} B apart: swap x and y in its index, so "
        "that threadIdx.x counts neighbouring elements."
    )


def _conflicting(row: AccessRow) -> str:
    passes, least = row.passes / row.requests, row.least_passes / row.requests
    line, text, array, shown, fewest = (
        row.line,
        row.text,
        row.array,
        f"{passes:.3g}",
        f"{least:.3g}",
    )
    return (
        f"Line {line} takes {shown} passes a request through the banks where {fewest} would do "
        f"({text}): its lanes want different words of one bank, so try another length of the rows "
        f"of {array}, such as one element more, or let neighbouring threads take neighbouring "
        f"words of {BANK_B} B in the {BANKS} banks."
    )


def _idle(profile: AccessProfile) -> Iterator[str]:
    x, y, z = profile.block
    threads = x * y * z
    if threads % WARP:
        warps = -(-threads // WARP)
        lanes = warps * WARP
        idle = lanes - threads
        yield (
            f"{idle} of the {lanes} lanes of a block have no thread: make its {threads} "
            f"threads a multiple of {WARP}."
        )
