"""What was measured before an error ended a call of the Python API is with the error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gpuexplorer
from gpuexplorer.core.compared import ComparisonResult
from gpuexplorer.core.sweep import SweepDocument
from gpuexplorer.core.tuning import Tuning
from gpuexplorer.engine.errors import EngineGone
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.studies.scaling import ScalingStudy


def sweep() -> SweepDocument:
    return gpuexplorer.sweep(
        "vector_add", {"size": [1024, 2048, 4096, 8192]}, samples=3, device="cpu"
    )


def compare() -> ComparisonResult:
    return gpuexplorer.compare(
        "block=64", "block=128", workload="vector_add", size=1024, device="cpu", rounds=2
    )


def tune() -> Tuning:
    return gpuexplorer.tune(
        "vector_add", size=1024, evaluations=4, samples=3, racing=False, device="cpu"
    )


def study() -> Any:
    return gpuexplorer.study(
        "scaling", "vector_add", variants=["grid_stride"], sizes=[1024, 2048], rounds=2,
        seconds=0.01, device="cpu",
    )  # fmt: skip


CALLS: dict[type, Callable[[], object]] = {
    SweepDocument: sweep,
    ComparisonResult: compare,
    Tuning: tune,
    ScalingStudy: study,
}


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Have engines be gone for good after so many measurements."""
    real, left = EngineSession.measure, [0]

    def measure(self: EngineSession, *arguments: Any, **named: Any) -> RunRecord:
        if not left[0]:
            raise EngineGone("no engine starts")
        left[0] -= 1
        return real(self, *arguments, **named)

    def end_after(number: int) -> None:
        left[0] = number

    monkeypatch.setattr(EngineSession, "measure", measure)
    return end_after


@pytest.mark.parametrize("document", CALLS)
def test_the_error_that_ends_a_call_has_what_was_measured(
    document: type, measured: Callable[[int], None]
) -> None:
    measured(3)
    with pytest.raises(EngineGone) as ended:
        CALLS[document]()
    partial = ended.value.partial
    assert isinstance(partial, document)
    match partial:
        case SweepDocument():
            assert len(partial.measured) == 3
        case ComparisonResult():
            assert partial.rounds == 1 and len(partial.contestants) == 2
        case Tuning():
            assert (partial.tried, partial.stopped_by, partial.chosen) == (3, "error", None)
        case ScalingStudy():
            assert len(partial.runs) == 1


@pytest.mark.parametrize("document", CALLS)
def test_the_error_before_anything_was_measured_has_nothing(
    document: type, measured: Callable[[int], None]
) -> None:
    measured(0)
    with pytest.raises(EngineGone) as ended:
        CALLS[document]()
    assert ended.value.partial is None
