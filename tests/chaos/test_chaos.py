"""Whatever goes wrong between two steps, nothing that was kept is lost and one sentence is said."""

from __future__ import annotations

import sys

import pytest

from tests.chaos.driver import drive
from tests.chaos.subjects import SUBJECTS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the faults are those of Linux")

SEED = 1
FAULTS = {"terminal": 17, "api": 17, "store": 148, "window": 18}
"""200 in all, and of each kind one at least. A fault takes the store 0.3 s, the API 1 s, the
terminal and the window 1.6 s; ``python -m tests.chaos`` strikes with as many as there is time for.
"""


@pytest.mark.parametrize("only", list(FAULTS))
def test_nothing_is_lost_and_nothing_is_left(only: str) -> None:
    report = drive(only, SUBJECTS[only], seed=SEED, faults=FAULTS[only])
    assert sum(report.faults.values()) == FAULTS[only]
    assert report.kinds == report.faults.keys()
    assert not report.failures, "\n\n".join(
        f"{one['fault']}: {one['wrong']}\nafter {one['last']}\nagain: {one['again']}"
        for one in report.failures
    )
