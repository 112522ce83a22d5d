"""How each configuration of a search is measured."""

from __future__ import annotations

from typing import Any

import msgspec

from gpuexplorer.core.run_options import RunOptions

SAMPLES = 30
"""Enough for an interval of the median from ten stretches of time."""
AT_MOST_S = 5.0
WARM_UP_S = 0.001
"""The device comes from the configuration before and is warm, and the check's launch is one more:
on a CPU medians after 1 ms, 5 ms and none of it are within 1 % of each other."""


class Measuring(RunOptions, frozen=True):
    """The options of every run of a search; those that would take long are skipped."""

    samples: int | None = SAMPLES
    seconds: float | None = AT_MOST_S
    warm_up_s: float | None = WARM_UP_S
    keep_arrays: bool = True

    def document(self) -> dict[str, Any]:
        """Return what a user chose of them: equal documents measure alike."""
        values = msgspec.structs.asdict(self)
        del values["keep_arrays"], values["slower_than_s"]
        return values
