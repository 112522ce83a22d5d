"""Studies: everything that is measured in turns to answer one question, a file each.

Each is an object made from what is asked for, so that it can be looked at before it runs:

    lab = PrecisionLab(request, workload, devices, How(rounds=12, seconds=1.0))
    study = lab.run(session, on_step=print)     # a PrecisionStudy

``session`` is anything with ``measure``: a blocking ``Session``, or a window's job.
``cancel`` may be called from any thread and acts between two runs; then, and after whatever ``run``
lets through, ``document`` returns what was measured by then.

``KINDS`` has every kind by its name, with its form, options, table and chart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

import msgspec
from msgspec.structs import replace

from gpuexplorer.charts.spec import ChartSpec
from gpuexplorer.charts.words import unverified_words
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sheet import Sheet
from gpuexplorer.core.studies import STUDY_SCHEMA, Study, ids_of
from gpuexplorer.studies import ladder, precision, scaling, speedup, switches
from gpuexplorer.studies.kind import StudyKind

KINDS: dict[str, StudyKind[Any]] = {
    kind.name: kind
    for kind in (precision.KIND, switches.KIND, speedup.KIND, scaling.KIND, ladder.KIND)
}
"""By the name that a document has, in the order in which they are offered."""
DOCUMENTS: Any = reduce(or_, (kind.document for kind in KINDS.values()))
"""The type of a study of any kind."""


def kind_of(study: Study) -> StudyKind[Any]:
    """Return the kind of a study."""
    return KINDS[str(study.__struct_config__.tag)]


def decode(data: bytes | str) -> Study:
    """Return the study that ``core.studies.study_json`` wrote; msgspec.DecodeError for no study."""
    found: Study = msgspec.json.decode(data, type=DOCUMENTS)
    return found


def with_runs(document: Mapping[str, Any], runs: Sequence[RunResult]) -> Study:
    """Return a study from its document and its runs; InputError when it is not one."""
    try:
        found: Study = msgspec.convert({**document, "runs": []}, DOCUMENTS)
    except msgspec.ValidationError as error:
        raise InputError(
            f"this is no study that is known here: {error}",
            remedy="give a document of 'gpuexplorer study --json'",
        ) from None
    if found.schema != STUDY_SCHEMA:
        raise InputError(
            f"a study of another version of GPU Explorer ('{found.schema[:60]}')",
            remedy="open it with that version, or update this one",
        )
    return msgspec.structs.replace(found, runs=list(runs))


def study_of(rests: Sequence[Mapping[str, Any]], runs: Sequence[RunResult]) -> Study | None:
    """Return the study that some runs are of, with those that it names; None when they are of none.

    All that it names are there, beside others such as one that dropped out after some rounds; or
    some are gone, and the others are its.
    """
    for rest in rests:
        if rest.get("schema") != STUDY_SCHEMA:
            continue
        try:
            study = with_runs(rest, runs)
        except InputError:
            continue
        ids = ids_of(study)
        named = [run for run in runs if run.id in ids]
        if len(named) == len(runs) or (ids and ids <= {run.id for run in named}):
            return msgspec.structs.replace(study, runs=named)
    return None


def sheet_of(study: Study) -> Sheet:
    """Return a study as a table."""
    sheet, left = kind_of(study).sheet(study), unverified_words(study.runs)
    return replace(sheet, notes=(*sheet.notes, left)) if left else sheet


def chart_of(study: Study) -> ChartSpec:
    """Return the chart of a study; one of which nothing was measured has empty panels."""
    kind = kind_of(study)
    chart = kind.chart(study)
    about = kind.caption(study).words if study.runs else kind.subject_of(study)
    left = unverified_words(study.runs)
    notes = (*chart.notes, left) if left else chart.notes
    return msgspec.structs.replace(chart, subtitle=f"{about}\n{chart.subtitle}", notes=notes)
