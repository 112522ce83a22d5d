"""Which CuPy is named for a driver and its GPUs, and what an unfit one is told."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from types import ModuleType

import pytest

from gpuexplorer.backends.cuda import backend
from gpuexplorer.backends.cuda.backend import cupy_trouble
from gpuexplorer.core.cuda_choice import Here
from gpuexplorer.core.cuda_driver import Gpu

PASCAL = Gpu("GTX 1080", (6, 1))
TURING = Gpu("RTX 2080", (7, 5))
BLACKWELL = Gpu("RTX 5090", (12, 0))


@pytest.fixture(autouse=True)
def linux(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine for which there are CUDA's libraries, wherever the tests run."""
    monkeypatch.setattr(
        backend, "this_machine", lambda driver, python: Here("linux", "x86_64", driver, (3, 12))
    )


def have_cupy(monkeypatch: pytest.MonkeyPatch, built: int | None) -> None:
    """Have a CuPy here that is built for a CUDA, or none."""
    find = importlib.util.find_spec

    def found(name: str) -> importlib.machinery.ModuleSpec | None:
        if name != "cupy":
            return find(name)
        return None if built is None else importlib.machinery.ModuleSpec("cupy", None)

    monkeypatch.setattr(importlib.util, "find_spec", found)
    runtime = ModuleType("runtime")
    runtime.runtimeGetVersion = lambda: (built or 0) * 1000  # type: ignore[attr-defined]
    cuda = ModuleType("cupy.cuda")
    cuda.runtime = runtime  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cupy", ModuleType("cupy"))
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)


@pytest.mark.parametrize(
    ("cuda", "gpus", "extra"),
    [
        ((13, 0), (TURING,), "cuda13"),
        ((13, 0), (PASCAL,), "cuda12"),
        ((13, 0), (PASCAL, TURING), "cuda12"),
        ((12, 8), (BLACKWELL,), "cuda12"),
        ((14, 1), (), "cuda13"),
    ],
)
def test_the_cupy_that_is_named_runs_on_the_gpus(
    cuda: tuple[int, int], gpus: tuple[Gpu, ...], extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    have_cupy(monkeypatch, None)
    assert cupy_trouble(*cuda, gpus) == (
        "CuPy is not installed", f"pip install 'gpuexplorer[{extra}]'",
    )  # fmt: skip


def test_where_no_cupy_would_run_the_driver_is_asked_for_and_none_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    have_cupy(monkeypatch, None)
    trouble = cupy_trouble(12, 4, (BLACKWELL,))
    assert trouble is not None
    assert trouble[0] == "RTX 5090 (compute capability 12.0) needs an NVIDIA driver 570 or newer"
    assert "pip install" not in trouble[1]


def test_a_cupy_too_new_for_every_gpu_is_told_which_to_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    have_cupy(monkeypatch, 13)
    assert cupy_trouble(13, 0, (PASCAL,)) == (
        "CuPy is built for CUDA 13: CUDA 13 begins at compute capability 7.5, and GTX 1080 has 6.1",
        "pip uninstall cupy-cuda13x, then pip install 'gpuexplorer[cuda12]'",
    )
    assert cupy_trouble(13, 0, (PASCAL, TURING)) is None, "one of them runs"
    assert cupy_trouble(13, 0, (TURING,)) is None
    have_cupy(monkeypatch, 12)
    assert cupy_trouble(13, 0, (PASCAL,)) is None


def test_a_cupy_that_is_there_needs_no_wheel_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """On another processor, or in a newer Python, somebody may have built it."""
    monkeypatch.setattr(
        backend, "this_machine", lambda driver, python: Here("linux", "ppc64le", driver, (3, 15))
    )
    have_cupy(monkeypatch, 12)
    assert cupy_trouble(12, 4, (TURING,)) is None
