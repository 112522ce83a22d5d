"""What a compiler made of the accesses that the source asks for, and where the two differ.

A compiler joins neighbouring elements into one wide access, moves out of a loop what does not
change in it, and keeps in registers what it has loaded before. Instructions stand at the line they
come from, so the two are held against each other line by line, loads and stores apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from gpuexplorer.analysis.instructions import Instruction
from gpuexplorer.analysis.listing import KernelListing, own_place
from gpuexplorer.core.accesses import (
    BANK_B,
    AccessRow,
    ArraySpace,
    CompiledAccess,
    CompiledAccesses,
    RequestKind,
)
from gpuexplorer.core.units import count, listed, plural

_KINDS: dict[str, tuple[tuple[ArraySpace, RequestKind], ...]] = {
    "global load": (("global", "read"),),
    "global store": (("global", "write"),),
    "shared load": (("shared", "read"),),
    "shared store": (("shared", "write"),),
}
_GENERIC = frozenset(("LD", "ST"))
"""Opcodes whose address may lie in global or in shared memory."""
_VERBS: dict[RequestKind, str] = {"read": "load", "write": "store", "atomic": "atomic operation"}


def compiled_accesses(listing: KernelListing, sources: Iterable[str]) -> CompiledAccesses:
    """Return a kernel's memory instructions by line of the user's own files ``sources``."""
    own, loops = frozenset(sources), _loops(listing.sass)
    found: Counter[CompiledAccess] = Counter()
    in_loop: Counter[CompiledAccess] = Counter()
    for one in listing.sass:
        place = own_place(one, own)
        for space, kind in _touched(one) if place is not None else ():
            assert place is not None
            form = CompiledAccess(
                source=place.file, line=place.line, space=space, kind=kind, opcode=one.opcode,
                width_B=one.width_B, instructions=0, in_loop=0,
            )  # fmt: skip
            found[form] += 1
            in_loop[form] += any(first <= one.offset <= last for first, last in loops)
    return CompiledAccesses(
        arch=listing.arch,
        found=tuple(
            CompiledAccess(
                source=form.source, line=form.line, space=form.space, kind=form.kind,
                opcode=form.opcode, width_B=form.width_B, instructions=number,
                in_loop=in_loop[form],
            )
            for form, number in found.items()
        ),
    )  # fmt: skip


def _loops(instructions: Sequence[Instruction]) -> list[tuple[int, int]]:
    """Return the stretches that are repeated: from where a jump back goes to up to the jump."""
    return [
        (one.target, one.offset)
        for one in instructions
        if one.target is not None and one.target <= one.offset
    ]


def _touched(one: Instruction) -> tuple[tuple[ArraySpace | None, RequestKind], ...]:
    first = one.opcode.partition(".")[0]
    if one.kind == "atomic":
        return (("shared" if first == "ATOMS" else "global", "atomic"),)
    if first == "LDGSTS":
        return (("global", "read"), ("shared", "write"))
    if first in _GENERIC:
        return ((None, "read" if first == "LD" else "write"),)
    return _KINDS.get(one.kind, ())


class _Line(msgspec.Struct, frozen=True):
    """The accesses of one kind at one line, in the source and in the code."""

    rows: tuple[AccessRow, ...]
    compiled: tuple[CompiledAccess, ...]

    @property
    def width_B(self) -> int:
        """The widest that the source asks for."""
        return max(row.width_B for row in self.rows)

    @property
    def instructions(self) -> int:
        return sum(one.instructions for one in self.compiled)

    @property
    def in_loop(self) -> int:
        return sum(one.in_loop for one in self.compiled)


def made_of(compiled: CompiledAccesses, row: AccessRow) -> tuple[CompiledAccess, ...]:
    """Return the instructions at a row's line that do what it does."""
    return tuple(
        one
        for one in compiled.found
        if (one.source, one.line, one.kind) == (row.source, row.line, row.kind)
        and one.space in (row.space, None)
    )


def differences(rows: Iterable[AccessRow], compiled: CompiledAccesses) -> tuple[str, ...]:
    """Return a sentence for each line whose code does not access what the text asks for."""
    lines: dict[tuple[str, int, str, str], list[AccessRow]] = {}
    for row in rows:
        lines.setdefault((row.source, row.line, row.space, row.kind), []).append(row)
    return tuple(
        sentence
        for ones in lines.values()
        for sentence in _differences(_Line(tuple(ones), made_of(compiled, ones[0])), compiled.arch)
    )


def _differences(line: _Line, arch: str) -> Iterator[str]:
    row = line.rows[0]
    number, space, verb = row.line, row.space, _VERBS[row.kind]
    texts = listed(list(dict.fromkeys(one.text for one in line.rows)))
    if not line.compiled:
        yield (
            f"Line {number}: {arch} has no {space} {verb} there for {texts}; the compiler keeps it "
            "in a register or does it at another line."
        )
        return
    if line.rows[0].kind == "atomic":
        return
    for one in line.compiled:
        width_B = one.width_B
        if width_B is not None and width_B > max(line.width_B, BANK_B):
            elements, opcode = width_B // line.width_B, one.opcode
            yield (
                f"Line {number}: the compiler makes a {verb} of {elements} elements at a time "
                f"({opcode}), {width_B} B a lane."
            )
            if space == "shared":
                phases = width_B // BANK_B
                yield (
                    f"Line {number}: {width_B} B a lane go in {phases} phases of the "
                    "warp through the banks."
                )
        elif width_B is not None and width_B < line.width_B:
            opcode, parts = one.opcode, line.width_B // width_B
            yield (
                f"Line {number}: {line.width_B} B a lane come in {parts} accesses of {width_B} B "
                f"({opcode})."
            )
    yield from _fewer(line, arch)


def _fewer(line: _Line, arch: str) -> Iterator[str]:
    """Say where the code accesses memory less often than the text does."""
    row, number = line.rows[0], line.rows[0].line
    space, verb = row.space, _VERBS[row.kind]
    opcodes = listed(list(dict.fromkeys(one.opcode for one in line.compiled)))
    widths = [one.width_B for one in line.compiled]
    if any(width is None for width in widths):
        return
    moved_B = sum(one.instructions * (one.width_B or 0) for one in line.compiled)
    asked_B = sum(row.requests * row.width_B for row in line.rows)
    named_B = sum(row.width_B for row in line.rows)
    if not line.in_loop and moved_B < asked_B:
        requests = count(sum(row.requests for row in line.rows))
        shown = plural(
            line.instructions,
            "{number} instruction outside of any loop",
            "{number} instructions outside of any loop",
        )
        yield (
            f"Line {number}: the text asks {requests} times and {arch} has {shown} ({opcodes}): "
            "the compiler moved it out of the loop."
        )
    elif moved_B < named_B:
        named = plural(len(line.rows), "{number} element", "{number} elements")
        shown = plural(line.instructions, "{number} instruction", "{number} instructions")
        yield (
            f"Line {number}: the text names {named} to {verb} and {arch} has {shown} "
            f"({opcodes}): the rest of {space} memory there stays in registers."
        )
