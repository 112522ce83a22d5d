"""What the window shows of lessons, in the session that it leaves to the next start.

No other session file holds it: what a lesson says of *here* is of what was measured here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

import msgspec

from gpuexplorer.core.chunked import encode as encode_json
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import Environment
from gpuexplorer.core.sharing import shared
from gpuexplorer.core.studies import Study, study_json
from gpuexplorer.gui.model.accesses_file import check_profile
from gpuexplorer.gui.model.compare_file import check_result
from gpuexplorer.gui.model.lab_file import study_of
from gpuexplorer.gui.model.part_file import decode_part, require
from gpuexplorer.lessons.charts import measured_chart
from gpuexplorer.lessons.manifest import ACCESS_QUANTITIES, RUN_QUANTITIES
from gpuexplorer.lessons.measured import Compared, Compiled, Counted, Measured, Studied

SCHEMA = "gpuexplorer/lessons-view/1"
STEPS = 4
NO_STUDY = msgspec.Raw(b"null")

Kept = Measured | Study
"""A measurement; of a study its document, until the lesson that reads its words is known."""


class HeldLessons(msgspec.Struct, frozen=True):
    """What Learn shows, by the names of lessons, and which of them is open at which step."""

    measured: Mapping[str, Mapping[str, Kept]] = msgspec.field(default_factory=dict)
    exercise: Mapping[str, Kept] = msgspec.field(default_factory=dict)
    checked: Mapping[str, RunRequest] = msgspec.field(default_factory=dict)
    """The knobs that each exercise was measured with."""
    lesson: str = ""
    step: int = 0


class _Measured(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One measurement, as what it is."""

    compared: Compared | None = None
    counted: Counted | None = None
    compiled: Compiled | None = None
    study: msgspec.Raw = NO_STUDY


class _Document(msgspec.Struct, kw_only=True):
    schema: str = ""
    measured: dict[str, dict[str, _Measured]] = {}
    exercise: dict[str, _Measured] = {}
    checked: dict[str, RunRequest] = {}
    lesson: str = ""
    step: Annotated[int, msgspec.Meta(ge=0, lt=STEPS)] = 0


def encode(held: HeldLessons) -> bytes:
    """Return it as JSON, without where anything lies on this machine."""
    measured = {
        lesson: {name: _document_of(one) for name, one in found.items()}
        for lesson, found in held.measured.items()
    }
    document = _Document(
        schema=SCHEMA,
        measured=measured,
        exercise={lesson: _document_of(one) for lesson, one in held.exercise.items()},
        checked=dict(held.checked),
        lesson=held.lesson,
        step=held.step,
    )
    every = [one for found in held.measured.values() for one in found.values()]
    told = [place for one in (*every, *held.exercise.values()) for place in _environments(one)]
    return shared(encode_json(document), told)


def _document_of(one: Kept) -> _Measured:
    if isinstance(one, Compared):
        return _Measured(compared=one)
    if isinstance(one, Counted):
        return _Measured(counted=one)
    if isinstance(one, Compiled):
        return _Measured(compiled=one)
    study = one.study if isinstance(one, Studied) else one
    assert isinstance(study, Study)
    return _Measured(study=msgspec.Raw(study_json(study)))


def _environments(one: Kept) -> Iterable[Environment]:
    if isinstance(one, Compared):
        return [contestant.run.environment for contestant in one.result.contestants]
    if isinstance(one, Counted):
        return [profile.environment for profile in one.profiles]
    return ()  # a study's are left out where it is written, and compiling tells none


def decode(data: bytes, origin: str) -> HeldLessons:
    """Return what a file holds; InputError when it does not hold together."""
    found = decode_part(data, _Document, SCHEMA, "what was measured for lessons")
    return HeldLessons(
        measured={
            lesson: {name: _read(one) for name, one in measured.items()}
            for lesson, measured in found.measured.items()
        },
        exercise={lesson: _read(one) for lesson, one in found.exercise.items()},
        checked=found.checked,
        lesson=found.lesson,
        step=found.step,
    )


def _read(one: _Measured) -> Kept:
    """Return a measurement; InputError for one that cannot be drawn."""
    if bytes(one.study) != bytes(NO_STUDY):
        return study_of(bytes(one.study))
    found = one.compared or one.counted or one.compiled
    if found is None:
        raise InputError("what was measured for lessons does not hold together")
    _check(found)
    try:  # as it is shown
        measured_chart(found)
    except (ValueError, ArithmeticError, LookupError, TypeError) as error:
        raise InputError(f"what was measured for lessons cannot be shown: {error}") from None
    return found


def _check(found: Compared | Counted | Compiled) -> None:
    """Raise InputError for what no measurement can be."""
    if isinstance(found, Compared):
        check_result(found.result, found.result.reference, len(found.words))
        fits = found.shows in RUN_QUANTITIES and found.result.reference < len(found.words)
    elif isinstance(found, Counted):
        for profile in found.profiles:
            check_profile(profile)
        fits = found.shows in ACCESS_QUANTITIES and len(found.profiles) == len(found.words)
    else:
        fits = len(found.kernels) == len(found.words) and all(
            kernel.registers_per_thread >= 0
            and kernel.static_shared_B >= 0
            and kernel.dynamic_shared_B >= 0
            and 0 <= (kernel.occupancy or 0.0) <= 1
            for kernel in found.kernels
        )
    require(fits and bool(found.words), "what was measured for lessons does not hold together")
