"""Versions of a source: each verified and timed, in turns with the last one that ran."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.errors import WorkFailed, WrongResult
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.search.versions import MOST, Version, Versions
from gpuexplorer.workloads.kernel_answers import Answers
from gpuexplorer.workloads.loader import keep_manifest, kernel_workload, source_paths, stamps
from gpuexplorer.workloads.workload import Workload
from tests.support.exchange import made_run
from tests.support.own_kernels import WITH_CPU

SUM = "sum += A[row * n + k] * B[k * n + col];"
BACK = SUM.replace("+=", "-=")


@pytest.fixture(scope="module")
def session() -> Iterator[EngineSession]:
    with EngineSession(python=None, threads=1) as opened:
        yield opened


def mine(tmp_path: Path, text: str) -> Workload:
    path = tmp_path / "mine.cu"
    path.write_text(text, encoding="utf-8")
    if not path.with_suffix(".toml").exists():
        keep_manifest(path, Answers(reference={"": "A @ B"}))
    return kernel_workload(path)


def test_each_version_stands_beside_the_last_one_that_ran(
    session: EngineSession, tmp_path: Path
) -> None:
    versions, devices = Versions(), session.devices()
    request = RunRequest(workload="mine", device="cpu")

    def take(text: str) -> Version:
        return versions.take(session, mine(tmp_path, text), devices, request)

    first = take(WITH_CPU)
    assert first.run is not None and first.run.verification is not None
    assert (first.number, first.before, first.comparison) == (1, None, None)
    torn = take(WITH_CPU.replace(SUM, "summ += 1;"))
    assert torn.run is None and isinstance(torn.error, WorkFailed)
    assert "mine.cu:26" in str(torn.error) and "summ" in str(torn.error)
    wrong = take(WITH_CPU.replace(SUM, BACK))
    assert isinstance(wrong.error, WrongResult)
    twice = f"{{ {SUM} for (int j = 0; j < 40; j++) {{ {SUM} {BACK} }} }}"
    slow = take(WITH_CPU.replace(SUM, twice))
    assert slow.error is None and slow.run is not None and slow.before == 1
    assert slow.run.verification is not None and slow.run.verification.ok
    assert slow.comparison is not None and slow.comparison.verdict == "slower"
    back = take(WITH_CPU)
    assert back.before == 4 and back.comparison is not None
    assert back.comparison.verdict == "faster" and back.comparison.ci95_high < 1
    assert [v.number for v in versions.all] == [1, 2, 3, 4, 5]
    assert versions.last_good is back
    wrong_at_31 = take(WITH_CPU.replace("n + col] = sum", "n + col] = n - 31 ? sum : 1"))
    assert wrong_at_31.error is None
    request = RunRequest(workload="mine", device="cpu", size={"n": 31})
    mended = take(WITH_CPU)
    assert mended.error is None and mended.run is not None and mended.before is None


def test_a_version_whose_time_cannot_be_true_is_not_called_faster(
    session: EngineSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions, devices = Versions(), session.devices()
    request = RunRequest(workload="mine", device="cpu")
    twice = f"{{ {SUM} for (int j = 0; j < 40; j++) {{ {SUM} {BACK} }} }}"
    versions.take(session, mine(tmp_path, WITH_CPU.replace(SUM, twice)), devices, request)
    monkeypatch.setattr(RunRecord, "suspect_at", lambda *_: "above the ceiling")
    fast = versions.take(session, mine(tmp_path, WITH_CPU), devices, request)
    assert fast.before == 1 and fast.comparison is not None
    assert fast.comparison.verdict == "can't tell"
    assert fast.beside == "cannot be true: above the ceiling"


def test_of_many_versions_the_oldest_go_but_the_first_and_the_last_one_that_ran(
    session: EngineSession, tmp_path: Path
) -> None:
    versions, workload, run = Versions(), mine(tmp_path, WITH_CPU), made_run()
    nowhere, devices = RunRequest(workload="mine", device="gpu7"), session.devices()

    def numbers() -> list[int]:
        return [version.number for version in versions.all]

    for _ in range(3):
        versions.begin(workload, run)
    for _ in range(MOST):
        assert versions.take(session, workload, devices, nowhere).error is not None
    assert numbers() == [1, 3, *range(6, MOST + 4)] and len(versions.all) == MOST
    assert versions.last_good is not None and versions.last_good.number == 3
    versions.begin(workload, run)
    assert numbers() == [1, *range(6, MOST + 5)] and versions.ran == 4
    assert Versions(versions.all).ran == 2


def test_a_files_change_is_seen_and_its_manifests(tmp_path: Path) -> None:
    paths = source_paths(mine(tmp_path, WITH_CPU))
    assert set(paths) == {tmp_path / "mine.cu", tmp_path / "mine.toml"}
    seen = stamps(paths)
    assert stamps(paths) == seen and len(seen) == 2
    for path in paths:
        path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
        before, seen = seen, stamps(paths)
        assert seen != before
    (tmp_path / "mine.cu").unlink()
    assert len(stamps(paths)) == 1
