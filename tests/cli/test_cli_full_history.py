"""What is said of a history that refuses: that it has what was measured, or that it has not."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from gpuexplorer.cli import compare, main, study, sweep, tune
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.engine.errors import EngineKilled
from gpuexplorer.history.errors import StoreFull
from gpuexplorer.history.store import Store
from tests.search.engine import MadeEngine
from tests.support.problems import device

NOT_KEPT = "not kept in the history: the disk is full"
AFTER_ALL = "the history could be written at the end, and has all of it"
MATMUL = ["matmul", "--variant", "naive", "--device", "opencl:0"]
COMPARE = ["compare", "16x16", "8x8", "--workload", *MATMUL, "--rounds", "6"]
STUDY = ["study", "scaling", *MATMUL, "--size", "64,128", "--rounds", "1", "--samples", "5"]
SWEEP = ["sweep", *MATMUL, "--block-x", "1,2"]
TUNE = ["tune", *MATMUL, "--block-x", "8,16", "--block-y", "4", "--sampler", "grid"]


class Seat(MadeEngine):
    """Stands for an engine, and for what holds several."""

    pid: int | None = None

    def __enter__(self) -> Seat:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()

    def close(self) -> None:
        """Do nothing: it holds nothing."""


class CalledDevices(DeviceList, frozen=True):
    """A list of devices for those who call a session for it, and for those who do not."""

    def __call__(self) -> DeviceList:
        """Return it."""
        return self


def lost(config: RunConfig) -> float:
    """Take no time, but for one block, at which the engine is ended."""
    if config.block is not None and config.block[0] == 2:
        raise EngineKilled("the engine was ended from outside", remedy="run it again")
    return 1e-3


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have everything measured by an engine that is made up."""
    monkeypatch.setenv("GPUEXPLORER_HISTORY_URL", str(tmp_path / "history.db"))

    def opens(launch_s: Callable[[RunConfig], float] | None = None) -> Any:
        seat: Any = Seat(launch_s)
        seat.devices = CalledDevices(devices=(device("opencl:0", threads=1),))
        return seat

    for module in (compare, tune):
        monkeypatch.setattr(module, "open_session", lambda *_: opens())
    monkeypatch.setattr(study, "Several", lambda *_: opens())
    monkeypatch.setattr(sweep, "measuring_on", lambda *_: nullcontext(opens(lost)))
    monkeypatch.setattr("gpuexplorer.history.keeping.SHARE", 0)  # what is offered first is written


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[int], bool]], None]:
    """Return what has the store refuse to be written at some times, counted from 1."""
    write = Store.add_group

    def strike(when: Callable[[int], bool]) -> None:
        tries = 0

        def add_group(self: Store, *asked: Any, **how: Any) -> str:
            nonlocal tries
            tries += 1
            if when(tries):
                raise StoreFull("the disk is full")
            return write(self, *asked, **how)

        monkeypatch.setattr(Store, "add_group", add_group)

    return strike


Full = Callable[[Callable[[int], bool]], None]


@pytest.mark.parametrize("words", [COMPARE, STUDY])
def test_what_was_not_written_at_the_end_is_not_called_kept(
    words: list[str], full: Full, capsys: pytest.CaptureFixture[str]
) -> None:
    full(lambda tries: tries > 1)
    assert main(words) == 0
    said = capsys.readouterr().err
    assert NOT_KEPT in said and "kept as" not in said and AFTER_ALL not in said


@pytest.mark.parametrize("words", [COMPARE, STUDY, SWEEP, TUNE])
def test_a_history_that_was_full_for_a_moment_is_said_to_have_it_after_all(
    words: list[str], full: Full, capsys: pytest.CaptureFixture[str]
) -> None:
    full(lambda tries: tries == 1)
    main(words)
    said = capsys.readouterr().err
    assert "the disk is full" in said
    assert AFTER_ALL in said


def test_a_sweep_of_which_nothing_is_stored_names_no_command_to_continue_it(
    full: Full, capsys: pytest.CaptureFixture[str]
) -> None:
    full(lambda tries: True)
    assert main(SWEEP) == 1
    said = capsys.readouterr().err
    assert "1 configuration was lost" in said and NOT_KEPT in said
    assert "--resume" not in said


def test_a_sweep_that_is_stored_names_the_command_that_continues_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(SWEEP) == 1
    said = capsys.readouterr().err
    assert "1 configuration was lost" in said and "--resume" in said
    assert AFTER_ALL not in said
