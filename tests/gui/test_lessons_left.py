"""What Learn leaves to the next start: it comes back, or a sentence says why it does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from gpuexplorer.analysis.static import KernelAnalysis
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.errors import InputError
from gpuexplorer.gui.model.lessons import LessonsModel
from gpuexplorer.gui.model.lessons_file import HeldLessons, decode, encode
from gpuexplorer.lessons.measured import Compared, Compiled, Counted, Measured, Studied
from gpuexplorer.workloads.loader import load
from tests.support.accesses import made_accesses
from tests.support.exchange import made_comparison
from tests.support.lab_studies import precision_study


def a_kernel(name: str = "reduce<float, 256>") -> KernelAnalysis:
    return KernelAnalysis(
        name=name, source="x.cu", arch="sm_90", precision="fp32", tunables={"TILE": 16},
        registers_per_thread=32, static_shared_B=2048, dynamic_shared_B=0, local_B=0,
        spill_store_B=0, spill_load_B=None, barriers=1, max_threads_per_block=None,
        block=(16, 16, 1), threads_per_block=256, occupancy=0.75, occupancy_limiter="registers",
        blocks_per_multiprocessor=6, warps_per_multiprocessor=48,
    )  # fmt: skip


def held() -> HeldLessons:
    result = made_comparison()
    words = tuple(f"w{number}" for number in range(len(result.contestants)))
    measured: dict[str, Measured] = {
        "compared": Compared(words, result),
        "counted": Counted(("w0",), (made_accesses(),)),
        "compiled": Compiled(("w0", "w1"), (a_kernel(), a_kernel())),
        "studied": Studied(precision_study(), lambda _: RunRequest(workload="matmul")),
    }
    exercise = Counted(("start", "own"), (made_accesses(), made_accesses()), names=("a", "b"))
    return HeldLessons(
        {"one": measured}, {"two": exercise}, {"two": RunRequest(workload="matmul")}, "one", 3
    )


def test_every_kind_of_measurement_comes_back() -> None:
    made = held()
    read = decode(encode(made), "")
    assert (read.lesson, read.step, read.checked) == (made.lesson, made.step, made.checked)
    assert read.exercise == made.exercise
    studied = made.measured["one"]["studied"]
    assert isinstance(studied, Studied)
    assert read.measured == {"one": {**made.measured["one"], "studied": studied.study}}


def one(document: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = document["measured"]["one"][name]
    return found


@pytest.mark.parametrize(
    "edit",
    [
        lambda d: d.update(schema="gpuexplorer/lessons-view/2"),
        lambda d: d.update(step=4),
        lambda d: d.update(step=-1),
        lambda d: d.update(lesson="<b>x</b>"),
        lambda d: d["checked"]["two"].update(block=[10**30, 1, 1]),
        lambda d: d["measured"]["one"].update(compared={}),
        lambda d: one(d, "compared")["compared"].update(words=[]),
        lambda d: one(d, "compared")["compared"].update(shows="sectors"),
        lambda d: one(d, "compared")["compared"]["result"].update(reference=7),
        lambda d: one(d, "counted")["counted"].update(words=["a", "b"]),
        lambda d: one(d, "counted")["counted"].update(shows="time"),
        lambda d: one(d, "counted")["counted"]["profiles"][0].update(warps=-1),
        lambda d: one(d, "counted")["counted"].update(words=[], profiles=[]),
        lambda d: one(d, "compiled")["compiled"]["kernels"].pop(),
        lambda d: one(d, "compiled")["compiled"]["kernels"][0].update(occupancy=1e300),
        lambda d: one(d, "compiled")["compiled"]["kernels"][0].update(registers_per_thread=-1),
        lambda d: one(d, "studied")["study"].update(runs=[]),
        lambda d: one(d, "studied").update(study=5),
        lambda d: d["exercise"].update(two={"counted": None}),
    ],
)
def test_what_cannot_be_is_told_in_one_short_sentence(
    edit: Callable[[dict[str, Any]], object],
) -> None:
    document = json.loads(encode(held()))
    edit(document)
    with pytest.raises(InputError) as caught:
        decode(json.dumps(document).encode(), "")
    assert len(str(caught.value)) < 400 and "\n" not in str(caught.value)


def test_only_what_a_lesson_measures_now_is_taken_in() -> None:
    """A lesson may have been edited since, and what fits none of its words is not told of it."""
    workloads = load()
    model = LessonsModel(workloads)
    lesson = model.lessons["coalescing"]
    row, column = lesson.manifest.measures["sectors"].words
    profiles = (made_accesses(), made_accesses())
    right = {"sectors": Counted((row, column), profiles), "speed": Counted((row,), profiles[:1])}
    started = HeldLessons({"coalescing": right, "gone": right}, {"coalescing": right["sectors"]})
    model.bring(started, workloads)
    assert model.results.measured == {"coalescing": {"sectors": right["sectors"]}}
    assert model.results.exercise == {} and model.results.checked == {}
    other = Counted((row, "another"), profiles)
    model.bring(HeldLessons({"coalescing": {"sectors": other, "exercise": other}}), workloads)
    assert model.results.measured == {}
