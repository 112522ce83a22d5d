"""Your own model on a GPU: every precision, graphs and training, and its operators' kernels."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.workloads import trust
from gpuexplorer.workloads.choose import complete, find_device
from gpuexplorer.workloads.own_model import read_model
from gpuexplorer.workloads.workload import Workload
from tests.support.own_models import FAULTS, GOOD, workload_of

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no PyTorch"),
]
DEVICE = "torch:cuda:0"


@pytest.fixture(scope="module")
def session() -> Iterator[EngineSession]:
    with EngineSession() as made:
        if DEVICE not in {d.id for d in made.devices()}:
            pytest.skip("this PyTorch reaches no GPU")
        yield made


def asked(
    session: EngineSession, folder: Path, text: str = GOOD, **request: Any
) -> tuple[RunConfig, Workload]:
    workload = workload_of(folder, text)
    trust.trust(read_model(folder / "model.py"), remember=False)
    wanted = RunRequest(workload=workload.name, device=DEVICE, **request)
    return complete(wanted, workload, session.devices()), workload


def run(session: EngineSession, folder: Path, text: str = GOOD, **request: Any) -> RunResult:
    config, workload = asked(session, folder, text, **request)
    return session.measure(config, workload, RunOptions(seconds=0.2)).result()


@pytest.mark.parametrize(
    "precision", ["fp64", "fp32", "tf32", "bf16", "fp16", "autocast_bf16", "autocast_fp16"]
)
@pytest.mark.parametrize("variant", ["torch", "torch_training"])
def test_each_precision_is_verified(
    session: EngineSession, tmp_path: Path, precision: str, variant: str
) -> None:
    device = find_device(session.devices(), DEVICE)
    if precision not in device.precisions:
        pytest.skip(f"{device.name} has no {precision}")
    result = run(
        session, tmp_path, precision=precision, variant=variant, size={"batch": 64, "width": 256}
    )
    assert result.verified
    assert "CUDA events" in result.timing.method


@pytest.mark.parametrize("variant", ["torch", "torch_training"])
def test_a_cuda_graph_computes_the_same(
    session: EngineSession, tmp_path: Path, variant: str
) -> None:
    result = run(session, tmp_path, variant=variant, switches={"cuda_graph": True})
    assert result.verified


def test_the_whole_textbook_program(session: EngineSession, tmp_path: Path) -> None:
    result = run(session, tmp_path, switches={"include_transfers": True})
    assert result.verified
    assert result.phases_s.host_to_device is not None and result.phases_s.host_to_device > 0


def test_operators_have_their_kernels(session: EngineSession, tmp_path: Path) -> None:
    config, workload = asked(session, tmp_path, size={"batch": 256, "width": 1024})
    profile = session.operators(config, workload)
    assert profile.on_gpu
    product = next(o for o in profile.operators if o.name == "aten::addmm")
    assert product.device_self_s is not None and product.device_self_s > 0
    kernels = [c for c in profile.calls if profile.tracks[c.track].kind == "gpu"]
    assert kernels
    total_s = sum(c.duration_s for c in kernels)
    told_s = sum(o.device_self_s or 0.0 for o in profile.operators)
    assert told_s == pytest.approx(total_s, rel=0.05)


def test_a_fault_leaves_the_next_run_working(session: EngineSession, tmp_path: Path) -> None:
    text, said, _ = FAULTS["raises in forward"]
    with pytest.raises(Exception, match=r"model\.py:4"):
        run(session, tmp_path, text)
    assert "mat1" in said
    assert run(session, tmp_path).verified
