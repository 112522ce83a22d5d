"""One request of a warp as a picture: its lanes, the memory that they meet in, and the colours.

In global memory a box is a sector of 32 bytes; in shared memory it is a bank, and the words that
lanes want of it lie below each other, one a pass.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gpuexplorer.core.accesses import (
    BANK_B,
    BANKS,
    SECTOR_B,
    WARP,
    AccessProfile,
)
from gpuexplorer.core.units import count, plural

WORDS = SECTOR_B // BANK_B
"""Cells of a sector."""
Cell = tuple[int, int]
"""A box, and the place in it."""


class RequestPicture(msgspec.Struct, frozen=True):
    """What is drawn of one request."""

    row: int
    """The row of the table that it belongs to."""
    shared: bool
    boxes: int
    deep: int
    """Cells of a box: words of a sector, or passes through a bank."""
    touched: dict[Cell, int]
    """The colour slot of each cell that a lane wants."""
    lanes: tuple[int | None, ...]
    """The colour slot of each lane; None for one that takes no part."""
    links: tuple[tuple[int, Cell], ...]
    """A lane, and a cell that it wants."""
    starts: tuple[int, ...]
    """The first byte of each sector in its array; empty for banks."""
    words: str


def picture(profile: AccessProfile, index: int) -> RequestPicture:
    """Return the picture of the request of that number."""
    request = profile.requests[index]
    row = profile.rows[request.row]
    asked = [(lane, at) for lane, at in enumerate(request.offsets_B) if at is not None]
    shared = row.space == "shared"
    links = _banks(asked, row.width_B) if shared else _sectors(asked, row.width_B)
    slots = {cell: cell[1] if shared else cell[0] for _, cell in links}
    lanes: list[int | None] = [None] * WARP
    for lane, cell in reversed(links):
        lanes[lane] = slots[cell]
    starts = sorted({at // SECTOR_B for _, at in _each(asked, row.width_B)})
    deep = max((cell[1] for _, cell in links), default=0) + 1
    sectors = plural(len(starts), "{number} sector of 32 B", "{number} sectors of 32 B")
    words_in_bank = plural(deep, "{number} word of a bank at the most",
                           "{number} different words of a bank at the most")  # fmt: skip
    active = plural(len(asked), "{number} lane", "{number} lanes")
    place = f"Line {row.line}"
    kind, name = row.kind, row.array
    return RequestPicture(
        row=request.row,
        shared=shared,
        boxes=BANKS if shared else len(starts),
        deep=deep if shared else WORDS,
        touched=slots,
        lanes=tuple(lanes),
        links=tuple(links),
        starts=() if shared else tuple(SECTOR_B * one for one in starts),
        words=" · ".join(
            (
                place,
                row.text,
                f"{kind} of array {name}",
                active,
                words_in_bank if shared else sectors,
            )
        ),
    )


def _each(asked: Sequence[tuple[int, int]], width_B: int) -> list[tuple[int, int]]:
    """Return every word of 4 bytes, or part of one, that a lane wants, by its first byte."""
    return [
        (lane, byte // BANK_B * BANK_B)
        for lane, at in asked
        for byte in range(at, at + width_B, min(width_B, BANK_B))
    ]


def _sectors(asked: Sequence[tuple[int, int]], width_B: int) -> list[tuple[int, Cell]]:
    each = _each(asked, width_B)
    numbers = {one: i for i, one in enumerate(sorted({at // SECTOR_B for _, at in each}))}
    return [(lane, (numbers[at // SECTOR_B], at % SECTOR_B // BANK_B)) for lane, at in each]


def _banks(asked: Sequence[tuple[int, int]], width_B: int) -> list[tuple[int, Cell]]:
    stacks: dict[int, list[int]] = {}
    links = []
    for lane, at in _each(asked, width_B):
        word = at // BANK_B
        stack = stacks.setdefault(word % BANKS, [])
        if word not in stack:
            stack.append(word)
        links.append((lane, (word % BANKS, stack.index(word))))
    return links


def grid_words(profile: AccessProfile, at_once: int) -> str:
    """Return whether lanes are idle, and how full the grid's last turn is, in words.

    ``at_once`` is how many blocks the device works on at a time, if each of its multiprocessors or
    CPU threads has one.
    """
    gx, gy, gz = profile.grid
    x, y, z = profile.block
    threads, blocks = x * y * z, gx * gy * gz
    idle = profile.warps * WARP - threads
    rest = blocks % at_once
    said = [
        plural(idle, "{number} lane without a thread", "{number} lanes without a thread")
        if idle
        else "every lane has a thread",
    ]
    if rest and blocks > at_once:
        turn, whole = count(rest), count(at_once)
        said.append(f"the last turn has {turn} of {whole} blocks")
    return " · ".join(said)
