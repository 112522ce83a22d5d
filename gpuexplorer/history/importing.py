"""Import a file of runs into the store: all of it or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.units import count, plural
from gpuexplorer.exchange.document import RUNS_SCHEMA
from gpuexplorer.exchange.formats import read_runs
from gpuexplorer.exchange.imported import Imported, SkippedRun
from gpuexplorer.history.store import Store

KIND = "import"
"""The kind of a group of runs that came from one file."""
SCHEMA = "gpuexplorer/import/1"


class ImportedFile(msgspec.Struct, frozen=True):
    """What came of one file."""

    path: Path
    format: str
    """In words."""
    added: tuple[RunResult, ...]
    duplicates: tuple[str, ...]
    """Ids of runs that were in the store already; they are as they were."""
    skipped: tuple[SkippedRun, ...]
    group: str | None
    """The group of the store that holds them, where the file is more than its runs."""
    notes: tuple[str, ...]

    @property
    def words(self) -> str:
        """What came of it, in a sentence without a full stop."""
        parts = [
            plural(
                len(self.added),
                "{number} run imported from {path} ({format})",
                "{number} runs imported from {path} ({format})",
                path=self.path,
                format=self.format,
            )
        ]
        if self.duplicates:
            parts.append(
                plural(
                    len(self.duplicates),
                    "{number} was in the history already",
                    "{number} were in the history already",
                )
            )
        if self.skipped:
            parts.append(f"{count(len(self.skipped))} without a result, with the reason")
        return ", ".join(parts)


def import_file(store: Store, path: Path) -> ImportedFile:
    """Read a file and store its runs in one transaction.

    A run whose id is in the store already is not stored again; it is of the file's group all the
    same. Raises InputError in one sentence for a file that cannot be read or holds no run, and what
    the store raises; then nothing is stored.
    """
    found = read_runs(path)
    if not found.runs:
        remedy = "there is nothing in it to keep"
        raise InputError(f"{path} holds no run that was measured", remedy=remedy)
    documents: Sequence[RunResult | bytes] = found.documents or found.runs
    results = {run.id: one for run, one in zip(found.runs, documents, strict=True)}
    whole = is_whole(found)
    document = group_document(found, path) if whole or len(results) > 1 else None
    came, group = store.add_file(KIND, document, results, whole=whole)
    fresh = set(came)
    return ImportedFile(
        path=path,
        format=found.format,
        added=tuple(run for run in found.runs if run.id in fresh),
        duplicates=tuple(run.id for run in found.runs if run.id not in fresh),
        skipped=found.skipped,
        group=group,
        notes=found.notes,
    )


def is_whole(found: Imported) -> bool:
    """Whether a file is more than its runs: a search, a comparison, a study."""
    schema = (found.rest or {}).get("schema", RUNS_SCHEMA)
    return bool(found.axes or found.skipped) or schema != RUNS_SCHEMA


def group_document(found: Imported, path: Path) -> dict[str, Any]:
    """Return what a file said beside its runs, as the group of its runs keeps it."""
    return {
        "schema": SCHEMA,
        "file": path.name,
        "format": found.format,
        "axes": found.axes,
        "skipped": [{"values": s.values, "skipped": s.reason} for s in found.skipped],
        "notes": found.notes,
        "rest": found.rest,
    }
