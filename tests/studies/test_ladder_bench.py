"""The benchmark of the ladder prints what was measured, and no figure of what was not."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[1] / "bench" / "ladder.py"


def ladder(flop_per_s: float | None) -> dict[str, Any]:
    step = {"time_s": 2e-3, "flop_per_s": flop_per_s, "bandwidth_B_per_s": 16e9}
    return {
        "workload": "transpose", "size": {"N": 2048}, "precision": "fp32", "threads": 1,
        "steps": {"streamed": step},
    }  # fmt: skip


@pytest.mark.parametrize(("flop_per_s", "rates"), [(None, 0), (0.0, 0), (3e9, 1)])
def test_what_computes_nothing_has_no_rate_of_operations(
    flop_per_s: float | None, rates: int, capsys: pytest.CaptureFixture[str]
) -> None:
    runpy.run_path(str(BENCH))["show"](ladder(flop_per_s))
    shown = capsys.readouterr().err
    assert shown.count("FLOP/s") == rates
    assert "16 GB/s" in shown.replace("\u202f", " ").replace("\xa0", " ").replace("16.0", "16")
