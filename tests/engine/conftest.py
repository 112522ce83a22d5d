"""Engines as they are started for users: whatever their start does is tested here."""

from __future__ import annotations

import pytest

from gpuexplorer.engine import process
from tests.support.forks import begin_anew


@pytest.fixture(autouse=True)
def engines_are_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start each engine as a process with a Python of its own."""
    monkeypatch.setattr(process, "begin", begin_anew)
