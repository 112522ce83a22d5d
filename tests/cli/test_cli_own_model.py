"""Model files on the command line: refused, agreed to, run, recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from gpuexplorer.cli import main
from gpuexplorer.cli.own_files import agree
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.operators import OperatorProfile
from gpuexplorer.core.result import RunResult
from gpuexplorer.workloads import trust
from gpuexplorer.workloads.frameworks import OWN_MODELS
from gpuexplorer.workloads.own_model import ModelFile, read_model
from gpuexplorer.workloads.workload import Workload
from tests.support.cli import assert_one_sentence, run_cli
from tests.support.operators import made_profile
from tests.support.own_models import GOOD, write

needs_torch = pytest.mark.torch


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """Settings and data of their own."""
    monkeypatch.setattr(trust, "_agreed", set())
    monkeypatch.setenv(trust.ENVIRONMENT_VARIABLE, str(tmp_path / "config"))
    return {
        trust.ENVIRONMENT_VARIABLE: str(tmp_path / "config"),
        "GPUEXPLORER_DATA_DIR": str(tmp_path / "data"),
    }


def test_without_a_terminal_and_without_trust_it_is_refused(
    tmp_path: Path, environment: Mapping[str, str]
) -> None:
    mark = tmp_path / "ran"
    write(tmp_path, f"open({str(mark)!r}, 'w')\n{GOOD}")
    done = run_cli("run", "model.py", cwd=tmp_path, environment=environment)
    said = assert_one_sentence(done, 2)
    assert "model.py is a program, and nobody agreed to run it" in said
    assert "--trust" in said
    assert not mark.exists()


def test_a_file_with_a_mistake_is_refused_before_anybody_is_asked(
    tmp_path: Path, environment: Mapping[str, str]
) -> None:
    write(tmp_path, "def build(\n")
    done = run_cli("sweep", "model.py", "--trust", cwd=tmp_path, environment=environment)
    assert done.returncode == 2
    assert done.stderr.startswith("gpuexplorer: error: model.py:1: ")
    done = run_cli("run", "other.py", "--trust", cwd=tmp_path, environment=environment)
    assert "cannot read other.py: there is no such file" in assert_one_sentence(done, 2)


@needs_torch
def test_it_runs_once_it_is_agreed_to_and_is_kept_with_its_hash(
    tmp_path: Path, environment: Mapping[str, str]
) -> None:
    path = write(tmp_path, GOOD)
    done = run_cli(
        "run", "model.py", "--trust", "--seconds", "0.2", "--size", "batch=4", "--json", "r.json",
        cwd=tmp_path, environment=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "verified" in done.stdout
    result = msgspec.json.decode((tmp_path / "r.json").read_bytes(), type=RunResult)
    assert result.config.workload == "model" and result.config.size["batch"] == 4
    assert trust.is_trusted(read_model(path).sha256)
    kept = run_cli("history", "--json", cwd=tmp_path, environment=environment)
    assert result.id in kept.stdout and "model" in kept.stdout


class Recorder:
    """A session that has recorded already."""

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def devices(self) -> DeviceList:
        device = DeviceInfo(
            id="torch:cpu", hardware_id="cpu", name="A CPU", backend="torch", kind="cpu",
            driver="PyTorch 2", compute_units=1, precisions=("fp32",), libraries=OWN_MODELS,
            threads=1,
        )  # fmt: skip
        return DeviceList(devices=(device,))

    def operators(
        self, config: RunConfig, workload: Workload, *, shapes: bool, on_progress: object
    ) -> OperatorProfile:
        assert workload.name == "model" and config.variant == "torch_training" and shapes
        return msgspec.structs.replace(made_profile(shapes=shapes), config=config)


def test_operators_are_printed_and_written(
    tmp_path: Path,
    environment: Mapping[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gpuexplorer.cli.operators.open_session", lambda _: Recorder())
    model = read_model(write(tmp_path, GOOD))
    code = main([
        "operators", "model.py", "--trust", "--variant", "torch_training", "--shapes",
        "--json", "o.json", "--trace", "t.json", "--plot", "o.svg", "--rows", "2",
    ])  # fmt: skip
    said = capsys.readouterr()
    assert code == 0, said.err
    assert trust.is_trusted(model.sha256)
    assert "A little net: operators of one iteration" in said.out
    assert "addmm" in said.out and "2 more operators; --rows shows more" in said.out
    assert "8×32, 32×128" in said.out and "700 µs" in said.out
    profile = msgspec.json.decode((tmp_path / "o.json").read_bytes(), type=OperatorProfile)
    trace = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert len(spans) == len(profile.calls) == 8
    assert (tmp_path / "o.svg").stat().st_size > 4000


def test_a_workload_without_pytorch_has_no_operators(
    tmp_path: Path, environment: Mapping[str, str]
) -> None:
    done = run_cli("operators", "matmul", "--variant", "naive", cwd=tmp_path,
                   environment=environment)  # fmt: skip
    assert "nothing tells the operators of 'naive'" in assert_one_sentence(done, 2)


def test_the_answer_to_the_question_decides(tmp_path: Path, environment: Mapping[str, str]) -> None:
    model = read_model(write(tmp_path, GOOD))
    asked: list[ModelFile] = []

    def answer(yes: bool) -> bool:
        asked.append(model)
        return yes

    with pytest.raises(trust.NotTrusted):
        agree(model, said_so=False, ask=lambda _: answer(False))
    agree(model, said_so=False, ask=lambda _: answer(True))
    agree(model, said_so=False, ask=lambda _: answer(False))  # nobody is asked twice
    assert len(asked) == 2
