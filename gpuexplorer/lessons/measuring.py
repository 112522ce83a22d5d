"""Measure what a lesson names, with the parts of the program that measure it anywhere else."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import msgspec

from gpuexplorer.charts.words import config_parts
from gpuexplorer.core.accesses import WARP, AccessLook, AccessProfile
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import InputError
from gpuexplorer.engine.accesses import CountsAccesses
from gpuexplorer.engine.analyze import analyze_variant
from gpuexplorer.engine.interleave import Measures
from gpuexplorer.lessons.lesson import Lesson, bench_word, kind_of_ask
from gpuexplorer.lessons.manifest import Ask, Figure, Measure
from gpuexplorer.lessons.measured import Compared, Compiled, Counted, Measured, Studied, Value
from gpuexplorer.search.compare import Comparing, ContestantConfig
from gpuexplorer.search.contestants import labels
from gpuexplorer.studies import KINDS
from gpuexplorer.studies.running import How
from gpuexplorer.workloads.choose import complete, find_device
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.workload import Workload

START, OWN = "start", "own"
"""What an exercise measures: where the knobs began, and where they stand."""


class LessonEngine(Measures, CountsAccesses, Protocol):
    """What measures: an ``EngineSession``, or a job of the window."""


class Bench(msgspec.Struct, frozen=True):
    """What a lesson is measured with; ``python`` compiles, None for the program's own."""

    engine: LessonEngine
    devices: DeviceList
    workloads: dict[str, Workload]
    python: str | None = None


def measure(
    lesson: Lesson,
    name: str,
    bench: Bench,
    on_step: Callable[[Measured], None] | None = None,
) -> Measured:
    """Measure one of a lesson's ``measures``; ``on_step`` gets what is known so far.

    Raises InputError and CannotRunHere where this machine cannot, and what the engine raises.
    """
    wanted = lesson.manifest.measures[name]
    asked = [lesson.request(word, bench.workloads) for word in wanted.words]
    words = tuple(wanted.words)
    if wanted.kind == "compare":
        return _compare(words, asked, bench, wanted.rounds, on_step, shows=_shown(lesson, name))
    if wanted.kind == "accesses":
        return _count(words, asked, bench, wanted, _shown(lesson, name), on_step)
    if wanted.kind == "compile":
        return _compile(words, asked, bench, wanted.arch, on_step)
    return _study(lesson, wanted, bench, on_step)


def planned(request: RunRequest, workload: Workload, devices: DeviceList) -> RunConfig:
    """Return the whole configuration, with grid and tunables; raises what ``complete`` does."""
    config = complete(request, workload, devices)
    return make_plan(workload, config, find_device(devices, config.device)).config


Asked = Sequence[tuple[RunRequest, Workload]]
Step = Callable[[Measured], None] | None


def _compare(
    words: tuple[str, ...], asked: Asked, bench: Bench, rounds: int, on_step: Step,
    names: Sequence[str] = (), shows: str = "time",
) -> Compared:  # fmt: skip
    """``names`` are how charts call them, none: what tells them apart; ``shows`` what is drawn."""
    configs = [planned(request, workload, bench.devices) for request, workload in asked]
    workloads = [workload for _, workload in asked]
    comparing = Comparing(
        [
            ContestantConfig(label, config, workload)
            for label, config, workload in zip(
                names or short_labels(configs), configs, workloads, strict=True
            )
        ],
        rounds=rounds,
    )

    def on_round(_: object) -> None:
        if on_step is not None:
            on_step(Compared(words, comparing.result(listed=False), shows))

    comparing.measure(bench.engine, on_round=on_round)
    return Compared(words, comparing.result(listed=False), shows)


TELLING = (
    ("variant",), ("block",), ("precision",), ("size",), ("cache",), ("fill",),
    ("variant", "block"), ("variant", "size"), ("workload", "variant"),
)  # fmt: skip
"""Parts of a configuration that may tell it from others, the shortest names first."""


def short_labels(configs: Sequence[RunConfig]) -> list[str]:
    """Return the shortest words that tell configurations apart; ``labels`` where these do not."""
    parts = [config_parts(config) for config in configs]
    for fields in TELLING:
        made = [" · ".join(one[field] for field in fields if one[field]) for one in parts]
        if all(made) and len(set(made)) == len(made):
            return made
    return labels(configs)


def _count(
    words: tuple[str, ...], asked: Asked, bench: Bench, wanted: Measure, shows: str, on_step: Step
) -> Counted:
    """``shows`` is the quantity that is drawn."""
    found: list[AccessProfile] = []
    for request, workload in asked:
        on_cpu = request
        if request.device == "auto":
            on_cpu = msgspec.structs.replace(request, device="cpu")
        config = planned(on_cpu, workload, bench.devices)
        found.append(bench.engine.accesses(config, workload, _look(config, wanted)))
        if on_step is not None:
            on_step(Counted(words[: len(found)], tuple(found), shows))
    return Counted(words, tuple(found), shows)


def _shown(lesson: Lesson, name: str) -> str:
    """Return the quantity that a measurement's chart draws: that of the first figure of it."""
    figures = lesson.manifest.figures.values()
    measure = lesson.manifest.measures[name]
    usual = "sectors" if measure.kind == "accesses" else "time"
    return next((one.quantity for one in figures if one.measure == name), usual)


def _look(config: RunConfig, wanted: Measure) -> AccessLook:
    """Return which block is looked at."""
    x, y, z = wanted.place
    if not wanted.last_block or config.grid is None or config.block is None:
        return AccessLook(block=(x, y, z))
    x, y, z = (count - 1 for count in config.grid)
    return AccessLook(block=(x, y, z), warp=-(-math.prod(config.block) // WARP) - 1)


def _compile(
    words: tuple[str, ...], asked: Asked, bench: Bench, arch: str, on_step: Step
) -> Compiled:
    found = []
    for request, workload in asked:
        analysis = analyze_variant(workload, request, [arch], python=bench.python)
        if not analysis.kernels:
            raise InputError(
                f"'{request.variant}' of '{workload.name}' has no kernel to compile",
                remedy="choose a variant that is a kernel",
            )
        found.append(analysis.kernels[0])
        if on_step is not None:
            on_step(Compiled(words[: len(found)], tuple(found)))
    return Compiled(words, tuple(found))


def _study(lesson: Lesson, wanted: Measure, bench: Bench, on_step: Step) -> Studied:
    request, workload = lesson.request(bench_word(lesson.manifest), bench.workloads)
    kind = KINDS[wanted.study or ""]
    chosen: dict[str, dict[str, Any]] = {
        "precision": {"precisions": wanted.precisions or None},
        "scaling": {
            "variants": wanted.variants or None, "symbol": None, "sizes": wanted.sizes or None,
        },
        "ladder": {"variants": wanted.variants or None},
    }  # fmt: skip
    how = How(rounds=wanted.rounds, seconds=wanted.seconds, exact=True)
    lab = kind.lab(request, workload, bench.devices, how, **chosen[kind.name])

    def request_of(word: str) -> RunRequest:
        return lesson.request(word, bench.workloads)[0]

    def step(_: object) -> None:
        document = lab.document()
        if on_step is not None and document.runs:
            on_step(Studied(document, request_of))

    return Studied(lab.run(bench.engine, step), request_of)


# ---- the exercise


EXERCISE_NAMES = ("the start", "yours")
KEPT = {
    "variant": "variant", "block": "block", "tunables": "tunables", "precision": "precision",
    "size": "size", "switches": "switches", "fill": "inputs", "cache": "state of the caches",
}  # fmt: skip
"""Parts of a configuration that an exercise may hold fixed, in words."""


def check_exercise(
    lesson: Lesson, own: RunRequest, workload: Workload, bench: Bench, on_step: Step = None
) -> Measured:
    """Measure a configuration of the user's beside the start of the exercise.

    ``workload`` is the user's, perhaps with edited sources; the start is measured as it came.
    Raises InputError where the user changed what the exercise keeps, and what measuring raises.
    """
    check_kept(lesson, own, workload, bench.workloads, bench.devices)
    exercise = lesson.manifest.exercise
    start, shipped = lesson.request(exercise.start, bench.workloads)
    asked = ((start, shipped), (own, workload))
    kind = kind_of_ask(exercise.asks[0])

    def step(found: Measured) -> None:
        if on_step is not None and isinstance(found, Counted | Compiled):
            on_step(_named(found))

    if kind == "compare":
        return _compare((START, OWN), asked, bench, exercise.rounds, on_step, EXERCISE_NAMES)
    if kind == "accesses":
        shows = exercise.asks[0].quantity
        return _named(_count((START, OWN), asked, bench, Measure(), shows, step))
    return _named(_compile((START, OWN), asked, bench, exercise.arch, step))


def _named(found: Counted | Compiled) -> Counted | Compiled:
    """Return what was measured for an exercise with the names of start and own."""
    return replace(found, names=EXERCISE_NAMES[: len(found.words)])


def check_kept(
    lesson: Lesson, own: RunRequest, workload: Workload, workloads: dict[str, Workload],
    devices: DeviceList,
) -> None:  # fmt: skip
    """Raise InputError for what is not the user's to change, and what ``planned`` raises."""
    exercise = lesson.manifest.exercise
    free = exercise.free
    start, shipped = lesson.request(exercise.start, workloads)
    if workload.name != shipped.name:
        title = shipped.manifest.title
        raise InputError(
            f"the exercise is about {title}", remedy="press 'Set the knobs to the start'"
        )
    first, second = (
        planned(request, chosen, devices) for request, chosen in ((start, shipped), (own, workload))
    )
    for field, words in KEPT.items():
        held = field not in free and not (field in ("tunables", "block") and "variant" in free)
        if held and getattr(first, field) != getattr(second, field):
            raise InputError(
                f"the exercise keeps the {words} as it is at the start",
                remedy="set it back, or press 'Set the knobs to the start'",
            )


def asked_value(measured: Measured, ask: Ask) -> Value | None:
    """Return what came of one thing that an exercise asks for."""
    return measured.value(
        Figure(
            measure="", quantity=ask.quantity, of=OWN, over=START if ask.relative else None,
            array=ask.array, access=ask.access,
        )
    )  # fmt: skip
