"""``gpuexplorer calibrate``: one table, one stored file, and sentences for what goes wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from gpuexplorer.calibration import calibrate
from gpuexplorer.calibration.plan import Stage, stages
from gpuexplorer.calibration.store import ENVIRONMENT_VARIABLE, CeilingStore
from gpuexplorer.cli import EXIT_INTERRUPTED
from gpuexplorer.cli import calibrate as command
from gpuexplorer.cli.parser import parse
from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import InputError
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
