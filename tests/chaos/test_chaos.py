"""Whatever goes wrong between two steps, nothing that was kept is lost and one sentence is said."""

from __future__ import annotations

import sys

import pytest

from tests.chaos.driver import drive
from tests.chaos.subjects import SUBJECTS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the faults are those of Linux")

SEED = 1
FAULTS = {"terminal": 20, "api": 28, "store": 116, "window": 36}
"""About 200 in all; ``python -m tests.chaos`` strikes with as many as there is time for."""


@pytest.mark.parametrize("only", list(FAULTS))
def test_nothing_is_lost_and_nothing_is_left(only: str) -> None:
    report = drive(only, SUBJECTS[only], seed=SEED, faults=FAULTS[only])
    assert sum(report.faults.values()) == FAULTS[only]
    assert not report.failures, "\n\n".join(
        f"{one['fault']}: {one['wrong']}\nafter {one['last']}\nagain: {one['again']}"
        for one in report.failures
    )
