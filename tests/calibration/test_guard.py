"""A manifest that counts ten times the work is found out by the ceilings, with the real engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuexplorer.calibration.calibrate import Calibration
from gpuexplorer.calibration.plan import ceiling_workloads
from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.workloads.choose import complete, find_device
from gpuexplorer.workloads.loader import load, pick
from tests.support.kernels import ARTICLE_KERNEL, MATMUL_MANIFEST, write_folder

FLOPS = 'flops = "2 * N * 48 * R"'
NAME = 'name = "ceiling-fma"'
PATIENCE = 10
"""Runs that may pass before one is undisturbed enough."""


class Bench:
    """An engine, and the fp32 ceilings of its CPU as calibration measures them."""

    def __init__(self) -> None:
        self.ceilings: Ceilings | None = None
        self.session = EngineSession(ceilings=self._find)
        devices = self.session.devices()
        self.device = find_device(devices, "cpu")
        calibration = Calibration(devices, self.device, quick=True)
        while (task := calibration.task) is not None:
            if task.stage.kind in ("fma", "gemm") and task.stage.precision == "fp32":
                candidate = task.candidate
                calibration.took(
                    self.session.measure(
                        candidate.config, candidate.workload, RunOptions(seconds=0.1)
                    ).result()
                )
            else:
                calibration.skip()
        self.ceilings = calibration.ceilings()

    def _find(self, device: DeviceInfo) -> Ceilings | None:
        return self.ceilings

    def run(self, folder: Path, name: str, size: dict[str, int]) -> RunResult:
        workload = pick(load([folder]), name)
        request = RunRequest(workload=name, device=self.device.id, size=size, precision="fp32")
        config = complete(request, workload, self.session.devices())
        return self.session.measure(config, workload, RunOptions(seconds=0.3)).result()


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.session.close()


def test_only_what_was_measured_is_a_ceiling(bench: Bench) -> None:
    assert bench.ceilings is not None
    kinds = {(c.kind, c.precision) for c in bench.ceilings.ceilings}
    assert ("fma", "fp32") in kinds
    assert kinds <= {("fma", "fp32"), ("gemm", "fp32")}
    for ceiling in bench.ceilings.ceilings:
        assert 1e9 < ceiling.value < 1e14
        assert ceiling.ci95_low is None or ceiling.ci95_low <= ceiling.value
        assert "fastest stretch" in ceiling.method


def test_an_honest_kernel_is_believed(bench: Bench, tmp_path: Path) -> None:
    write_folder(tmp_path / "honest", MATMUL_MANIFEST.format(name="honest"), ARTICLE_KERNEL)
    assert bench.run(tmp_path, "honest", {"N": 256}).timing.suspect is None


def test_ten_times_the_operations_are_suspect(bench: Bench, tmp_path: Path) -> None:
    chains = ceiling_workloads()["ceiling-fma"].source
    assert FLOPS in chains.manifest and NAME in chains.manifest
    manifest = chains.manifest.replace(FLOPS, 'flops = "10 * 2 * N * 48 * R"')
    folder = tmp_path / "boast"
    folder.mkdir()
    (folder / "workload.toml").write_text(manifest.replace(NAME, 'name = "boast"'), "utf-8")
    for name, text in chains.files.items():
        (folder / name).write_text(text, "utf-8")
    for _ in range(PATIENCE):  # while a neighbour takes most of the machine, no figure is too high
        said = bench.run(tmp_path, "boast", {}).timing.suspect
        if said is not None:
            break
    assert said is not None
    assert "measured to reach in fp32" in said
    assert "'flops'" in said
