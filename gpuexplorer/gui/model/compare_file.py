"""A comparison in a session file: who takes part, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from gpuexplorer.core.chunked import encode as encode_json
from gpuexplorer.core.compared import COMPARISON_SCHEMA, ComparisonResult
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.fields import Count, Tolerance
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sharing import shared
from gpuexplorer.gui.model.part_file import check_config, decode_part
from gpuexplorer.search.compare import Comparing
from gpuexplorer.search.contestants import engine_of
from gpuexplorer.search.stored import compare_runs

SCHEMA = "gpuexplorer/compare-view/1"
MOST = 12
"""Who takes part at the most: a round of more lasts too long to be fair."""


class ListedContestant(msgspec.Struct, frozen=True):
    """One that takes part: its configuration, the stored run it repeats, and its engine."""

    config: RunConfig
    stored: RunResult | None = None
    engine: str | None = None
    """The word for the engine that measures it; None: the built-in one."""


class HeldComparison(msgspec.Struct, frozen=True):
    """A comparison at a moment."""

    contestants: tuple[ListedContestant, ...]
    reference: int
    tolerance: float
    result: ComparisonResult | None
    origin: str = ""
    """The file that brought it; empty for one made here."""
    comparing: Comparing | None = None
    """What can be gone on with, in the window where it was measured."""


def held_stored(runs: Sequence[RunResult]) -> HeldComparison:
    """Return stored runs with their samples as a comparison, the first as the reference."""
    result = compare_runs(runs)
    contestants = tuple(
        ListedContestant(
            run.config, msgspec.structs.replace(run, samples_s=[]), engine_of(run.environment)
        )
        for run in runs
    )
    return HeldComparison(contestants, result.reference, result.tolerance, result)


class _Document(msgspec.Struct, kw_only=True):
    schema: str = ""
    contestants: Annotated[
        tuple[ListedContestant, ...], msgspec.Meta(min_length=1, max_length=MOST)
    ] = msgspec.field(name="candidates")
    reference: Count = 0
    tolerance: Tolerance
    result: ComparisonResult | None = None


def encode(held: HeldComparison) -> bytes:
    """Return a comparison as JSON."""
    runs = [one.stored for one in held.contestants if one.stored is not None]
    runs += [one.run for one in held.result.contestants] if held.result is not None else []
    data = encode_json(
        _Document(
            schema=SCHEMA,
            contestants=held.contestants,
            reference=held.reference,
            tolerance=held.tolerance,
            result=held.result,
        )
    )
    return shared(data, [run.environment for run in runs], [c.engine for c in held.contestants])


def decode(data: bytes, origin: str) -> HeldComparison:
    """Return the comparison that a file holds; InputError when it does not hold together."""
    document = decode_part(data, _Document, SCHEMA, "the comparison")
    for one in document.contestants:
        _check_names(one.config, one.stored)
    if not document.reference < len(document.contestants):
        raise InputError("the comparison's reference does not take part")
    if document.result is not None:
        check_result(document.result, document.reference, len(document.contestants))
    return HeldComparison(
        contestants=document.contestants,
        reference=document.reference,
        tolerance=document.tolerance,
        result=document.result,
        origin=origin,
    )


def _check_names(config: RunConfig, run: RunResult | None) -> None:
    """Check what configurations are called, but for a run of another program."""
    if run is None:
        check_config(config)
    elif run.origin is None:
        check_config(config)
        check_config(run.config)


def check_result(result: ComparisonResult, reference: int, number: int) -> None:
    """Raise InputError for a result that is none of so many contestants."""
    if result.schema != COMPARISON_SCHEMA:
        raise InputError("the comparison is of an unknown format")
    if len(result.contestants) != number or result.reference != reference:
        raise InputError("the comparison's result is not of those who take part")
    for one in result.contestants:
        _check_names(one.run.config, one.run)
        if len(one.turns_s) != len(result.contestants[0].turns_s):
            raise InputError("the comparison has unequal numbers of turns")
        if one.turns_s and all(turn is None for turn in one.turns_s):
            raise InputError("one of the comparison has no turn")
        if len({ratio is None for ratio in (one.ratio, one.ci95_low, one.ci95_high)}) > 1:
            raise InputError("the comparison has a ratio without its interval")
