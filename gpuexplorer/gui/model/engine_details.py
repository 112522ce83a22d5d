"""Everything that is known of one engine, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuexplorer.core.units import quantity
from gpuexplorer.engine.checking import EngineReport
from gpuexplorer.gui.model.engines import EngineRow
from gpuexplorer.gui.notice import capital

if TYPE_CHECKING:
    from gpuexplorer.environments.managed import Managed


def details(row: EngineRow) -> str:
    """Return what is known of an engine, a line each; the whole reason where it cannot measure."""
    parts = []
    if row.being_made:
        parts.append("It is being set up: 'Set up an engine…' shows how far it is.")
    elif row.origin == "unfinished":
        parts.append(f"{capital(row.problem).rstrip('.')}.")
    elif row.report is not None:
        parts.append(_said(row.report))
    elif not row.checking:
        parts.append("Check asks it for its devices, its frameworks, and what it lacks.")
    if row.managed is not None:
        parts.append(_made(row.managed, row.size_B))
    parts.append(f"Where: {row.path}")
    return "\n\n".join(parts)


def _said(report: EngineReport) -> str:
    if not report.ok:
        remedy = [f"→ {report.remedy}"] if report.remedy else []
        said = ["", "Its last words:", *report.said] if report.said else []
        return "\n".join([f"{capital(report.problem or '')}.", *remedy, *said])
    lines = []
    for device in report.devices or ():
        lines.append(f"{device.id}   {device.name}, {device.driver}")
    for missing in report.devices.unavailable if report.devices is not None else ():
        lines.append(f"no {missing.backend} device: {missing.reason}")
        if missing.remedy:
            lines.append(f"    → {missing.remedy}")
    versions = ", ".join(f"{name} {version}" for name, version in report.packages.items())
    return "\n".join([*lines, "", f"Python {report.python}: {versions}"])


def _made(made: Managed, size_B: int | None) -> str:
    lines = [
        f"Set up here: {made.title}, with {made.base}"
        if made.base
        else f"Set up here: {made.title}"
    ]
    if made.source:
        lines.append(f"Its wheels came from {made.source}")
    if made.verdict:
        lines.append(f"When it was set up: {made.verdict}")
    if size_B is not None:
        lines.append(f"It takes {quantity(size_B, 'B')} on the disk")
    if made.packages:
        lines.append(", ".join(f"{name} {version}" for name, version in made.packages.items()))
    return "\n".join(lines)
