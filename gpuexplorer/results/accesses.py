"""The accesses of a warp as a table: a row for each place of the source and array."""

from __future__ import annotations

from gpuexplorer.analysis.advice.accesses import access_advice
from gpuexplorer.analysis.compiled_accesses import differences, made_of
from gpuexplorer.core.accesses import AccessProfile, AccessRow, ArrayAccesses
from gpuexplorer.core.knobs import block_words
from gpuexplorer.core.sheet import Cell, Column, Medium, Row, Sheet
from gpuexplorer.core.units import count, percent, plural, quantity

SHOWN_LETTERS = 36
"""Of an expression in a terminal."""
PARTS = {
    "global": "Global memory, in sectors of 32 B",
    "shared": "Shared memory, in 32 banks of 4 B",
}
COLUMNS = (
    Column("text", "access", "The expression, as it stands in the source", words=True,
           media=Medium.WINDOW | Medium.PAGE, fields={"source": "source", "expression": "text"}),
    Column("brief", "access", words=True, media=Medium.TERMINAL),
    Column("line", "line", "Line of the source", fields={"line": ""}),
    Column("array", "array", "The array that it touches", words=True,
           fields={"array": "array", "space": "space"}),
    Column("kind", "kind", "Whether it is read, written, or changed by an atomic operation",
           words=True, fields={"kind": "kind"}),
    Column("width", "a lane", "Bytes that a lane asks for", "B", fields={"width_B": "width_B"}),
    Column("requests", "requests", "Requests of the warp: steps in which at least one of its lanes "
           "takes part", most_first=True, fields={"requests": "requests", "lanes": "lanes"}),
    Column("each", "a request", "Sectors that a request fetches, or passes that it takes through "
           "the banks, on average", most_first=True,
           fields={"sectors": "sectors", "passes": "passes"}),
    Column("least", "at least", "The fewest that as many bytes could take",
           fields={"least_sectors": "least_sectors", "least_passes": "least_passes"}),
    Column("used", "used", "Distinct bytes of the bytes that were fetched",
           fields={"used_B": "used_B", "fetched_B": "fetched_B"}),
    Column("compiled", "compiled to", "Instructions of its kind at its line on the chosen "
           "architecture", words=True,
           media=Medium.WINDOW | Medium.PAGE),
    Column("conflicts", "conflicts", "Passes that bank conflicts add", most_first=True,
           fields={"conflicts": "conflicts"}),
)  # fmt: skip


def sheet_of(profile: AccessProfile, beside: AccessProfile | None = None) -> Sheet:
    """Return what a warp asks for, with what follows from it in sentences.

    ``beside`` is another configuration of the same kernel, which it is held against.
    """
    rows = sorted(enumerate(profile.rows), key=lambda one: one[1].space == "shared")
    return Sheet(
        f"Accesses of warp {profile.look.warp}",
        COLUMNS,
        tuple(_row(profile, number, row) for number, row in rows),
        (*(held_against(profile, beside) if beside is not None else ()),
         *access_advice(profile), *_compiled(profile), *(_touched(a) for a in profile.arrays),
         *_requested(profile), *profile.limits, caveat(profile)),
    )  # fmt: skip


def caveat(profile: AccessProfile) -> str:
    """Return how the figures came about, and what they are not."""
    method = profile.method
    return (
        f"All figures are {method}: what the text asks for, before a compiler joins accesses, "
        "moves them out of loops or keeps values in registers."
    )


def place_words(profile: AccessProfile) -> str:
    """Return which warp of which block was looked at, and what the grid is."""
    warp, warps, look = profile.look.warp, profile.warps, profile.look
    at, grid, block = (
        ",".join(map(str, look.block)),
        block_words(profile.grid),
        block_words(profile.block),
    )
    return f"warp {warp} of {warps} in block {at} of a grid of {grid} blocks of {block} threads"


def held_against(profile: AccessProfile, beside: AccessProfile) -> tuple[str, ...]:
    """Say which places of the source fetch more or fewer sectors than with another block."""
    others = {(row.source, row.line, row.text, row.kind): row for row in beside.rows}
    block, other_block = block_words(profile.block), block_words(beside.block)
    if profile.block == beside.block:
        return ()
    said = []
    for row in profile.rows:
        other = others.get((row.source, row.line, row.text, row.kind))
        if other is None or not row.sectors or not other.sectors:
            continue
        here, there = f"{row.sectors_per_request:.3g}", f"{other.sectors_per_request:.3g}"
        if here != there:
            said.append(
                plural(
                    1 if here == "1" else 2,
                    "{text} in line {line} fetches {here} sector a request with a block of "
                    "{block}, and {there} with {other_block}.",
                    "{text} in line {line} fetches {here} sectors a request with a block of "
                    "{block}, and {there} with {other_block}.",
                    text=row.text, line=row.line, here=here, there=there, block=block,
                    other_block=other_block,
                )
            )  # fmt: skip
    return tuple(said)


def _row(profile: AccessProfile, number: int, one: AccessRow) -> Row:
    is_global = one.space == "global"
    total = one.sectors if is_global else one.passes
    least = one.least_sectors if is_global else one.least_passes
    brief = one.text if len(one.text) <= SHOWN_LETTERS else one.text[: SHOWN_LETTERS - 1] + "…"
    used = one.used_B / one.fetched_B if one.fetched_B else None
    cells = {
        "line": Cell(str(one.line), one.line),
        "text": Cell(one.text, one.text, one),
        "brief": Cell(brief),
        "array": Cell(one.array, one.array, one),
        "kind": Cell(one.kind, one.kind, one),
        "width": Cell(f"{one.width_B} B", one.width_B, one),
        "requests": Cell(count(one.requests), one.requests, one),
        "each": Cell(f"{total / one.requests:.3g}", total / one.requests, one),
        "least": Cell(f"{least / one.requests:.3g}", least / one.requests, one),
        "used": Cell(percent(used), used, one),
        "compiled": Cell(", ".join(_instructions(profile, one))),
        "conflicts": Cell("" if is_global else count(one.conflicts), one.conflicts, one),
    }
    title = f"{one.source}:{one.line} {one.text}"
    tip = f"{title}\n{one.kind} of array {one.array}"
    return Row(title, cells, tip, {str(number): title}, part=PARTS[one.space])


def _instructions(profile: AccessProfile, row: AccessRow) -> tuple[str, ...]:
    """Return what a row became, such as ``4 LDS.128``."""
    made = made_of(profile.compiled, row) if profile.compiled is not None else ()
    return tuple(f"{one.instructions} {one.opcode}" for one in made)


def _compiled(profile: AccessProfile) -> tuple[str, ...]:
    """Say where the code of the chosen architecture differs from the text."""
    compiled = profile.compiled
    if compiled is None:
        return ()
    arch, unknown = compiled.arch, compiled.unknown
    if unknown is not None:
        return (f"Not held against the instructions of {arch}: {unknown}.",)
    found = differences(profile.rows, compiled)
    if not found:
        return (
            f"Compiled for {arch}, each line accesses memory in the widths that the text asks for.",
        )
    return (f"Compiled for {arch}, the code differs from the text.", *found)


def _touched(array: ArrayAccesses) -> str:
    name, warp, whole = array.name, quantity(array.warp_B, "B"), quantity(array.nbytes, "B")
    if array.block_B is None:
        return f"{name}: the warp touches {warp} of {whole}."
    block = quantity(array.block_B, "B")
    return f"{name}: the warp touches {warp} and its block {block} of {whole}."


def _requested(profile: AccessProfile) -> tuple[str, ...]:
    """Offer what a manifest calls the requested bytes, named as counted."""
    read, written = profile.requested_B("read"), profile.requested_B("written")
    if read is None or written is None:
        return ()
    read_words, written_words = quantity(read, "B"), quantity(written, "B")
    return (
        f"Requested bytes, counted in this block and times all blocks: {read_words} read, "
        f"{written_words} written.",
    )
