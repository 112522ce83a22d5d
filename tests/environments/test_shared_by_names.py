"""What several engines' names lead to is not removed with one of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuexplorer.cli import main
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.engine.interpreters import Interpreters
from gpuexplorer.engine.machine import Machine
from gpuexplorer.environments import far
from gpuexplorer.environments.far_talk import Answer
from gpuexplorer.environments.journal import Journal, Managed
from gpuexplorer.environments.managed import remove

HOME = "/home/me/.local/share/gpuexplorer"
CPU, CUDA, OWN = f"{HOME}/far/cpu/bin/python", f"{HOME}/far/cuda12/bin/python", "/usr/bin/python3"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Answer]:
    """What the other machine was asked to delete."""
    found: list[Answer] = []

    def request(machine: Machine, python: str, wanted: Answer, *_: object) -> Answer:
        found.append(wanted)
        return {"freed_B": 3_000_000}

    monkeypatch.setattr(far, "request", request)
    monkeypatch.setattr(far, "find_python", lambda *_: (OWN, "3.12"))
    return found


def test_two_names_for_one_environment_there_share_it_until_the_last_is_removed(
    asked: list[Answer], capsys: pytest.CaptureFixture[str]
) -> None:
    """Removing one deleted what the other measured with."""
    for name, user in (("first", "me@"), ("second", "")):
        far.add(name, Machine.read(f"ssh://{user}box{CPU}"))
    assert main(["engines", "remove", "first"]) == 0
    assert not asked
    assert capsys.readouterr().err == (
        "gpuexplorer: forgot 'first'; what was set up on box stays for 'second'\n"
    )
    assert main(["engines", "remove", "second"]) == 0
    (wanted,) = asked
    assert "~/.local/share/gpuexplorer/far/cpu" in wanted["folders"] and wanted["with_the_last"]
    assert "removed 'second' and freed 3.00 MB on box\n" in capsys.readouterr().err


@pytest.mark.parametrize("other", [CUDA, OWN])
def test_the_program_there_stays_for_another_engine(
    other: str, asked: list[Answer], capsys: pytest.CaptureFixture[str]
) -> None:
    """An engine in a Python of that machine's own lost it with the last environment."""
    far.add("mine", Machine.read(f"ssh://box{CPU}"))
    far.add("other", Machine.read(f"ssh://box{other}"))
    assert main(["engines", "remove", "mine"]) == 0
    (wanted,) = asked
    assert "~/.local/share/gpuexplorer/far/cpu" in wanted["folders"]
    assert wanted["with_the_last"] == []
    assert "freed 3.00 MB on box; the rest stays for 'other'\n" in capsys.readouterr().err


@pytest.mark.parametrize("other", ["ssh://bigger", "ssh://you@box", "ssh://me@box:2222"])
def test_engines_of_another_machine_keep_nothing(other: str, asked: list[Answer]) -> None:
    mine = Machine.read(f"ssh://me@box:22{CPU}")
    far.add("mine", mine)
    far.add("other", Machine.read(f"{other}{CPU}"))
    assert far.remove("mine", mine) == far.Removed(3_000_000)


def test_an_environment_here_that_has_another_name_as_well_is_not_deleted(place: Path) -> None:
    folder = place / "mine"
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    made = Managed(name="mine", kind="cpu", title="", path=str(folder), ready=True)
    Journal(step="ready", key="", environment=made).write()
    for name in ("mine", "other"):
        Interpreters().add(name, str(python))
    with pytest.raises(WorkFailed, match="that of 'other' as well; remove 'other' first"):
        remove("mine")
    assert python.exists() and set(Interpreters().read().engines) == {"mine", "other"}
    Interpreters().remove("other")
    remove("mine")
    assert not folder.exists() and not Interpreters().read().engines
