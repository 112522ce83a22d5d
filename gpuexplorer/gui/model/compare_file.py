"""A comparison in a session file: who takes part, and what came of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import msgspec

from gpuexplorer.core.compared import COMPARISON_SCHEMA, ComparisonResult
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sharing import shared
from gpuexplorer.gui.model.bench import check_config, check_texts
from gpuexplorer.search.compare import Comparing

SCHEMA = "gpuexplorer/compare-view/1"
MOST = 12
"""Who takes part at the most: a round of more lasts too long to be fair."""
LONGEST_S = 1e9


@dataclass(frozen=True)
class Candidate:
    """One that takes part: its configuration, the stored run it repeats, and its engine."""

    config: RunConfig
    stored: RunResult | None = None
    engine: str | None = None
    """The word for the engine that measures it; None: the built-in one."""


@dataclass(frozen=True)
class HeldComparison:
    """A comparison at a moment."""

    candidates: tuple[Candidate, ...]
    reference: int
    tolerance: float
    result: ComparisonResult | None
    origin: str = ""
    """The file that brought it; empty for one made here."""
    comparing: Comparing | None = None
    """What can be gone on with, in the window where it was measured."""


class _One(msgspec.Struct, kw_only=True):
    config: RunConfig
    stored: RunResult | None = None
    engine: str | None = None


class _Document(msgspec.Struct, kw_only=True):
    schema: str = ""
    candidates: list[_One]
    reference: int = 0
    tolerance: float
    result: ComparisonResult | None = None


def encode(held: HeldComparison) -> bytes:
    """Return a comparison as JSON."""
    runs = [one.stored for one in held.candidates if one.stored is not None]
    runs += [one.run for one in held.result.contestants] if held.result is not None else []
    data = msgspec.json.encode(
        _Document(
            schema=SCHEMA,
            candidates=[
                _One(config=one.config, stored=one.stored, engine=one.engine)
                for one in held.candidates
            ],
            reference=held.reference,
            tolerance=held.tolerance,
            result=held.result,
        )
    )
    return shared(data, [run.environment for run in runs], [c.engine for c in held.candidates])


def decode(data: bytes, origin: str) -> HeldComparison:
    """Return the comparison that a file holds; InputError when it does not hold together."""
    try:
        document = msgspec.json.decode(data, type=_Document)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InputError(f"the comparison cannot be read: {error}") from None
    if document.schema != SCHEMA:
        raise InputError("the comparison is of an unknown format")
    number = len(document.candidates)
    if not 1 <= number <= MOST or not 0 <= document.reference < number:
        raise InputError("the comparison is of too few, or of too many")
    if not 0 < document.tolerance < 1:
        raise InputError("the comparison has an impossible tolerance")
    for one in document.candidates:
        check_config(one.config)
        check_texts(msgspec.to_builtins((one.config, one.engine)))
        if one.stored is not None:
            _check_run(one.stored)
    if document.result is not None:
        _check_result(document.result, document.reference, number)
    return HeldComparison(
        candidates=tuple(Candidate(o.config, o.stored, o.engine) for o in document.candidates),
        reference=document.reference,
        tolerance=document.tolerance,
        result=document.result,
        origin=origin,
    )


def _check_run(run: RunResult) -> None:
    check_config(run.config)
    check_texts(msgspec.to_builtins(msgspec.structs.replace(run, samples_s=[], batches=[])))
    if not 0 <= run.timing.median_s < LONGEST_S:
        raise InputError("a run of the comparison took an impossible time")


def _check_result(result: ComparisonResult, reference: int, number: int) -> None:
    if result.schema != COMPARISON_SCHEMA:
        raise InputError("the comparison is of an unknown format")
    if len(result.contestants) != number or result.reference != reference or result.rounds < 0:
        raise InputError("the comparison's result is not of those who take part")
    for one in result.contestants:
        _check_run(one.run)
        check_texts(msgspec.to_builtins(msgspec.structs.replace(one, run=None, turns_s=[])))
        if len(one.turns_s) != len(result.contestants[0].turns_s):
            raise InputError("the comparison has unequal numbers of turns")
        turns = [t for t in one.turns_s if t is not None]
        if not all(0 <= t < LONGEST_S for t in turns) or (one.turns_s and not turns):
            raise InputError("a turn of the comparison took an impossible time")
        ratios = (one.ratio, one.ci95_low, one.ci95_high)
        known = [r for r in ratios if r is not None]
        if len(known) not in (0, 3) or not all(0 < r < 1e12 and math.isfinite(r) for r in known):
            raise InputError("the comparison has an impossible ratio")
