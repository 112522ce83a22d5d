"""The document of ``analyze --sass``: kernels as machine instructions beside their source lines.

What it comes to in words, the mix of instructions, and how two listings differ are worked out here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher

import msgspec

from gpuexplorer.analysis.instructions import (
    KIND_TITLES,
    USUAL_B,
    Instruction,
    Kind,
    Place,
    PtxLine,
)
from gpuexplorer.analysis.static import KernelFigures
from gpuexplorer.core.precision import PRECISIONS
from gpuexplorer.core.units import count, listed, plural

LISTING_SCHEMA = "gpuexplorer/listing/1"


class KernelListing(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel on one architecture as its instructions."""

    subject: str
    """The file, or workload and variant."""
    name: str
    source: str
    arch: str
    precision: str
    tunables: dict[str, int]
    registers_per_thread: int
    local_B: int
    spill_store_B: int | None
    spill_load_B: int | None
    most_live_registers: int | None
    mix: dict[Kind, int]
    """Instructions of each kind, in the order of ``KIND_TITLES``, without those of none."""
    sass: tuple[Instruction, ...]
    ptx: tuple[PtxLine, ...]

    @property
    def title(self) -> str:
        """The kernel and what it was compiled for."""
        return f"{self.name} · {self.arch}"


class Listings(msgspec.Struct, frozen=True, kw_only=True):
    """The document: every kernel on every architecture, or of both variants, that was asked for."""

    schema: str = LISTING_SCHEMA
    kernels: tuple[KernelListing, ...]
    sources: dict[str, str]
    """The text of the files that the user wrote, by name; other names are headers."""


def kernel_listing(
    figures: KernelFigures, *, subject: str, precision: str, tunables: Mapping[str, int]
) -> KernelListing:
    """Return a kernel's listing; ``figures`` have its code."""
    if figures.code is None:
        raise ValueError(f"{figures.name} was compiled without its listing")
    sass = figures.code.sass
    alive = [one.live_registers for one in sass if one.live_registers is not None]
    return KernelListing(
        subject=subject,
        name=figures.name,
        source=figures.source,
        arch=figures.arch,
        precision=precision,
        tunables=dict(tunables),
        registers_per_thread=figures.registers_per_thread,
        local_B=figures.local_B,
        spill_store_B=figures.spill_store_B,
        spill_load_B=figures.spill_load_B,
        most_live_registers=max(alive, default=None),
        mix=mix_of(sass),
        sass=sass,
        ptx=figures.code.ptx,
    )


def mix_of(instructions: Iterable[Instruction]) -> dict[Kind, int]:
    """Return how many instructions there are of each kind that occurs."""
    found = Counter(one.kind for one in instructions)
    return {kind: found[kind] for kind in KIND_TITLES if found[kind]}


def own_place(instruction: Instruction, sources: Iterable[str]) -> Place | None:
    """Return the innermost line in a user's own file; None for code of headers alone."""
    own = set(sources)
    return next((place for place in instruction.places if place.file in own), None)


def by_line(
    instructions: Iterable[Instruction], sources: Iterable[str]
) -> dict[Place, list[Instruction]]:
    """Return instructions by the user's line that they come from, in the files' order of lines.

    What no line of the user's asked for stands at the line of the header it comes from.
    """
    own = set(sources)
    found: dict[Place, list[Instruction]] = {}
    for one in instructions:
        place = own_place(one, own) or (one.places[0] if one.places else Place("", 0))
        found.setdefault(place, []).append(one)
    order = sorted(found, key=lambda place: (place.file not in own, place.file, place.line))
    return {place: found[place] for place in order}


# ---- in words


def remarks(listing: KernelListing) -> list[str]:
    """Return what the compiler did with registers and memory accesses, a sentence each."""
    return [*_registers(listing), *_local_memory(listing), *_wide_accesses(listing)]


def _registers(listing: KernelListing) -> list[str]:
    most = listing.most_live_registers
    at = next((one for one in listing.sass if one.live_registers == most), None)
    if most is None or at is None:
        return ["Which registers are alive is not known: nvdisasm follows those of NVRTC 13 alone."]
    where = _line_words([at])
    return [f"At most {most} registers of a thread are alive at once, {where}."]


def _local_memory(listing: KernelListing) -> list[str]:
    stores = [one for one in listing.sass if one.kind == "local store"]
    loads = [one for one in listing.sass if one.kind == "local load"]
    spilled = (listing.spill_store_B or 0) + (listing.spill_load_B or 0)
    if spilled:
        found = [
            f"Registers did not suffice: {count(listing.spill_store_B or 0)} bytes of a thread are "
            f"moved to local memory, {_line_words(stores)}, and {count(listing.spill_load_B or 0)} "
            f"bytes back, {_line_words(loads)}."
        ]
        return found
    if listing.spill_store_B is None and (stores or loads):
        return [f"Local memory is used, {_line_words([*stores, *loads])}."]
    if stores or loads:
        return [
            "An array of a thread lies in local memory, as its index is known only at run time, "
            f"{_line_words([*stores, *loads])}."
        ]
    return ["Nothing was spilled to local memory."]


def _wide_accesses(listing: KernelListing) -> list[str]:
    """Return which instructions move several elements at once, as far as precision tells."""
    element_B = max(USUAL_B, PRECISIONS[listing.precision].itemsize_B)
    groups: dict[tuple[Kind, int, str], list[Instruction]] = {}
    for one in listing.sass:
        if one.kind.startswith(("global", "shared")) and (one.width_B or 0) > element_B:
            groups.setdefault((one.kind, one.width_B or 0, one.opcode), []).append(one)
    found = []
    for (kind, width_B, opcode), ones in groups.items():
        found.append(
            plural(
                len(ones),
                "Vectorised: {number} {kind} of {width} bytes a thread ({opcode}), {where}.",
                "Vectorised: {number} {kind}s of {width} bytes a thread ({opcode}), {where}.",
                kind=kind,
                width=width_B,
                opcode=opcode,
                where=_line_words(ones),
            )
        )
    plain = [o for o in listing.sass if o.kind.startswith(("global", "shared")) and o.width_B]
    if plain and not found:
        found.append(f"No access is vectorised: none moves more than {element_B} bytes a thread.")
    return found


LINES_NAMED = 4
"""Of the lines that a sentence names; more are counted."""


def _line_words(instructions: Sequence[Instruction]) -> str:
    """Return the lines of instructions in words; of routines without lines their names."""
    places = dict.fromkeys(one.places[0] for one in instructions if one.places)
    files = {place.file for place in places}
    names = [
        f"{place.line}" if len(files) == 1 else f"{place.line} of {place.file}" for place in places
    ]
    if not names:
        return "at no line that is known"
    if len(names) == 1:
        return f"at line {names[0]}"
    if len(names) > LINES_NAMED:
        more = len(names) - LINES_NAMED
        shown = ", ".join(names[:LINES_NAMED])
        return f"at lines {shown} and {more} more"
    return f"at lines {listed(names)}"


# ---- two of them


class LineDifference(msgspec.Struct, frozen=True):
    """A line of the source whose instructions differ: the opcodes that one has beyond the other."""

    place: Place
    first: dict[str, int]
    second: dict[str, int]


def line_differences(
    first: KernelListing, second: KernelListing, sources: Iterable[str]
) -> list[LineDifference]:
    """Return the lines of two listings of the same source whose opcodes differ, in order."""
    own = set(sources)
    ours, theirs = by_line(first.sass, own), by_line(second.sass, own)
    places = sorted({*ours, *theirs}, key=lambda p: (p.file not in own, p.file, p.line))
    found = []
    for place in places:
        a = Counter(one.opcode for one in ours.get(place, ()))
        b = Counter(one.opcode for one in theirs.get(place, ()))
        if a != b:
            found.append(LineDifference(place, dict(a - b), dict(b - a)))
    return found


MOST_MATCHED = 4000
"""Instructions of two kernels together whose orders are held against each other."""


def unmatched_rows(
    first: Sequence[Instruction], second: Sequence[Instruction]
) -> tuple[list[int], list[int]]:
    """Return the rows of each that the other has not in the same order, by their opcodes.

    That is how kernels of different sources are held together, whose lines are not the same. None
    where they are too long for it.
    """
    if len(first) + len(second) > MOST_MATCHED:
        return [], []
    sides = [one.opcode for one in first], [one.opcode for one in second]
    ours, theirs = set(range(len(first))), set(range(len(second)))
    for a, b, size in SequenceMatcher(None, *sides, autojunk=False).get_matching_blocks():
        ours.difference_update(range(a, a + size))
        theirs.difference_update(range(b, b + size))
    return sorted(ours), sorted(theirs)
