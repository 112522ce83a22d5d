"""What a detached search has measured, in the place of an engine that would measure it."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import msgspec

from gpuexplorer.core.closing import Closing
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.errors import error_of
from gpuexplorer.search.detached import Outcome, Work
from gpuexplorer.search.sweep import News
from gpuexplorer.workloads.workload import Workload


class Collected(Closing):
    """Tells what came of each configuration; a ``Spreads`` of ``search.sweep``.

    One that was not measured yet goes on waiting.
    """

    lanes = 1

    def __init__(self, work: Work, outcomes: Sequence[Outcome]) -> None:
        self.devices = work.devices
        self._outcomes = {_key(one.config): one for one in outcomes}

    def close(self) -> None:
        """Do nothing: it holds nothing."""

    def spread(
        self, configs: Sequence[RunConfig], workload: Workload, options: RunOptions
    ) -> Generator[News | None]:
        """Yield what came of each that was measured."""
        for index, config in enumerate(configs):
            one = self._outcomes.get(_key(config))
            if one is not None:
                error = error_of(one.failed) if one.failed is not None else None
                yield News(index, one.result, error, one.seconds)


def _key(config: RunConfig) -> bytes:
    return msgspec.msgpack.encode(config, order="deterministic")
