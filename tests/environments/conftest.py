"""What the tests of environments share: a place of their own, wheels, and a kind that is small."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from gpuexplorer.calibration.store import ENVIRONMENT_VARIABLE
from gpuexplorer.core.bootstrap import REQUIRED
from gpuexplorer.engine.interpreters import CONFIG_VARIABLE
from gpuexplorer.environments.kinds import Kind
from gpuexplorer.environments.pythons import FoundPython, look_at
from tests.support.wheels import repack, write_sums


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder and settings of the test's own, and no configuration of pip's."""
    for name in list(os.environ):
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/")  # where nobody listens
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    data = tmp_path / "data"
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(data))
    monkeypatch.setenv(CONFIG_VARIABLE, str(tmp_path / "settings"))
    return data / "engines"


@pytest.fixture(scope="session")
def python() -> FoundPython:
    """The Python that runs the tests."""
    return look_at(sys.executable)


@pytest.fixture(scope="session")
def engine_wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what an engine needs, made of what is installed here."""
    folder = tmp_path_factory.mktemp("engine wheels")
    repack(folder, REQUIRED)
    write_sums(folder)
    return folder


@pytest.fixture(scope="session")
def engine_kind() -> Kind:
    """An environment with what an engine needs, and nothing else."""
    return Kind(
        name="small",
        title="An engine alone",
        teaches="Runs NumPy on the processor.",
        requirements=tuple(f"{name}>={oldest}" for name, oldest in REQUIRED.items()),
    )
