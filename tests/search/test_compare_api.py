"""``gpuexplorer.compare`` from a script."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

import gpuexplorer
from gpuexplorer.core.errors import InputError
from gpuexplorer.history.store import Store
from tests.support.results import made_result


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUEXPLORER_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("GPUEXPLORER_HISTORY_URL", raising=False)


def test_words_stored_runs_and_results_at_hand() -> None:
    rounds: list[int] = []
    result = gpuexplorer.compare(
        "naive:16x16", "1x64", workload="matmul", size=64, device="cpu", fail_if_slower=0.05,
        on_round=lambda standings: rounds.append(len(standings)),
    )  # fmt: skip
    slow = result.others[0]
    assert (slow.verdict, slow.too_slow) == ("slower", True)
    assert rounds == [2] * result.rounds
    with Store.open() as store:
        store.add(slow.run)
        store.star(slow.run.id)
    again = gpuexplorer.compare("baseline", slow.run.id[:8], result.contestants[0].run, rounds=1)
    assert [one.run.config.block for one in again.contestants] == [
        (1, 64, 1), (1, 64, 1), (16, 16, 1),
    ]  # fmt: skip
    assert [one.stored_id for one in again.contestants][:2] == [slow.run.id] * 2
    assert not any(one.warnings for one in again.contestants)


def test_stored_runs_as_they_are() -> None:
    runs = [made_result(), made_result(median_s=9.5e-3)]
    result = gpuexplorer.compare(*runs, stored=True)
    assert (result.interleaved, result.others[0].verdict) == (False, "slower")
    with pytest.raises(InputError, match="stored runs alone"):
        gpuexplorer.compare(runs[0], "16x16", stored=True)
    with pytest.raises(InputError, match="nothing is measured in turns"):
        gpuexplorer.compare(*runs, stored=True, rounds=3)
    with pytest.raises(InputError, match=r"nothing is measured for 'seconds' and 'threads'; leave"):
        gpuexplorer.compare(*runs, stored=True, seconds=20.0, threads=2)


@pytest.mark.parametrize("stored", [True, False])
def test_knobs_are_refused_beside_runs_that_have_their_own(stored: bool) -> None:
    runs = [made_result(), made_result(median_s=9.5e-3)]
    with pytest.raises(InputError, match="which have their own 'size' and 'seed'"):
        gpuexplorer.compare(*runs, stored=stored, size=64, seed=1)


def test_a_default_that_is_said_counts_beside_a_run_that_has_another() -> None:
    run = made_result()
    config = msgspec.structs.replace(
        run.config, size={"N": 64}, block=(16, 16, 1), grid=(4, 4, 1), seed=7, device="cpu",
        threads=None,
    )  # fmt: skip
    run = msgspec.structs.replace(run, config=config)
    as_it_was = gpuexplorer.compare(run, "8x8", rounds=1)
    assert [one.run.config.seed for one in as_it_was.contestants] == [7, 7]
    said = gpuexplorer.compare(run, "8x8", rounds=1, seed=1)
    assert [one.run.config.seed for one in said.contestants] == [7, 1]


def test_errors_are_one_sentence() -> None:
    with pytest.raises(InputError, match="takes two"):
        gpuexplorer.compare("naive", workload="matmul")
    with pytest.raises(InputError, match="no baseline"):
        gpuexplorer.compare("baseline", "naive")
