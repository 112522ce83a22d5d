"""The precision lab on a machine with known times and errors."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import (
    Cancelled,
    CannotRunHere,
    ExplorerError,
    InputError,
    OutOfMemory,
    WorkFailed,
)
from gpuexplorer.core.precision import PRECISIONS
from gpuexplorer.core.result import Arithmetic
from gpuexplorer.core.studies import study_json
from gpuexplorer.engine.errors import EngineGone, EngineKilled
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.studies import decode
from gpuexplorer.studies.precision import (
    PrecisionLab,
    PrecisionPoint,
    PrecisionStudy,
    half_answer,
    sheet,
)
from gpuexplorer.studies.running import How, StudyStep
from tests.support.studies import SHIPPED, StudyMachine, asked, cpu, devices, torch_cpu

ATTENTION = SHIPPED["attention"]
HOW = How(rounds=8, seconds=0.08, seed=1)
TIMES_S = {"fp64": 4e-4, "fp32": 2e-4, "bf16": 1e-4, "fp16": 3e-4, "autocast_bf16": 1.2e-4}
ERRORS = {"fp64": 1e-16, "fp32": 1e-7, "bf16": 3e-3, "fp16": 2e-4, "autocast_bf16": 3e-3}


def lab(precisions: list[str] | None = None, how: How = HOW) -> PrecisionLab:
    return PrecisionLab(
        asked("attention", variant="torch"), ATTENTION, devices(torch_cpu()), how,
        precisions=precisions,
    )  # fmt: skip


def machine(**changes: object) -> StudyMachine:
    said: dict[str, object] = {"error": lambda c: ERRORS[c.precision], **changes}
    return StudyMachine(lambda c: TIMES_S[c.precision], **said)  # type: ignore[arg-type]


def points(study: PrecisionStudy) -> dict[str, PrecisionPoint]:
    return {point.precision: point for point in study.points}


def test_every_precision_is_measured_or_says_why_not() -> None:
    study = lab().run(machine())
    assert study.stopped_by == "done" and study.rounds == 8
    assert list(points(study)) == list(PRECISIONS)
    for point in study.points:
        assert (point.measured is None) == (point.skipped is not None)
    found = points(study)
    assert {n for n, p in found.items() if p.measured} == set(TIMES_S)
    assert "has no precision 'int8'" in (found["int8"].skipped or "")
    assert "does not offer tf32" in (found["tf32"].skipped or "")


def test_times_errors_and_ratios_are_the_machines() -> None:
    study = lab().run(machine())
    assert study.reference == "fp32" and study.config.precision == "fp32"
    for name, point in points(study).items():
        if point.measured is None:
            continue
        assert point.measured.time_s == pytest.approx(TIMES_S[name], rel=0.01)
        assert point.measured.rms_rel_error == ERRORS[name]
        assert point.measured.max_rel_error == 4 * ERRORS[name]
        if name == "fp32":
            assert point.against is None
            continue
        assert point.against is not None
        ratio = TIMES_S[name] / TIMES_S["fp32"]
        assert point.against.ci95_low <= ratio * 1.002 and ratio <= point.against.ci95_high * 1.002
        assert point.against.verdict == ("faster" if ratio < 1 else "slower")


def test_a_wrong_result_is_a_point_and_says_so() -> None:
    study = lab().run(machine())
    wrong = {name for name, p in points(study).items() if p.measured and p.measured.wrong}
    assert wrong == {"bf16", "autocast_bf16"}
    bf16 = points(study)["bf16"].measured
    assert bf16 is not None
    run = study.run(bf16)
    assert run is not None and run.config.even_if_wrong and not run.verified
    fp32 = study.run(points(study)["fp32"].measured)
    assert fp32 is not None and not fp32.config.even_if_wrong


def test_the_front_has_those_that_nothing_beats_in_both() -> None:
    study = lab().run(machine())
    # fp16 is slower than fp32 and further away; autocast is slower than bf16 with the same error
    assert {name for name, p in points(study).items() if p.front} == {"fp64", "fp32", "bf16"}


def test_a_fallback_is_told_by_what_ran_and_by_an_error_to_the_last_digit() -> None:
    said = Arithmetic(
        asked="bf16", ran="fp32", accumulates_in="fp32", how="kernel names",
        fallback="bf16 was asked for and fp32 ran.",
    )  # fmt: skip
    study = lab().run(
        machine(
            error=lambda c: ERRORS["fp32"] if c.precision == "fp16" else ERRORS[c.precision],
            arithmetic=lambda c: said if c.precision == "bf16" else None,
        )
    )
    found = points(study)
    assert found["bf16"].fallback == said.fallback
    assert (found["bf16"].ran, found["bf16"].accumulates_in) == ("fp32", "fp32")
    assert "to the last digit" in (found["fp16"].fallback or "")
    assert not found["bf16"].front and not found["fp16"].front
    assert found["fp64"].fallback is None and found["autocast_bf16"].fallback is None


def test_one_that_fails_leaves_the_others_alone() -> None:
    study = lab().run(
        machine(fails=lambda c: WorkFailed("out of memory") if c.precision == "fp64" else None)
    )
    found = points(study)
    assert found["fp64"].skipped == "out of memory"
    assert {n for n, p in found.items() if p.measured} == set(TIMES_S) - {"fp64"}
    assert study.rounds == 8


def test_one_that_fails_midway_drops_out_and_the_rounds_go_on() -> None:
    runs = {"bf16": 0}

    def fails(config: RunConfig) -> ExplorerError | None:
        if config.precision != "bf16":
            return None
        runs["bf16"] += 1
        return WorkFailed("the device fell over") if runs["bf16"] == 5 else None

    study = lab().run(machine(error=lambda c: 1e-7, fails=fails))
    found = points(study)
    assert found["bf16"].skipped == "the device fell over"
    assert found["fp16"].against is not None and found["fp16"].against.pairs == 8
    again = decode(study_json(study))
    (one,) = again.dropped
    assert (one.label, one.reason, one.rounds) == ("bf16", "the device fell over", 3)
    run = again.run(one.measured)
    assert run is not None and run.config.precision == "bf16" and run.timing.samples
    assert one.measured.time_s == pytest.approx(TIMES_S["bf16"], rel=0.01)
    assert len(again.runs) == len(TIMES_S)
    said = "bf16 dropped out after 3 rounds, which are kept: the device fell over."
    assert said in again.notes


@pytest.mark.parametrize("first", [1, 8])
@pytest.mark.parametrize("kind", [EngineKilled, OutOfMemory])
def test_a_failure_that_passes_loses_the_round_alone(kind: type[ExplorerError], first: int) -> None:
    runs = {"bf16": 0}
    steps: list[StudyStep] = []

    def fails(config: RunConfig) -> ExplorerError | None:
        if config.precision != "bf16":
            return None
        runs["bf16"] += 1
        return kind("it was the moment") if runs["bf16"] == first else None

    study = lab().run(machine(error=lambda c: 1e-7, fails=fails), steps.append)
    found = points(study)
    assert found["bf16"].skipped is None and found["bf16"].against is not None
    assert {p.against.pairs for p in study.points if p.against is not None} == {8}
    assert runs["bf16"] == 1 + 8 + 1
    assert all(a.done < b.done <= b.total for a, b in pairwise(steps))
    assert steps[-1].done + 1 == steps[-1].total


def test_a_time_that_cannot_be_true_is_beside_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {"bf16"}
    monkeypatch.setattr(
        RunRecord, "suspect",
        lambda record, _: "above the roof" if record.prepared.config.precision in wrong else None,
    )  # fmt: skip
    study = lab(["fp32", "bf16"]).run(machine())
    assert points(study)["bf16"].against is None
    assert "bf16 cannot be true: above the roof." in study.notes
    cells = {row.cells["precision"].text: row.cells for row in sheet(study).rows}
    assert cells["bf16"]["speed"].text == "cannot be true"
    assert half_answer(study) == "That cannot be told: the time of bf16 cannot be true."
    wrong = {"fp32"}
    study = lab(["fp32", "bf16"]).run(machine())
    assert points(study)["bf16"].against is None
    assert half_answer(study) == "That cannot be told: the time of fp32 cannot be true."


def test_what_fails_again_at_once_drops_out_even_if_it_could_pass() -> None:
    study = lab().run(
        machine(fails=lambda c: OutOfMemory("out of memory") if c.precision == "fp64" else None)
    )
    found = points(study)
    assert found["fp64"].skipped == "out of memory"
    assert {n for n, p in found.items() if p.measured} == set(TIMES_S) - {"fp64"}


def test_a_result_without_numbers_is_listed_with_its_reason() -> None:
    from gpuexplorer.core.errors import WrongResult

    study = lab().run(
        machine(
            fails=lambda c: WrongResult("relative error inf") if c.precision == "fp16" else None
        )
    )
    assert points(study)["fp16"].skipped == "relative error inf"


def test_without_an_engine_the_study_ends_with_what_there_is() -> None:
    done = {"runs": 0}

    def fails(config: RunConfig) -> ExplorerError | None:
        done["runs"] += 1
        return EngineGone("no engine starts") if done["runs"] > 15 else None

    one = lab()
    with pytest.raises(EngineGone):
        one.run(machine(fails=fails))
    study = one.document()
    assert study.stopped_by == "error" and study.rounds == 2
    assert decode(study_json(study)) == study
    assert points(study)["fp32"].measured is not None
    assert points(study)["fp64"].against is None  # too few rounds


@pytest.mark.parametrize(
    ("error", "end", "reason"),
    [
        (EngineGone("no engine starts"), "error", "an error ended it before"),
        (OSError("the pipe broke"), "error", "an error ended it before"),
        (Cancelled(), "user", "it was stopped before"),
        (KeyboardInterrupt(), "user", "it was stopped before"),
    ],
)
def test_what_is_missing_says_what_ended_the_study(
    error: BaseException, end: str, reason: str
) -> None:
    def step(at: StudyStep) -> None:
        if at.done == 3:
            raise error

    one = lab()
    assert points(one.document())["fp64"].skipped == "not measured yet"
    with pytest.raises(type(error)):
        one.run(machine(), step)
    study = one.document()
    assert (study.stopped_by, points(study)["fp64"].skipped) == (end, reason)


def test_nothing_measured_is_an_error() -> None:
    with pytest.raises(WorkFailed, match="the driver is gone"):
        lab().run(machine(fails=lambda c: WorkFailed("the driver is gone")))


def test_cancelling_keeps_the_rounds_that_were_whole() -> None:
    one = lab()
    steps: list[StudyStep] = []

    def stop(step: StudyStep) -> None:
        steps.append(step)
        if step.done == 5 + 3 * 5 + 2:  # within the fourth round
            one.cancel()

    study = one.run(machine(), stop)
    assert study.stopped_by == "user" and study.rounds == 3
    assert points(study)["fp32"].measured is not None
    assert steps[0].total == 5 * (1 + 8)
    assert all(a.done < b.done <= b.total for a, b in pairwise(steps))


def test_an_interrupt_comes_through_and_the_document_is_there() -> None:
    one = lab()

    def stop(step: StudyStep) -> None:
        if step.done == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        one.run(machine(), stop)
    assert one.document().rounds == 1


def test_samples_bound_what_is_launched() -> None:
    counted = machine()
    lab(["fp32"], How(rounds=6, seconds=60.0, samples=12, seed=1)).run(counted)
    assert [samples for _, samples in counted.runs] == [1] + [2] * 6


def test_only_those_that_were_named_take_part() -> None:
    study = lab(["fp32", "int8"]).run(machine())
    assert [p.precision for p in study.points] == ["fp32", "int8"]
    with pytest.raises(InputError, match="no precision 'fp31'"):
        lab(["fp31"])
    with pytest.raises(InputError, match="has none of int8"):
        lab(["int8"])


def test_what_is_wrong_with_the_request_is_said_once() -> None:
    with pytest.raises(InputError, match="no variant 'tensorflo'"):
        PrecisionLab(asked("attention", variant="tensorflo"), ATTENTION, devices(torch_cpu()), HOW)
    with pytest.raises(CannotRunHere):
        PrecisionLab(asked("attention", variant="torch"), ATTENTION, devices(cpu()), HOW)


def test_a_kernel_adds_up_in_its_accumulator() -> None:
    matmul = SHIPPED["matmul"]
    study = PrecisionLab(
        asked("matmul", variant="naive", size={"N": 16}), matmul, devices(cpu()), HOW
    ).run(StudyMachine(lambda c: 1e-4))
    found = points(study)
    assert found["fp16"].accumulates_in == found["bf16"].accumulates_in == "fp32"
    assert found["fp64"].accumulates_in == "fp64" and found["tf32"].skipped is not None


def test_rounds_that_take_long_are_fewer_unless_their_number_is_exact(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gpuexplorer.studies.turns.ROUNDS_S", 0.0)
    study = lab(["fp32", "fp64"]).run(machine())
    assert study.rounds == 6
    assert any("takes long besides its samples" in note for note in study.notes)
    kept = [run.timing.samples * run.timing.median_s for run in study.runs]
    assert kept == pytest.approx([HOW.seconds] * 2, rel=0.1), "as much is sampled in longer turns"
    exact = How(rounds=8, seconds=0.08, seed=1, exact=True)
    study = lab(["fp32", "fp64"], exact).run(machine())
    assert study.rounds == 8
    assert not any("takes long" in note for note in study.notes)


class Compiling(StudyMachine):
    """Takes a minute for each configuration the first time, or every time."""

    def __init__(self, *, always: bool) -> None:
        super().__init__(lambda c: TIMES_S[c.precision])
        self._always = always
        self._compiled: set[str] = set()

    def measure(self, config: RunConfig, *how: Any) -> RunRecord:
        if self._always or config.key not in self._compiled:
            self.now += 60.0
        self._compiled.add(config.key)
        return super().measure(config, *how)


@pytest.mark.parametrize(("always", "rounds"), [(False, 8), (True, 6)])
def test_a_round_takes_long_where_each_compiles_and_not_where_only_the_first_run_did(
    monkeypatch: pytest.MonkeyPatch, always: bool, rounds: int
) -> None:
    compiling = Compiling(always=always)
    monkeypatch.setattr("gpuexplorer.studies.turns.monotonic", compiling.clock)
    study = lab(["fp32", "fp64"]).run(compiling)
    assert study.rounds == rounds
    assert any("takes long" in note for note in study.notes) == always
