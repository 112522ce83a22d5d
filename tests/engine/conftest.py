"""Engines as they are started for users: whatever their start does is tested here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpuexplorer.engine import process
from gpuexplorer.engine.client import EngineOptions
from tests.support.forks import begin_anew
from tests.support.watched import Watched


@pytest.fixture(autouse=True)
def engines_are_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start each engine as a process with a Python of its own."""
    monkeypatch.setattr(process, "begin", begin_anew)


@pytest.fixture
def watched() -> Iterator[Watched]:
    one = Watched()
    yield one
    one.engine.close()


@pytest.fixture
def on_one_core() -> Iterator[Watched]:
    """An engine that leaves the other cores to other tests, where a launch lasts for long."""
    one = Watched(EngineOptions(threads=1))
    yield one
    one.engine.close()
