"""The Lab's studies in a session file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.studies import STUDY_SCHEMA, Study, study_json
from gpuexplorer.gui.model import part_file
from gpuexplorer.gui.model.job import Held
from gpuexplorer.gui.model.part_file import check_texts, decode_part
from gpuexplorer.studies import DOCUMENTS, kind_of, sheet_of

SCHEMA = "gpuexplorer/lab/1"
MOST_RUNS = 2000
"""Runs of one study."""


class _Document(msgspec.Struct, kw_only=True):
    schema: str = ""
    studies: Annotated[list[msgspec.Raw], msgspec.Meta(min_length=1)]


def encode(held: Sequence[Held[Study]]) -> bytes:
    """Return studies as JSON."""
    studies = [msgspec.Raw(study_json(one.result)) for one in held]
    return msgspec.json.encode(_Document(schema=SCHEMA, studies=studies))


def decode(data: bytes, origin: str) -> tuple[Held[Study], ...]:
    """Return the studies that a file holds; InputError when they do not hold together."""
    document = decode_part(data, _Document, SCHEMA, "the Lab's studies")
    found = tuple(Held(study_of(bytes(raw)), origin=origin) for raw in document.studies)
    kinds = [kind_of(one.result).name for one in found]
    if len(set(kinds)) != len(kinds):
        raise InputError("the Lab has a study twice")
    return found


def study_of(data: bytes) -> Study:
    """Return a study; InputError when it does not hold together."""
    study: Study = part_file.decode(data, DOCUMENTS, "a study of the Lab")
    if study.schema != STUDY_SCHEMA:
        raise InputError("a study of the Lab is of another version")
    if not 1 <= len(study.runs) <= MOST_RUNS:
        raise InputError("a study of the Lab has no runs, or too many")
    check_texts(study)
    try:
        sheet_of(study)
    except (ValueError, ArithmeticError, LookupError, TypeError) as error:
        raise InputError(f"a study of the Lab cannot be shown: {error}") from None
    return study
