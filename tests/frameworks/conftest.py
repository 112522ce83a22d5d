"""Tests of TensorFlow, Keras, JAX and PyTorch together, in the environment of `make frameworks`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuexplorer.engine.session import EngineSession

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / ".venv-frameworks"
PYTHON = ENVIRONMENT / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
STAMP = ENVIRONMENT / "setup.stamp"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave these tests out where nobody built the environment, and say how to."""
    if STAMP.exists():
        return
    reason = f"there is no {ENVIRONMENT.name}: 'make frameworks' builds it"
    here = Path(__file__).parent
    for item in items:
        if item.path.parent == here:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def python() -> str:
    """The interpreter that has the frameworks."""
    return str(PYTHON)


@pytest.fixture(scope="session")
def session(python: str) -> Iterator[EngineSession]:
    """One engine for all, in which every framework is imported once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("KERAS_BACKEND", raising=False)
        with EngineSession(python=python, threads=1) as opened:
            yield opened
