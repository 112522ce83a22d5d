"""What a self-test found, as a document: every check, the sections' sums, device and versions;
and as tables: its sections in figures, and for a file every check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal

import msgspec

from gpuexplorer.core.device import Unavailable
from gpuexplorer.core.result import DeviceSummary, Environment
from gpuexplorer.core.sheet import Cell, Column, Medium, Row, Sheet
from gpuexplorer.core.units import plural

SCHEMA = "gpuexplorer/selftest/1"

Status = Literal["passed", "failed", "skipped"]


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """One check: what it found, or why it failed or was skipped, and how to repeat it."""

    section: str
    name: str
    status: Status
    time_s: float
    found: str = ""
    """What was seen, in words; of a failure or a skipped check, why, in one sentence."""
    figures: dict[str, float | str | None] = {}
    """What was measured; every name ends in its unit where it has one."""
    missing: Unavailable | None = None
    """The framework that is not here and without which it was skipped."""
    detail: str = ""
    """Further lines, such as a compiler's log."""
    command: str
    """The command that repeats it."""


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """Checks that need a framework which is not here."""

    missing: Unavailable
    checks: int

    @property
    def words(self) -> str:
        """What is missing, how many checks that costs, and what to do, in one sentence."""
        reason = self.missing.reason
        return plural(
            self.checks,
            "{reason}: {number} check left out; {remedy}",
            "{reason}: {number} checks left out; {remedy}",
            reason=f"{reason} here" if reason.endswith("not installed") else reason,
            remedy=self.missing.remedy,
        )


class SectionResult(msgspec.Struct, frozen=True, kw_only=True):
    """One section in figures; ``planned`` is more than was tried when it was stopped."""

    name: str
    title: str
    planned: int
    passed: int
    failed: int
    skipped: int
    time_s: float
    left_out: tuple[LeftOut, ...] = ()
    """Frameworks that are not here, each with the number of its checks."""
    reasons: tuple[str, ...] = ()
    """Why other checks were skipped, each reason once."""

    @property
    def tried(self) -> int:
        """Checks that have come to an end."""
        return self.passed + self.failed + self.skipped

    @property
    def why_skipped(self) -> tuple[str, ...]:
        """Why checks were skipped: a sentence for each framework, then the other reasons."""
        return (*(one.words for one in self.left_out), *self.reasons)


class SelfTestReport(msgspec.Struct, frozen=True, kw_only=True):
    """One self-test; ``selftest --json`` prints exactly this."""

    schema: str = SCHEMA
    ok: bool
    """Whether it ran to its end, something passed, and nothing failed."""
    interrupted: bool
    quick: bool
    time_utc: str
    time_s: float
    command: str
    device: DeviceSummary
    threads: int | None
    """CPU threads of the engine's work; None on a GPU."""
    environment: Environment
    sections: list[SectionResult]
    checks: list[CheckResult]

    @property
    def failures(self) -> list[CheckResult]:
        """The checks that failed, in order."""
        return [c for c in self.checks if c.status == "failed"]

    @property
    def verdict(self) -> str:
        """What came of it, in one sentence."""
        seconds = f"{self.time_s:.0f} s"
        number = len(self.failures)
        if number:
            return plural(
                number,
                "{number} check failed, after {seconds}.",
                "{number} checks failed, after {seconds}.",
                seconds=seconds,
            )
        if self.interrupted:
            return f"Nothing failed until it was stopped, after {seconds}."
        if not self.ok:
            return f"Nothing could be checked on this device, after {seconds}."
        return f"Everything that could be checked passed, in {seconds}."


def sum_up(name: str, title: str, planned: int, checks: list[CheckResult]) -> SectionResult:
    """Return a section's sums over its checks."""

    def number(status: Status) -> int:
        return sum(c.status == status for c in checks)

    skipped = [c for c in checks if c.status == "skipped"]
    missing = Counter(c.missing for c in skipped if c.missing is not None)
    return SectionResult(
        name=name,
        title=title,
        planned=planned,
        passed=number("passed"),
        failed=number("failed"),
        skipped=len(skipped),
        time_s=sum(c.time_s for c in checks),
        left_out=tuple(LeftOut(missing=one, checks=n) for one, n in missing.items()),
        reasons=tuple(dict.fromkeys(c.found for c in skipped if c.missing is None)),
    )


SECTIONS = (
    Column("name", "section", words=True, names=True, media=Medium.TERMINAL),
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
