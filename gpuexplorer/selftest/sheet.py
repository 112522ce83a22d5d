"""A self-test as tables: its sections in figures, and for a file every check."""

from __future__ import annotations

from collections.abc import Iterable

from gpuexplorer.core.sheet import Cell, Column, Medium, Row, Sheet
from gpuexplorer.selftest.report import CheckResult, SectionResult

SECTIONS = (
    Column("name", "section", words=True, media=Medium.TERMINAL),
    Column("title", "what it tests", words=True),
    Column("checks", "checks"),
    Column("passed", "passed"),
    Column("failed", "failed"),
    Column("skipped", "skipped"),
    Column("seconds", "seconds", unit="s"),
)
CHECKS = ("section", "name", "status", "time_s", "found", "command")


def sheet_of(sections: Iterable[SectionResult]) -> Sheet:
    """Return the sections of a self-test with their sums; the key of a row is the section's name.

    Why checks were skipped is a row's tip.
    """
    return Sheet("Self-test", SECTIONS, tuple(map(_row, sections)))


def checks_sheet(checks: Iterable[CheckResult]) -> Sheet:
    """Return every check as a table for a file."""
    columns = tuple(Column(name, fields={name: ""}, media=Medium(0)) for name in CHECKS)
    rows = (Row(c.name, {n: Cell(value=getattr(c, n)) for n in CHECKS}) for c in checks)
    return Sheet("Self-test", columns, tuple(rows))


def _row(section: SectionResult) -> Row:
    part = section.tried not in (0, section.planned)
    planned = f"{section.tried} of {section.planned}" if part else str(section.planned or "")
    cells = {
        "name": Cell(section.name, section.name),
        "title": Cell(section.title, section.title),
        "checks": Cell(planned, section.planned),
        "passed": Cell(str(section.passed or ""), section.passed, role="passed"),
        "failed": Cell(str(section.failed or ""), section.failed, role="failed"),
        "skipped": Cell(str(section.skipped or ""), section.skipped),
        "seconds": Cell(f"{section.time_s:.1f}" if section.tried else "", section.time_s),
    }
    tip = "\n".join((section.title, *section.why_skipped))
    return Row(section.title, cells, tip, marks={section.name: section.title})
