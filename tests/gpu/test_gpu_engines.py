"""Engines in another Python on a real GPU, alone and side by side with the built-in one."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpuexplorer
from gpuexplorer.engine.interpreters import CONFIG_VARIABLE, Interpreters
from tests.support.pythons import make_python


@pytest.fixture(autouse=True)
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Python of another environment, called ``other``, that finds what is installed here."""
    monkeypatch.setenv(CONFIG_VARIABLE, str(tmp_path / "settings"))
    python = make_python(tmp_path / "env")
    Interpreters().add("other", str(python))
    return python


def test_a_kernel_is_compiled_and_measured_in_another_environment() -> None:
    result = gpuexplorer.run(
        "matmul", variant="naive", size=512, block=(16, 16), device="cuda:0", seconds=0.3,
        python="other",
    )  # fmt: skip
    assert result.environment.engine == "other"
    assert result.environment.cuda is not None
    assert result.verification is not None
    assert result.verification.ok


def test_the_same_kernel_in_two_engines_takes_the_same_time() -> None:
    result = gpuexplorer.compare(
        "naive:16x16,engine=built-in", "naive:16x16,engine=other", workload="matmul", size=1024,
        device="cuda:0", rounds=10,
    )  # fmt: skip
    assert [c.run.environment.engine for c in result.contestants] == [None, "other"]
    assert result.others[0].ratio == pytest.approx(1.0, abs=0.05)
