"""The Lab's studies in a session file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.studies import Study, study_json, without_runs
from gpuexplorer.gui.model.job import Held
from gpuexplorer.gui.model.part_file import check_texts
from gpuexplorer.studies import kind_of, sheet_of, with_runs

SCHEMA = "gpuexplorer/lab/1"
MOST_RUNS = 2000
"""Runs of one study."""
LONGEST_S = 1e9
_POSITIVE = frozenset(("time_s", "ratio", "ci95_low", "ci95_high", "factor"))
_NOT_NEGATIVE = frozenset(
    ("ci95_low_s", "ci95_high_s", "flop_per_s", "rms_rel_error", "max_rel_error", "tolerance",
     "memory_B", "size", "low", "high")
)  # fmt: skip
"""Figures that charts take the logarithm of, or divide by, and those that are never below 0."""


class _Document(msgspec.Struct, kw_only=True):
    schema: str = ""
    studies: list[msgspec.Raw] = []


class _Runs(msgspec.Struct):
    runs: list[RunResult] = []


def encode(held: Sequence[Held[Study]]) -> bytes:
    """Return studies as JSON."""
    studies = [msgspec.Raw(study_json(one.result)) for one in held]
    return msgspec.json.encode(_Document(schema=SCHEMA, studies=studies))


def decode(data: bytes, origin: str) -> tuple[Held[Study], ...]:
    """Return the studies that a file holds; InputError when they do not hold together."""
    try:
        document = msgspec.json.decode(data, type=_Document)
        if document.schema != SCHEMA:
            raise InputError("the Lab's studies are of an unknown format")
        found = tuple(Held(_study(raw), origin=origin) for raw in document.studies)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InputError(f"the Lab's studies cannot be read: {error}") from None
    kinds = [kind_of(one.result).name for one in found]
    if not found or len(set(kinds)) != len(kinds):
        raise InputError("the Lab has a study twice, or none")
    return found


def _study(raw: msgspec.Raw) -> Study:
    plain = msgspec.json.decode(raw, type=dict[str, Any])
    runs = msgspec.json.decode(raw, type=_Runs).runs
    study = with_runs({k: v for k, v in plain.items() if k != "runs"}, runs)
    if not 1 <= len(runs) <= MOST_RUNS:
        raise InputError("a study of the Lab has no runs, or too many")
    for run in runs:
        check_texts(msgspec.to_builtins(msgspec.structs.replace(run, samples_s=[], batches=[])))
    figures = without_runs(study)
    check_texts(figures)
    _check_figures(figures)
    try:
        sheet_of(study)
    except (ValueError, ArithmeticError, LookupError, TypeError) as error:
        raise InputError(f"a study of the Lab cannot be shown: {error}") from None
    return study


def _check_figures(value: object) -> None:
    """Raise InputError for a figure that no chart can show."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            for name, figure in one.items():
                number = isinstance(figure, (int, float)) and not isinstance(figure, bool)
                bad = number and (
                    (name in _POSITIVE and not 0 < figure < 1e30)
                    or (name in _NOT_NEGATIVE and not 0 <= figure < 1e30)
                    or (name == "time_s" and figure >= LONGEST_S)
                )
                if bad:
                    raise InputError(f"a study of the Lab has an impossible figure, '{name}'")
            waiting += one.values()
        elif isinstance(one, (list, tuple)):
            waiting += one
