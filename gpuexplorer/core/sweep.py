"""A sweep as a document: its axes, and one entry for each configuration that was tried.

In JSON an entry is a run's document with the ``values`` of the axes beside it, or, for one that
could not be measured, its configuration, its ``values``, ``skipped`` with the reason, and ``why``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any, Literal

import msgspec

from gpuexplorer.core.chunked import compact
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.equal_parts import reusing
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RUN_SCHEMA, RunResult
from gpuexplorer.core.sharing import shared
from gpuexplorer.core.text import brief

SWEEP_SCHEMA = "gpuexplorer/sweep/1"

Why = Literal["cannot", "failed", "wrong", "lost", "short"]
"""Why a point has no figure: it cannot run here, its work failed, its result was wrong, it was lost
with an engine that was ended from outside, or memory was short at that time."""
PASSING = frozenset[Why]({"lost", "short"})
"""Reasons that are none of the configuration's: another try measures such a point."""


Outcome = RunResult | str | None
"""Of a configuration: its result, or why it has none; None: it is still to be measured."""


class SweepOutcomes(msgspec.Struct, frozen=True, dict=True):
    """What came of each configuration of a sweep, in row-major order of the axes.

    Tables and charts need no more, and a configuration that cannot run costs nothing here.
    """

    title: str
    points: int
    """Configurations that the sweep was made of: some of the axes' may be none of its own."""
    axes: Mapping[str, Sequence[Any]]
    outcomes: Sequence[Outcome]

    @cached_property
    def measured(self) -> list[RunResult]:
        """The results."""
        return [one for one in self.outcomes if isinstance(one, RunResult)]


class SweptRun(msgspec.Struct, frozen=True, kw_only=True):
    """One point of a sweep: ``run`` or ``skipped`` is there, never both."""

    values: dict[str, Any]
    """The axes' values there, by axis name; a block is a list of threads along x, y, z."""
    config: RunConfig
    run: RunResult | None = None
    skipped: str | None = None
    why: Why | None = None


def sharing(entries: Iterable[SweptRun]) -> list[SweptRun]:
    """Return entries which share what those without a run have in common with the one before."""
    found: list[SweptRun] = []
    for entry in entries:
        found.append(reusing(entry, found[-1]) if found and entry.run is None else entry)
    return found


class SweepDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A sweep: axes in the order they were given, entries in row-major order of the axes.

    ``axes`` are named as ``search.space.Axis`` names them. Points that were not measured are left
    out; ``points`` counts them all.
    """

    schema: str = SWEEP_SCHEMA
    id: str
    time_utc: str
    workload: str
    title: str
    points: int
    axes: dict[str, list[Any]]
    runs: list[SweptRun]

    @property
    def measured(self) -> list[RunResult]:
        """The runs' documents."""
        return [entry.run for entry in self.runs if entry.run is not None]

    @property
    def outcomes(self) -> SweepOutcomes:
        """What came of each of the axes' configurations; an entry beside the axes is left out."""
        axes = {name: tuple(map(_hashable, values)) for name, values in self.axes.items()}
        found = {
            tuple(_hashable(entry.values[name]) for name in axes): entry.run or entry.skipped
            for entry in self.runs
            if set(axes) <= set(entry.values)
        }
        known = list(map(found.get, product(*axes.values())))
        return SweepOutcomes(self.title, self.points, axes, known)


def sweep_json(document: SweepDocument) -> bytes:
    """Return a sweep as JSON, a line for each entry."""
    fields: dict[str, Any] = {
        name: getattr(document, name)
        for name in ("schema", "id", "time_utc", "workload", "title", "points", "axes")
    }
    head = ",\n".join(f"  {compact(name)}: {compact(value)}" for name, value in fields.items())
    entries = ",\n".join(f"    {compact(_entry(entry))}" for entry in document.runs)
    data = f'{{\n{head},\n  "runs": [\n{entries}\n  ]\n}}\n'.encode()
    return shared(data, [run.environment for run in document.measured])


MAX_SHOWN = 60
"""Characters of a foreign word that an error message quotes."""


def read_sweep(data: bytes, where: str = "the sweep") -> SweepDocument:
    """Read a sweep from JSON; InputError naming ``where`` when it is none, or of a newer kind."""
    try:
        raw = msgspec.json.decode(data, type=_Raw)
        if raw.schema != SWEEP_SCHEMA:
            raise InputError(
                f"{where} is of the kind '{brief(raw.schema, MAX_SHOWN) or 'unknown'}', "
                f"not {SWEEP_SCHEMA}",
                remedy="give the file of 'gpuexplorer sweep --json'",
            )
        fields = {name: getattr(raw, name) for name in raw.__struct_fields__ if name != "runs"}
        return SweepDocument(**fields, runs=sharing(map(_read_entry, raw.runs)))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{where} is not a sweep: {brief(str(error))}") from None


class _Raw(msgspec.Struct, kw_only=True):
    schema: str = ""
    id: str = ""
    time_utc: str = ""
    workload: str = ""
    title: str = ""
    points: int = 0
    axes: dict[str, list[Any]] = {}
    runs: list[msgspec.Raw] = []


class _Entry(msgspec.Struct, kw_only=True):
    values: dict[str, Any] = {}
    config: RunConfig
    skipped: str | None = None
    why: Why | None = None


def _entry(entry: SweptRun) -> Mapping[str, Any]:
    if entry.run is None:
        return {
            "schema": RUN_SCHEMA,
            "values": entry.values,
            "config": entry.config,
            "skipped": entry.skipped,
            "why": entry.why,
        }
    fields = {name: getattr(entry.run, name) for name in entry.run.__struct_fields__}
    return {**fields, "values": entry.values, "skipped": None}


def _read_entry(data: msgspec.Raw) -> SweptRun:
    head = msgspec.json.decode(data, type=_Entry)
    run = None if head.skipped is not None else msgspec.json.decode(data, type=RunResult)
    return SweptRun(
        values=head.values, config=head.config, run=run, skipped=head.skipped, why=head.why
    )


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def values_at(axes: Mapping[str, Sequence[Any]], number: int) -> dict[str, Any]:
    """Return the axes' values of a configuration by its number in row-major order."""
    found: dict[str, Any] = {}
    for name in reversed(list(axes)):
        number, at = divmod(number, len(axes[name]))
        found[name] = axes[name][at]
    return {name: found[name] for name in axes}


def reasons(runs: Iterable[SweptRun]) -> dict[str, int]:
    """Return why points were skipped, and how many for each reason, the most frequent first."""
    counted: dict[str, int] = {}
    for entry in runs:
        if entry.skipped is not None:
            counted[entry.skipped] = counted.get(entry.skipped, 0) + 1
    return dict(sorted(counted.items(), key=lambda item: -item[1]))
