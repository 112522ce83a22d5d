"""``gpuexplorer calibrate``: one table, one stored file, and sentences for what goes wrong."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from gpuexplorer.calibration import calibrate
from gpuexplorer.calibration.plan import Stage, stages
from gpuexplorer.calibration.store import ENVIRONMENT_VARIABLE, CeilingStore
from gpuexplorer.cli import EXIT_INTERRUPTED, main
from gpuexplorer.cli import calibrate as command
from gpuexplorer.cli.parser import parse
from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import CannotRunHere, InputError
from gpuexplorer.engine.errors import EngineGone, EngineKilled
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.session import EngineSession
from tests.support.cli import run_cli


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(folder))
    return folder


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calibrate two ceilings only, briefly, with one candidate each."""

    def chosen(devices: DeviceList, device: DeviceInfo, *, quick: bool = False) -> list[Stage]:
        wanted = {("fma", "fp32"), ("gemm", "fp32")}
        every = stages(devices, device, quick=True)
        found = [s for s in every if (s.kind, s.precision) in wanted]
        return [replace(s, seconds=0.1, candidates=s.candidates[:1]) for s in found]

    monkeypatch.setattr(calibrate, "stages", chosen)


def test_it_prints_a_table_and_keeps_the_ceilings(
    few: None, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.command(parse(["calibrate", "--device", "cpu", "--quick"])) == 0
    said = capsys.readouterr()
    (stored,) = CeilingStore(data_dir).all()
    assert {c.kind for c in stored.ceilings} == {"fma", "gemm"}
    assert stored.quick
    for word in ("multiply-add fp32", "matrix product fp32", "GFLOP/s", "95 % interval"):
        assert word in said.out
    assert "stored" in said.err and str(data_dir) in said.err


def test_json_on_standard_output_is_the_stored_document(
    few: None, data_dir: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert command.command(parse(["calibrate", "--device", "cpu", "--json", "-"])) == 0
    document = msgspec.json.decode(capfdbinary.readouterr().out, type=Ceilings)
    assert CeilingStore(data_dir).all() == [document]


def test_an_interruption_stores_nothing(
    few: None,
    data_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(EngineSession, "measure", interrupted)
    code = command.command(parse(["calibrate", "--device", "cpu"]))
    assert code == EXIT_INTERRUPTED
    assert CeilingStore(data_dir).all() == []
    assert "nothing was stored" in capsys.readouterr().err


def test_an_engine_that_gives_up_leaves_the_calibration_before_as_it_was(
    few: None,
    data_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ["calibrate", "--device", "cpu"]
    assert main(asked) == 0
    before = CeilingStore(data_dir).all()
    capsys.readouterr()
    measure, runs = EngineSession.measure, itertools.count()

    def measured(self: EngineSession, *how: Any, **told: Any) -> RunRecord:
        if next(runs):
            raise EngineGone("the engine ended before it answered")
        return measure(self, *how, **told)

    monkeypatch.setattr(EngineSession, "measure", measured)
    assert main(asked) == CannotRunHere.exit_code
    assert CeilingStore(data_dir).all() == before
    said = capsys.readouterr()
    assert said.out == ""
    assert "nothing was stored, the calibration before stays as it was" in said.err
    assert "the engine ended before it answered" in said.err
    assert next(runs) == 2  # nothing is tried without an engine


def test_a_ceiling_that_cannot_be_measured_again_is_kept_and_ends_it_with_1(
    few: None,
    data_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It was gone from what was stored, and the command ended with 0."""
    asked = ["calibrate", "--device", "cpu"]
    assert main(asked) == 0
    (before,) = CeilingStore(data_dir).all()
    dated = msgspec.structs.replace(before, time_utc="2026-01-01T12:00:00+00:00")
    CeilingStore(data_dir).save(dated)
    capsys.readouterr()
    measure = EngineSession.measure

    def measured(self: EngineSession, *how: Any, **told: Any) -> RunRecord:
        if how[0].workload == "ceiling-fma":
            raise EngineKilled("the engine was ended from outside", remedy="run it again")
        return measure(self, *how, **told)

    monkeypatch.setattr(EngineSession, "measure", measured)
    assert main(asked) == 1
    said = capsys.readouterr()
    assert "1 ceiling stays as it was measured before; the table says when" in said.err
    assert "1 candidate could not be measured" in said.err
    assert "2026-01-01" in said.out
    (now,) = CeilingStore(data_dir).all()
    dates = {c.kind: c.time_utc for c in now.ceilings}
    assert dates == {"fma": dated.time_utc, "gemm": None} and now.time_utc > dated.time_utc


def test_an_unknown_device_is_an_input_error(data_dir: Path) -> None:
    with pytest.raises(InputError, match="no device"):
        command.command(parse(["calibrate", "--device", "opencl:99"]))


def test_a_broken_calibration_is_said_once_and_the_run_goes_on(
    data_dir: Path, tmp_path: Path
) -> None:
    (data_dir / "ceilings").mkdir(parents=True)
    (data_dir / "ceilings" / "torn.json").write_text('{"schema": "gpuexplorer/ce', "utf-8")
    done = run_cli(
        "run", "matmul", "--size", "64", "--seconds", "0.1", "--json", "-", "--device", "cpu",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stderr.count("torn.json") == 1
    assert "run 'gpuexplorer calibrate' again" in done.stderr
