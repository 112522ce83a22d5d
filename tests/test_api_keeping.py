"""A history that fails in the middle of a call loses no measurement, and the caller is told."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpuexplorer
from gpuexplorer.history.errors import StoreFull
from gpuexplorer.history.store import Store


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every store open and refuse each run."""

    def refuse(*_: object, **__: object) -> None:
        raise StoreFull("the history cannot be written: the disk is full")

    for name in ("add_all", "add_group"):
        monkeypatch.setattr(Store, name, refuse)


@pytest.mark.usefixtures("full")
def test_a_sweep_whose_runs_are_not_kept_says_so_and_returns_them(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="not kept in the history: .*disk is full"):
        document = gpuexplorer.sweep(
            "vector_add", {"size": [1024, 2048]}, samples=3, device="cpu",
            history=tmp_path / "h.sqlite",
        )  # fmt: skip
    assert len(document.measured) == 2


@pytest.mark.usefixtures("full")
def test_a_tuning_whose_runs_are_not_kept_says_so_and_is_returned(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="not kept in the history: .*disk is full"):
        tuning = gpuexplorer.tune(
            "vector_add", size=1024, evaluations=2, samples=3, device="cpu",
            history=tmp_path / "h.sqlite",
        )  # fmt: skip
    assert tuning.chosen is not None
