"""An environment that a detached job measures in is neither removed nor made anew meanwhile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("fcntl")

from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.core.locks import FileLock
from gpuexplorer.environments import detached, far_side
from gpuexplorer.environments.detached import Detached
from gpuexplorer.environments.journal import Journal, Managed
from gpuexplorer.environments.managed import remove
from gpuexplorer.search.detached import LOCK


def test_an_environment_here_is_not_removed_under_a_job(place: Path) -> None:
    """It was deleted, and the job failed at its next engine and could not continue."""
    folder = place / "mine"
    folder.mkdir(parents=True)
    made = Managed(name="mine", kind="cpu", title="", path=str(folder), ready=True)
    Journal(step="ready", key="", environment=made).write()
    one = Detached(
        id="badc0de0", title="a sweep", arguments=["sweep"], engine="mine", total=2,
        python=str(folder / "bin" / "python"), created_utc="2026-01-02T03:04:05+00:00",
    )  # fmt: skip
    one.folder.mkdir(parents=True)
    detached.keep_group(one, "a group")  # which writes it down
    with FileLock(one.folder / LOCK) as held:
        assert held.taken
        with pytest.raises(WorkFailed, match="'mine' is in use: job badc0de0 is measured in it"):
            remove("mine")
        assert folder.exists()
    remove("mine")
    assert not folder.exists()


def test_an_environment_on_another_machine_is_not_made_anew_under_a_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An update changed its libraries between two configurations of one sweep."""
    monkeypatch.setattr(far_side, "end_with_input", lambda: None)
    folder, jobs = tmp_path / "far" / "cpu", tmp_path / "jobs"
    python, ready, uv = folder / "bin" / "python", folder / far_side.READY, tmp_path / "uv"
    python.parent.mkdir(parents=True)
    python.touch()
    finished = json.dumps({"kind": "cpu", "asked": [["numpy"], ["numpy==1.0"]]})
    ready.write_text(finished)
    uv.write_text("#!/bin/sh\nexit 0\n")
    uv.chmod(0o755)
    request = {
        "folder": str(folder), "scratch": str(tmp_path / "scratch"), "uv": str(uv),
        "requirements": ["numpy"], "constraints": ["numpy==2.0"], "wheels": "", "index": None,
        "python": "python3", "kind": "cpu", "jobs": str(jobs),
    }  # fmt: skip
    with FileLock(jobs / "badc0de0" / LOCK) as held:
        assert held.taken
        with pytest.raises(ValueError, match="job badc0de0 is being measured there"):
            far_side.make(request)
        assert ready.read_text() == finished
        unchanged = {**request, "constraints": ["numpy==1.0"]}
        far_side.make(unchanged)
        assert json.loads(capsys.readouterr().out.splitlines()[-1])["done"]
    far_side.make(request)
    assert json.loads(ready.read_text())["asked"] == [["numpy"], ["numpy==2.0"]]
