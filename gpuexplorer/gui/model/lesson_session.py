"""A lesson as a session file: its bench set up, what was measured of it, its words as notes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import gpuexplorer
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.studies import Study
from gpuexplorer.gui.model import compare_file, lab_file
from gpuexplorer.gui.model.compare_file import HeldComparison, ListedContestant
from gpuexplorer.gui.model.fit import knobs_of
from gpuexplorer.gui.model.job import Held
from gpuexplorer.gui.model.session_document import (
    SessionContents,
    SessionDocument,
    View,
    plain_source,
)
from gpuexplorer.lessons.lesson import Lesson
from gpuexplorer.lessons.measured import Compared, Measured, Studied
from gpuexplorer.lessons.measuring import planned
from gpuexplorer.workloads.workload import Workload

VIEWS = {"compare": "Compare", "accesses": "Accesses", "compile": "Kernel", "study": "Lab"}
"""The title of the view in which each kind of measurement can be explored."""


def lesson_session(
    lesson: Lesson,
    measured: Mapping[str, Measured],
    workloads: dict[str, Workload],
    devices: DeviceList,
) -> SessionContents:
    """Return a session whose knobs stand at the lesson's first measurement.

    Its comparison and its study stand in their views, and the lesson's words in the notes. Raises
    InputError and CannotRunHere where its bench cannot be set up on these devices.
    """
    name, wanted = next(iter(lesson.manifest.measures.items()))
    request, workload = lesson.request(lesson.start_of(name), workloads)
    config = planned(request, workload, devices)
    parts = dict(_parts(measured))
    document = SessionDocument(
        program=gpuexplorer.__version__,
        saved_utc=datetime.now(UTC).isoformat(timespec="seconds"),
        notes=lesson_notes(lesson),
        knobs=knobs_of(config, workload.variant(config.variant)),
        view=View(tab=wanted.view or VIEWS[wanted.kind]),
        kernels={workload.name: plain_source(workload)},
        parts=list(parts),
    )
    return SessionContents(document, {}, parts)


def lesson_notes(lesson: Lesson) -> str:
    """Return a lesson's words in one text."""
    words, manifest = lesson.text, lesson.manifest
    parts = [words.title, words.about, words["question"]]
    parts += [f"- {words[f'choice {one.name}']}" for one in manifest.guess.choices]
    parts += [f"{words.button(name)}: {words.beside(name)}" for name in manifest.measures]
    parts += [words["see"], *(words[f"claim {one.name}"] for one in manifest.claims)]
    return "\n\n".join([*parts, words["gpu"], words["exercise"]])


def _parts(measured: Mapping[str, Measured]) -> list[tuple[str, bytes]]:
    """Return the documents of other views: the last comparison, and the last study of each kind."""
    found: dict[str, bytes] = {}
    studies: dict[str, Study] = {}
    for one in measured.values():
        if isinstance(one, Compared):
            found["comparison"] = compare_file.encode(_held(one))
        elif isinstance(one, Studied):
            studies[type(one.study).__name__] = one.study
    if studies:
        found["lab"] = lab_file.encode([Held(study) for study in studies.values()])
    return list(found.items())


def _held(compared: Compared) -> HeldComparison:
    result = compared.result
    configs: list[RunConfig] = compared.configs
    listed = tuple(ListedContestant(config) for config in configs)
    return HeldComparison(listed, result.reference, result.tolerance, result)
