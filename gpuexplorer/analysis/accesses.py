"""Requests, sectors and bank conflicts of a warp, from the notes that its threads took.

A request is what the lanes of a warp ask for at one place of the source in one step: notes with the
same stamp (the iterations and calls around them), in each lane the same one of those. An element
wider than 16 bytes, or than its type is aligned to, comes in pieces, each a request of its own.

In shared memory a bank gives one word of 4 bytes a pass. All lanes share a pass as long as each
takes 4 bytes or fewer; 8 bytes a lane take a pass for each half of the warp and 16 bytes one for
each quarter, whatever the words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from gpuexplorer.core.accesses import (
    BANK_B,
    BANKS,
    MOST_REQUESTS,
    SECTOR_B,
    WARP,
    WIDEST_B,
    AccessArray,
    AccessLook,
    AccessRequests,
    AccessRow,
    AccessSite,
    ArrayAccesses,
    RequestKind,
    Trace,
)
from gpuexplorer.core.config import Block

Whole = npt.NDArray[np.int64]
_KINDS: tuple[RequestKind, ...] = ("read", "write", "atomic")


class Notes(msgspec.Struct, frozen=True):
    """What was noted, an entry each, in the order of each thread's program."""

    thread: Whole
    """The thread's number in its block."""
    site: Whole
    array: Whole
    offset_B: Whole
    """From the array's first byte."""
    width_B: Whole
    piece_B: Whole
    """Bytes that the element's type is aligned to."""
    stamp: npt.NDArray[np.uint64]
    sizes_B: list[int]
    """Of the arrays."""

    def where(self, chosen: npt.NDArray[Any]) -> Notes:
        """Return those of the entries that are chosen, by a mask or by number."""
        return replace(
            self,
            **{
                name: getattr(self, name)[chosen]
                for name in ("thread", "site", "array", "offset_B", "width_B", "piece_B", "stamp")
            },
        )


def trace_of(
    notes: Notes,
    sites: Sequence[AccessSite],
    arrays: Sequence[AccessArray],
    sizes_B: Sequence[int],
    look: AccessLook,
    *,
    entry: str,
    block: Block,
    grid: Block,
    whole: bool,
    lost: int,
) -> Trace:
    """Return the counts of one warp, and of the block where the notes are ``whole``."""
    of_warp = notes.where(notes.thread // WARP == look.warp)
    requests = _Requests(of_warp, sites)
    order = requests.in_order()
    drawn = order[:MOST_REQUESTS]
    return Trace(
        entry=entry,
        block=block,
        grid=grid,
        look=look,
        warps=-(-block[0] * block[1] * block[2] // WARP),
        rows=tuple(requests.row(i, sites, arrays) for i in range(len(requests.rows))),
        arrays=tuple(
            _touched(i, array, sizes_B[i], notes, of_warp, sites, whole)
            for i, array in enumerate(arrays)
        ),
        requests=requests.drawn(drawn),
        requests_total=len(order),
        lost=lost,
    )


def _numbered(*columns: npt.NDArray[Any]) -> tuple[Whole, Whole]:
    """Number the distinct combinations; return each entry's number, and an entry of each."""
    if not len(columns[0]):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    order = np.lexsort(columns[::-1])
    new = np.zeros(len(order), bool)
    new[0] = True
    for column in columns:
        inorder = column[order]
        new[1:] |= inorder[1:] != inorder[:-1]
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.cumsum(new) - 1
    return numbers, order[new]


def _times(groups: Whole) -> Whole:
    """Return how often each entry's group came before it."""
    order = np.argsort(groups, kind="stable")
    inorder = groups[order]
    starts = np.flatnonzero(np.r_[True, inorder[1:] != inorder[:-1]]) if len(order) else order
    times = np.empty(len(groups), np.int64)
    times[order] = np.arange(len(order)) - np.repeat(starts, np.diff(np.r_[starts, len(order)]))
    return times


def _covered_B(offsets: Whole, widths: Whole) -> int:
    """Return how many distinct bytes some pieces cover."""
    if not len(offsets):
        return 0
    order = np.argsort(offsets, kind="stable")
    starts, ends = offsets[order], (offsets + widths)[order]
    reached = np.maximum.accumulate(ends)
    before = np.r_[starts[0], reached[:-1]]
    return int(np.maximum(ends - np.maximum(starts, before), 0).sum())


class _Requests:
    """The requests of one warp."""

    def __init__(self, notes: Notes, sites: Sequence[AccessSite]) -> None:
        first, _ = _numbered(notes.thread, notes.site, notes.stamp)
        times = _times(first)
        piece_B = np.minimum(np.minimum(notes.piece_B, WIDEST_B), notes.width_B)
        twice = np.array([s.kind == "read and write" for s in sites], bool)[notes.site]
        base = np.array([_kind(s) for s in sites], np.int64)[notes.site]
        pieces = -(-notes.width_B // np.maximum(piece_B, 1))
        count = pieces * np.where(twice, 2, 1)
        entry = np.repeat(np.arange(len(count)), count)
        number = np.arange(len(entry)) - np.repeat(np.cumsum(count) - count, count)
        piece = number % pieces[entry]
        self.lane = notes.thread[entry] % WARP
        self.offset_B = notes.offset_B[entry] + piece * piece_B[entry]
        self.width_B = np.minimum(piece_B[entry], notes.width_B[entry] - piece * piece_B[entry])
        kind = base[entry] + number // pieces[entry]
        site, array = notes.site[entry], notes.array[entry]
        self.request, self.first = _numbered(
            site, kind, array, self.width_B, piece, times[entry], notes.stamp[entry]
        )
        f = self.first
        self.row_of, of_row = _numbered(site[f], kind[f], array[f], self.width_B[f])
        self.rows = f[of_row]
        self.site, self.kind, self.array = site, kind, array

    def in_order(self) -> list[int]:
        """Return the requests in the order of the program, as far as the lanes agree on one.

        What a lane does that those before it did not follows what it did just before.
        """
        behind: dict[int, int] = {}
        seen: set[bytes] = set()
        start = -1
        for lane in range(WARP):
            sequence = self.request[self.lane == lane]
            if sequence.tobytes() in seen:
                continue
            seen.add(sequence.tobytes())
            at = start
            known = len(behind) > 0
            for one in sequence.tolist():
                if not known or one not in behind:
                    behind[one] = behind.get(at, start)
                    behind[at] = one
                at = one
        order, at = [], behind.get(start, start)
        while at != start:
            order.append(at)
            at = behind[at]
        return order

    def drawn(self, order: Sequence[int]) -> AccessRequests:
        """Return these requests with each lane's place."""
        places = np.full((len(self.first), WARP), -1, np.int64)
        places[self.request, self.lane] = self.offset_B
        return AccessRequests.of(self.row_of[list(order)], places[list(order)])

    def row(
        self, number: int, sites: Sequence[AccessSite], arrays: Sequence[AccessArray]
    ) -> AccessRow:
        """Return the counts of one row."""
        entry = self.rows[number]
        mine = self.row_of[self.request] == number
        request, lane, offset_B = self.request[mine], self.lane[mine], self.offset_B[mine]
        width_B = int(self.width_B[entry])
        array, site = arrays[int(self.array[entry])], sites[int(self.site[entry])]
        _, of_distinct = _numbered(request, offset_B)
        used_B = len(of_distinct) * width_B
        each, _ = _numbered(request)
        per_request = np.bincount(each[of_distinct]) * width_B
        counts = (
            _sectors(request, offset_B, width_B, per_request)
            if array.space == "global"
            else _passes(request, lane, offset_B, width_B)
        )
        return AccessRow(
            source=site.source,
            line=site.line,
            text=site.text,
            array=array.name,
            space=array.space,
            kind=_KINDS[int(self.kind[entry])],
            width_B=width_B,
            requests=len(per_request),
            lanes=len(request),
            used_B=used_B,
            **counts,
        )


def _kind(site: AccessSite) -> int:
    return 0 if site.kind == "read and write" else _KINDS.index(site.kind)


def _sectors(request: Whole, offset_B: Whole, width_B: int, per_request_B: Whole) -> dict[str, int]:
    first, last = offset_B // SECTOR_B, (offset_B + width_B - 1) // SECTOR_B
    both = last > first
    _, distinct = _numbered(np.r_[request, request[both]], np.r_[first, last[both]])
    return {
        "sectors": len(distinct),
        "least_sectors": int((-(-per_request_B // SECTOR_B)).sum()),
    }


def _passes(request: Whole, lane: Whole, offset_B: Whole, width_B: int) -> dict[str, int]:
    together = WARP * BANK_B // max(width_B, BANK_B)
    group, of_group = _numbered(request, lane // together)
    words = -(-width_B // BANK_B)
    word = (offset_B[:, None] // BANK_B + np.arange(words)).ravel()
    group = np.repeat(group, words)
    _, distinct = _numbered(group, word)
    bank = word[distinct] % BANKS
    in_bank, of_bank = _numbered(group[distinct], bank)
    most = np.zeros(len(of_group), np.int64)
    np.maximum.at(most, group[distinct][of_bank], np.bincount(in_bank))
    return {"passes": int(most.sum()), "least_passes": len(of_group)}


def _touched(
    number: int,
    array: AccessArray,
    nbytes: int,
    notes: Notes,
    of_warp: Notes,
    sites: Sequence[AccessSite],
    whole: bool,
) -> ArrayAccesses:
    warp, block = (n.where(n.array == number) for n in (of_warp, notes))
    kinds = np.array([s.kind for s in sites])[block.site] if whole and sites else np.zeros(0)
    widths = block.width_B if whole else np.zeros(0, np.int64)
    return ArrayAccesses(
        name=array.name,
        space=array.space,
        nbytes=nbytes,
        warp_B=_covered_B(warp.offset_B, warp.width_B),
        block_B=_covered_B(block.offset_B, block.width_B) if whole else None,
        block_read_B=int(widths[kinds != "write"].sum()) if whole else None,
        block_written_B=int(widths[kinds != "read"].sum()) if whole else None,
    )
