"""Kernels' instructions as tables: each of them, how many of each kind, and where two differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpuexplorer.analysis.instructions import KIND_TITLES, Kind
from gpuexplorer.analysis.listing import (
    KernelListing,
    Listings,
    line_differences,
    own_place,
)
from gpuexplorer.core.sheet import Cell, Column, Row, Sheet
from gpuexplorer.core.units import count, percent

INSTRUCTION_COLUMNS = (
    "subject", "kernel", "arch", "offset_B", "predicate", "opcode", "operands", "kind", "width_B",
    "file", "line", "from_file", "from_line", "routine", "live_registers",
)  # fmt: skip
"""``file`` and ``line`` are the user's, ``from_file`` and ``from_line`` the innermost."""


def instruction_rows(listings: Listings) -> Iterator[tuple[object, ...]]:
    """Return a row for every instruction, with a cell for each of ``INSTRUCTION_COLUMNS``."""
    for kernel in listings.kernels:
        for one in kernel.sass:
            own = own_place(one, listings.sources)
            inner = one.places[0] if one.places else None
            yield (
                kernel.subject, kernel.name, kernel.arch, one.offset, one.predicate or None,
                one.opcode, one.operands, one.kind, one.width_B,
                own and own.file, own and own.line, inner and inner.file, inner and inner.line,
                one.routine or None, one.live_registers,
            )  # fmt: skip


# ---- how many of each kind


def mix_sheet(kernel: KernelListing) -> Sheet:
    """Return a kernel's instructions by kind, the most frequent first."""
    columns = (
        Column("kind", "kind", words=True),
        Column("instructions", "instructions", "How many there are in the code, not how often "
               "they are executed", most_first=True),
        Column("share", "share"),
    )  # fmt: skip
    ordered = sorted(kernel.mix.items(), key=lambda item: -item[1])
    rows = tuple(
        Row(
            KIND_TITLES[kind],
            {
                "kind": Cell(KIND_TITLES[kind]),
                "instructions": Cell(count(number), number),
                "share": Cell(percent(number / len(kernel.sass)), number / len(kernel.sass)),
            },
        )
        for kind, number in ordered
    )
    return Sheet("Instructions by kind", columns, rows)


def comparison_sheet(first: KernelListing, second: KernelListing) -> Sheet:
    """Return what two kernels take and consist of, side by side."""
    names = column_names(first, second)
    columns = (
        Column("what", "", words=True),
        Column("first", names[0]),
        Column("second", names[1]),
        Column("difference", "difference"),
    )
    figures: dict[str, tuple[int | None, int | None]] = {
        "registers a thread": (first.registers_per_thread, second.registers_per_thread),
        "registers alive at most": (first.most_live_registers, second.most_live_registers),
        "bytes spilled": (_spilled_B(first), _spilled_B(second)),
        "instructions": (len(first.sass), len(second.sass)),
    }
    kinds: list[Kind] = [kind for kind in KIND_TITLES if kind in first.mix or kind in second.mix]
    for kind in kinds:
        figures[KIND_TITLES[kind]] = (first.mix.get(kind, 0), second.mix.get(kind, 0))
    return Sheet(
        "Compared", columns, tuple(_compared(what, a, b) for what, (a, b) in figures.items())
    )


def column_names(first: KernelListing, second: KernelListing) -> tuple[str, str]:
    """Return what tells two kernels apart: their architectures, or what they are."""
    if first.arch != second.arch:
        return first.arch, second.arch
    if first.subject != second.subject:
        return first.subject, second.subject
    return first.name, second.name


def _spilled_B(kernel: KernelListing) -> int | None:
    store, load = kernel.spill_store_B, kernel.spill_load_B
    return None if store is None or load is None else store + load


def _compared(what: str, first: int | None, second: int | None) -> Row:
    known = first is not None and second is not None
    difference = second - first if first is not None and second is not None else None
    return Row(
        what,
        {
            "what": Cell(what),
            "first": Cell("–" if first is None else count(first), first),
            "second": Cell("–" if second is None else count(second), second),
            "difference": Cell(f"{difference:+d}" if known and difference else "", difference),
        },
    )


def difference_sheet(
    first: KernelListing, second: KernelListing, sources: Mapping[str, str]
) -> Sheet:
    """Return the source's lines that were compiled to other instructions, with those of each."""
    names = column_names(first, second)
    columns = (
        Column("line", "line"),
        Column("source", "source code", words=True),
        Column("first", f"only {names[0]}", words=True),
        Column("second", f"only {names[1]}", words=True),
    )
    rows = tuple(
        Row(
            f"{one.place.file}:{one.place.line}",
            {
                "line": Cell(str(one.place.line), one.place.line),
                "source": Cell(source_line(sources, one.place.file, one.place.line)),
                "first": Cell(_opcodes(one.first)),
                "second": Cell(_opcodes(one.second)),
            },
        )
        for one in line_differences(first, second, sources)
    )
    return Sheet("Lines with other instructions", columns, rows)


def source_line(sources: Mapping[str, str], file: str, line: int) -> str:
    """Return one line of a file; the file's name where its text is not at hand."""
    lines = sources[file].splitlines() if file in sources else []
    return lines[line - 1].strip() if 0 < line <= len(lines) else file


def _opcodes(found: Mapping[str, int]) -> str:
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    words = (opcode if number == 1 else f"{number} × {opcode}" for opcode, number in ordered)
    return ", ".join(words)
