"""What is measured by a job is held against the same ceilings as what is measured at once."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpuexplorer.calibration.store import CeilingStore
from gpuexplorer.cli import main, sweep, tune
from gpuexplorer.core.ceilings import Ceiling, Ceilings
from gpuexplorer.core.device import DeviceList
from gpuexplorer.environments import detached as jobs
from gpuexplorer.search import detached
from gpuexplorer.search.detached import Work
from gpuexplorer.workloads.loader import load
from tests.search.engine import MadeEngine
from tests.support.problems import device

MATMUL = load()["matmul"]
DEVICE = device("opencl:0", threads=1)
DEVICES = DeviceList(devices=(DEVICE,))


def test_a_job_takes_the_calibrations_of_its_devices_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUEXPLORER_DATA_DIR", str(tmp_path))
    kept = Ceilings(
        device=DEVICE.id,
        hardware_id=DEVICE.hardware_id,
        name=DEVICE.name,
        driver=DEVICE.driver,
        threads=1,
        time_utc="2026-01-01T00:00:00+00:00",
        ceilings=(Ceiling(kind="copy", value=1e9),),
    )
    CeilingStore().save(kept)
    works: list[Work] = []

    def take(title: str, work: Work, *_: object) -> SimpleNamespace:
        works.append(work)
        return SimpleNamespace(id="job")

    monkeypatch.setattr(jobs, "begin", take)
    here = nullcontext(SimpleNamespace(devices=DEVICES))
    monkeypatch.setattr(sweep, "measuring_on", lambda *_: here)
    monkeypatch.setattr(tune, "open_session", lambda _: here)
    words = ["matmul", "--variant", "naive", "--device", "opencl:0", "--block-x", "1,2"]
    for name in ("sweep", "tune"):
        assert main([name, *words, "--detach", "--no-history"]) == 0

    held: list[Ceilings | None] = []

    class Session(MadeEngine):
        def __init__(self, *, ceilings: Any = None, **_: object) -> None:
            super().__init__()
            held.append(None if ceilings is None else ceilings(DEVICE))

        def __enter__(self) -> Session:
            return self

        def __exit__(self, *ended: object) -> None:
            pass

        def close(self) -> None:
            pass

    monkeypatch.setattr(detached, "EngineSession", Session)
    swept, tuned = works
    (tmp_path / detached.ANSWERS).mkdir()
    CeilingStore().folder.rename(tmp_path / "elsewhere")  # as on another machine
    assert detached.measure(swept, tmp_path)
    assert tuned.tuning is not None
    for path in (tmp_path / detached.ANSWERS).iterdir():
        path.unlink()
    detached.tune(tuned, tuned.tuning, tmp_path)
    assert held == [kept, kept]
