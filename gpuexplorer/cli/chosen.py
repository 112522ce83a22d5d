"""Runs that a command was given by id, group or file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from gpuexplorer.cli.messages import say
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.units import count
from gpuexplorer.exchange.formats import read_runs
from gpuexplorer.exchange.imported import SkippedRun
from gpuexplorer.exchange.table import Label
from gpuexplorer.history.errors import StoreDamaged
from gpuexplorer.history.grouped import document_of, ids_of
from gpuexplorer.history.store import Store
from gpuexplorer.report.whole import refused


@dataclass
class Chosen:
    """Runs with what is known beside them."""

    runs: list[RunResult] = field(default_factory=list)
    labels: dict[str, Label] = field(default_factory=dict)
    """What a user noted on those that are in the history, by id."""
    skipped: list[SkippedRun] = field(default_factory=list)
    rests: list[dict[str, Any]] = field(default_factory=list)
    """Documents apart from their runs: a sweep's axes, a comparison's verdicts."""


def choose(words: Sequence[str]) -> Chosen:
    """Return the runs that some words name, in their order, each once.

    A word is a file, or the beginning of a run's or a group's id. Raises InputError for any other,
    and for what more than one begin with.
    """
    chosen = Chosen()
    store: Store | None = None
    try:
        for word in words:
            if _is_file(word):
                _from_file(Path(word), chosen)
                continue
            if store is None:
                store = Store.open_to_read()
            _from_store(word, store, chosen)
    finally:
        if store is not None:
            store.close()
    chosen.runs = list({run.id: run for run in chosen.runs}.values())
    return chosen


def _is_file(word: str) -> bool:
    path = Path(word)
    return path.is_file() or bool(path.suffix) or os.sep in word or "/" in word


def _from_file(path: Path, chosen: Chosen) -> None:
    found = read_runs(path)
    chosen.runs += found.runs
    chosen.skipped += found.skipped
    rest = dict(found.rest or {})
    if found.axes is not None:
        rest.setdefault("axes", found.axes)
    if rest:
        chosen.rests.append(rest)


def _from_store(word: str, store: Store, chosen: Chosen) -> None:
    group = store.find_group(word)
    if group is None:
        ids = [store.resolve(word)]
    else:
        document = group.document if isinstance(group.document, dict) else {}
        ids = ids_of(store, group)
        chosen.rests.append(document_of(group))
        chosen.skipped += _refused(document) + _skipped(document.get("skipped"))
        if not ids:
            raise InputError(f"the group '{word}' holds no runs")
    chosen.runs += _readable(ids, store, chosen)
    for row in store.rows(ids):
        chosen.labels[row.id] = Label(row.starred, row.tags, row.note)


def _readable(ids: Sequence[str], store: Store, chosen: Chosen) -> list[RunResult]:
    """Return runs, those that cannot be read left out with the reason; StoreDamaged when all are.

    A single run is what was asked for, and there is nothing without it.
    """
    found: list[RunResult] = []
    trouble: list[StoreDamaged] = []
    for run_id, run in zip(ids, store.get_all(ids), strict=True):
        if isinstance(run, StoreDamaged):
            trouble.append(run)
            chosen.skipped.append(SkippedRun({"run": run_id}, run.what))
        else:
            found.append(run)
    if trouble and not found:
        raise trouble[0]
    if trouble:
        first, more = trouble[0], len(trouble) - 1
        say(
            f"gpuexplorer: warning: left out: {first}, and {count(more)} more"
            if more
            else f"gpuexplorer: warning: left out: {first}"
        )
    return found


def _skipped(found: Any) -> list[SkippedRun]:
    """Return what a group's document says was skipped: a list of entries, or reasons by key."""
    if isinstance(found, dict):
        return [SkippedRun(_configuration(str(k)), str(v)) for k, v in found.items()]
    return [
        SkippedRun(dict(entry.get("values") or {}), str(entry.get("skipped")))
        for entry in found or ()
        if isinstance(entry, dict)
    ]


def _refused(document: Mapping[str, Any]) -> list[SkippedRun]:
    """Return the configurations of which a sweep's document says that they cannot run."""
    try:
        return [SkippedRun(values, reason) for values, reason in refused(document)]
    except msgspec.ValidationError:
        return []


def _configuration(key: str) -> dict[str, Any]:
    """Return what ``RunConfig.key`` says, as plain values."""
    try:
        return msgspec.json.decode(key, type=dict[str, Any])
    except msgspec.DecodeError:
        return {"configuration": key}
