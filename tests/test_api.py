"""The public Python API, for real."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

import gpuexplorer
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.errors import CannotRunHere, ExplorerError, InputError, WrongResult
from gpuexplorer.core.precision import KERNEL_PRECISIONS
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.tuning import Budget
from gpuexplorer.engine.session import EngineSession, RunProgress
from gpuexplorer.history.store import Store
from gpuexplorer.search.sweep import SweepStep
from gpuexplorer.search.tune import Tuner
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load, pick
from tests.support.forks import SERVERS
from tests.support.kernels import WRONG_BODY, write_article, write_vector


def test_devices_have_one_that_runs_kernels() -> None:
    assert any(d.runs_kernels for d in gpuexplorer.devices().devices)


def test_run_measures_and_verifies() -> None:
    steps: list[RunProgress] = []
    result = gpuexplorer.run(
        "matmul", variant="naive", size=128, block=(32, 8), seconds=0.2, on_progress=steps.append
    )
    assert result.config.size == {"N": 128}
    assert result.config.block == (32, 8, 1)
    assert result.verified
    median = float(np.median(result.samples_s))
    assert result.throughput.flop_per_s == pytest.approx(2 * 128**3 / median)
    assert steps[-1].samples == result.timing.samples


def test_a_run_that_ends_early_has_what_it_sampled_with_its_error() -> None:
    before = psutil.Process().children(recursive=True)

    def kill(progress: RunProgress) -> None:
        if progress.samples:
            for child in set(psutil.Process().children(recursive=True)) - set(before):
                if child.pid not in SERVERS:
                    child.kill()

    with pytest.raises(ExplorerError, match="killed") as failure:
        gpuexplorer.run("vector_add", size=1024, seconds=60.0, device="cpu", on_progress=kill)
    partial = failure.value.partial
    assert partial is not None and partial.verified
    assert partial.timing.stopped_by == "crash"
    assert len(partial.samples_s) == partial.timing.samples > 0
    with pytest.raises(InputError) as refused:
        gpuexplorer.run("vector_add", size=-1)
    assert refused.value.partial is None


def test_own_folders_win_and_sizes_may_be_named(tmp_path: Path) -> None:
    folder = write_article(tmp_path)
    result = gpuexplorer.run("article", size={"N": 65}, seconds=0.05, kernels=[folder])
    assert result.config.variant == "article"
    assert result.verified


def test_sweep_measures_every_combination_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    steps: list[SweepStep] = []
    axes: dict[str, list[Any]] = {
        "size": [32, 64],
        "variant": ["naive", "numpy"],
        "block": [[8, 8], [64, 64]],
    }
    history = tmp_path / "history.sqlite"
    document = gpuexplorer.sweep(
        "matmul", axes, samples=5, device="cpu", history=history, on_step=steps.append
    )
    assert document.axes["size.N"] == [32, 64]
    assert [(r.config.size["N"], r.config.variant) for r in document.measured] == [
        (32, "naive"), (32, "numpy"), (64, "naive"), (64, "numpy"),
    ]  # fmt: skip
    assert all(r.verified and r.timing.samples == 5 for r in document.measured)
    assert sum(entry.skipped is not None for entry in document.runs) == 4
    assert sum(step.ended for step in steps) == 4
    again = gpuexplorer.sweep(
        "matmul", axes, samples=5, device="cpu", history=history, resume=True, on_step=steps.append
    )
    assert again.measured == document.measured
    assert sum(step.ended for step in steps) == 4


def test_a_sweep_over_cpu_threads_has_an_engine_for_each() -> None:
    document = gpuexplorer.sweep("vector_add", {"threads": [1, 2]}, size=1000, samples=3)
    assert [r.config.threads for r in document.measured] == [1, 2]


def test_errors_are_the_packages_own(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no workload"):
        gpuexplorer.run("nothing")
    with pytest.raises(InputError, match="would take about"):
        gpuexplorer.run("matmul", variant="naive", size=2048, block=(1, 1), device="cpu")
    with pytest.raises(WrongResult):
        gpuexplorer.run("vector", kernels=[write_vector(tmp_path, WRONG_BODY)])
    with pytest.raises(CannotRunHere):
        gpuexplorer.run("matmul", python="no-such-python")


def test_every_variant_verifies_at_a_size_that_no_block_divides() -> None:
    workload = pick(load(), "matmul")
    verified: set[tuple[str, str]] = set()
    refused: dict[tuple[str, str], ExplorerError] = {}
    with EngineSession() as session:
        for variant in workload.manifest.variants:
            for precision in workload.precisions_of(variant):
                request = RunRequest(
                    workload="matmul", variant=variant, size={"N": 511}, precision=precision
                )
                try:
                    config = complete(request, workload, session.devices())
                except CannotRunHere as error:
                    refused[variant, precision] = error
                    continue
                result = session.measure(config, workload, RunOptions(seconds=0.02)).result()
                assert result.verified and result.verification
                assert np.isfinite(result.verification.max_rel_error)
                verified.add((variant, precision))
    assert {
        (v, p) for v in ("naive", "uncoalesced", "tiled") for p in KERNEL_PRECISIONS
    } <= verified
    assert all(error.remedy for error in refused.values())


def test_tune_names_the_fastest_and_keeps_it(tmp_path: Path) -> None:
    phases: list[str] = []
    tuning = gpuexplorer.tune(
        "matmul", variant="tiled", size=64, device="cpu", block_x=[4, 16], block_y=[1, 4, 16],
        tunables={"TILE": [16]}, seconds=None, sampler="grid", history=tmp_path / "h.sqlite",
        on_tuning=lambda progress: phases.append(progress.phase),
    )  # fmt: skip
    assert tuning.chosen is not None
    assert tuning.space.configurations == 6
    assert phases.count("search") >= 6 and phases.count("final") >= 6
    with Store.open(tmp_path / "h.sqlite") as store:
        assert store.groups("tuning")[0].finished


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, Budget(seconds=60.0)),
        ({"evaluations": 9}, Budget(evaluations=9)),
        ({"seconds": 5, "evaluations": 9}, Budget(seconds=5, evaluations=9)),
        ({"seconds": None}, Budget()),
    ],
)
def test_a_tuning_ends_with_the_first_of_its_limits(
    given: dict[str, Any], expected: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tuner, "run", lambda tuner: tuner.so_far())
    tuning = gpuexplorer.tune("vector_add", size=1024, device="cpu", **given)
    assert tuning.budget == expected


def test_tune_refuses_what_it_cannot_do() -> None:
    with pytest.raises(InputError, match="no sampler 'best'"):
        gpuexplorer.tune("matmul", sampler="best")
