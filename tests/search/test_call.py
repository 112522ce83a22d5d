"""What a call of the Python API asks for: its request, a model's file, the history it keeps to."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpuexplorer
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.knobs import request_of
from gpuexplorer.history.place import ENVIRONMENT_VARIABLE
from gpuexplorer.search.call import kept_in, trusted, workload_of
from gpuexplorer.workloads import trust
from tests.support.own_models import GOOD, write


@pytest.fixture(autouse=True)
def nobody_agreed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(trust, "_agreed", set())
    monkeypatch.setenv(trust.ENVIRONMENT_VARIABLE, str(tmp_path / "config"))


def test_arguments_make_a_request() -> None:
    assert request_of("matmul") == RunRequest(workload="matmul")
    asked = request_of(
        "matmul", size=64, block=[8, 4], switches={"jit": True}, include_transfers=True
    )
    assert (asked.size, asked.block) == ({"": 64}, (8, 4))
    assert asked.switches == {"jit": True, "include_transfers": True}
    assert request_of("matmul", size={"N": 3}).size == {"N": 3}


def test_a_models_file_is_run_after_it_was_agreed_to(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    with pytest.raises(trust.NotTrusted):
        workload_of(str(path), (), trust=False)
    with pytest.raises(trust.NotTrusted):
        trusted([path], trust=False)
    assert workload_of(str(path), (), trust=True).name == "model"
    assert trusted([path, tmp_path], trust=False) == [path, tmp_path]  # it was agreed to above
    with pytest.raises(InputError, match="no workload 'nothing'"):
        workload_of("nothing", (), trust=True)


def test_studies_and_comparisons_run_no_file_that_nobody_agreed_to(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    with pytest.raises(trust.NotTrusted):
        gpuexplorer.study("precision", str(path))
    with pytest.raises(trust.NotTrusted):
        gpuexplorer.compare("torch", "precision=bf16", workload="model", kernels=[path])


def test_runs_are_kept_where_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, named = tmp_path / "own.sqlite", tmp_path / "named.sqlite"
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(own))
    with kept_in(False) as store:
        assert store is None
    for said, path in ((True, own), (named, named)):
        with kept_in(said) as store:
            assert store is not None and store.path == path
