"""Whatever goes wrong between two steps, nothing that was kept is lost and one sentence is said."""

from __future__ import annotations

import sys

import pytest

from tests.chaos.driver import drive
from tests.chaos.faults import FAULTS
from tests.chaos.monkey import never_ask_for_files
from tests.chaos.subjects import SUBJECTS
from tests.chaos.window import X_GONE
from tests.support.crossed import crossed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the faults are those of Linux")

SEED = 1
KINDS = [fault.name for fault in FAULTS if not fault.slow]
ON_THE_STORE = 30
"""A fault takes the store 0.3 s, the API 1 s, the terminal and the window 1.6 s; ``python -m
tests.chaos`` strikes with as many as there is time for.
"""


@pytest.mark.parametrize(("only", "turn"), crossed(["terminal", "api", "window"], range(3)))
def test_every_fault_strikes_somebody_and_nothing_is_lost_or_left(only: str, turn: int) -> None:
    strike(only, [*KINDS[turn::3], *([X_GONE] if only == "window" else [])])


def test_nothing_is_lost_in_the_store() -> None:
    strike("store", [], ON_THE_STORE)


def strike(only: str, names: list[str], faults: int | None = None) -> None:
    """Strike with so many faults of these names, or of all, or with one of each name."""
    number = len(names) if faults is None else faults
    report = drive(only, SUBJECTS[only], seed=SEED, faults=number, names=tuple(names))
    assert sum(report.faults.values()) == number
    assert report.kinds == report.faults.keys()
    assert not report.failures, "\n\n".join(
        f"{one['fault']}: {one['wrong']}\nafter {one['last']}\nagain: {one['again']}"
        for one in report.failures
    )


def test_the_monkey_meets_no_dialog_that_could_delete_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever asks for a file or a folder, of Qt's own dialog, is cancelled at once."""
    pytest.importorskip("PySide6.QtWidgets")
    from PySide6.QtWidgets import QFileDialog

    for name in (asking := [name for name in dir(QFileDialog) if name.startswith("get")]):
        monkeypatch.setattr(QFileDialog, name, getattr(QFileDialog, name))
    never_ask_for_files()
    assert "getExistingDirectory" in asking
    for name in asking:  # one that still opened would wait for a user
        answer = getattr(QFileDialog, name)(None, "Open")
        assert not (answer if isinstance(answer, str) else any(answer)), name
