"""Tunings in the store: the runs as they are made, the document, and what was found, for later."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.tuning import Tuning
from gpuexplorer.history.keeping import DoesWithStore, Keeping, TakesRun
from gpuexplorer.history.store import Store, TunedEntry
from gpuexplorer.search.tune import Tuner
from gpuexplorer.workloads.workload import Workload

KIND = "tuning"
WRITE_EVERY_S = 1.0
"""Runs are written together, because a transaction costs as much as a run."""


class TuningKeeper:
    """Keeps one tuning in a group of a store, and what it found for later.

    Without a store it keeps nothing. ``history.keeping`` says what comes of a store that fails.
    """

    def __init__(
        self,
        store: DoesWithStore | None,
        on_trouble: Callable[[ExplorerError], object],
        group: str | None = None,
        rescue: TakesRun | None = None,
    ) -> None:
        """``group`` is the id of the one that takes it; None: a new one.

        ``rescue`` takes runs that the store refuses until the end.
        """
        self._keeping = Keeping(
            KIND, store, on_trouble, group=group, rescue=rescue, every_s=WRITE_EVERY_S
        )
        self.found = False
        """Whether something was found and is stored."""

    @property
    def group(self) -> str | None:
        """Its id in the store; None until the store has it."""
        return self._keeping.group

    @property
    def recovered(self) -> bool:
        """Whether the store has taken at the end all that it refused."""
        return self._keeping.recovered

    def run(self, tuner: Tuner) -> Tuning:
        """Tune, and keep what is tried as it comes; see ``Tuner.run`` for what it raises."""
        self.begin(tuner.so_far())
        tuner.on_result = self.keep
        try:
            tuning = tuner.run()
        except BaseException:
            self.finish(tuner.so_far())
            raise
        self.finish(tuning)
        return tuning

    def begin(self, asked: Tuning) -> None:
        """Enter the tuning with what it was asked for: its document with nothing tried yet."""
        self._keeping.take(msgspec.to_builtins(asked))

    def keep(self, result: RunResult) -> None:
        """Store a run, with those that came in the last second."""
        self._keeping.take(runs=[result])

    def finish(self, tuning: Tuning) -> bool:
        """Store the document and what was found; return ``found``, as far as it is known."""
        also = partial(self._save, tuning=tuning) if tuning.chosen is not None else None
        self._keeping.end(msgspec.to_builtins(tuning), also=also)
        return self.found

    def _save(self, store: Store, tuning: Tuning) -> None:
        for entry in entries_of(tuning, self._keeping.group):
            store.save_tuned(entry)
            self.found = True


def entries_of(tuning: Tuning, group: str | None = None) -> list[TunedEntry]:
    """Return what a tuning found as the store keeps it, for each card that took part."""
    if tuning.device is None:
        return []
    cards = tuning.cards or (tuning.device.hardware_id,)
    made = (_entry(tuning, card, group) for card in cards)
    return [entry for entry in made if entry is not None]


def _entry(tuning: Tuning, card: str, group: str | None) -> TunedEntry | None:
    if tuning.chosen is None:
        return None
    chosen = next(f for f in tuning.finalists if f.config == tuning.chosen)
    return TunedEntry(
        workload_sha256=tuning.source_sha256,
        hardware_id=card,
        config=tuning.chosen,
        median_s=chosen.median_s,
        time_utc=tuning.time_utc,
        method=f"{tuning.sampler}, final in turns",
        evaluations=tuning.count("measured") + tuning.count("pruned"),
        ties=tuple(f.config for f in tuning.tied if f.config != tuning.chosen),
        group=group,
        run_id=chosen.run,
    )


def find_tuned(
    store: Store, config: RunConfig, workload: Workload, device: DeviceInfo
) -> TunedEntry | None:
    """Return what the last tuning of a configuration's problem found on a device's hardware."""
    return store.find_tuned(
        workload.sha256, config.variant, config.size, config.precision, device.hardware_id
    )


def with_tuned(config: RunConfig, entry: TunedEntry) -> RunConfig:
    """Return a configuration with the block and tunables that were found."""
    return msgspec.structs.replace(
        config, block=entry.config.block, grid=None, tunables=entry.config.tunables
    )


def not_tuned(config: RunConfig, device: DeviceInfo, command: str) -> InputError:
    """Return the error that says that nothing was tuned for a problem, and which command does."""
    size = ",".join(f"{symbol}={value}" for symbol, value in config.size.items())
    return InputError(
        f"nothing is tuned for {config.workload}/{config.variant} with {size} in "
        f"{config.precision} on {device.name}, as its sources are now",
        remedy=f"tune it first: {command}",
    )


def other_conditions(config: RunConfig, entry: TunedEntry) -> list[str]:
    """Return in what a configuration differs from the tuned one, which was not tuned for it."""
    tuned, parts = entry.config, []
    if config.threads != tuned.threads:
        parts.append(f"{tuned.threads} CPU threads, not {config.threads}")
    if config.cache != tuned.cache:
        parts.append(f"{tuned.cache} caches, not {config.cache}")
    if config.fill != tuned.fill:
        parts.append(f"{tuned.fill} inputs, not {config.fill}")
    return parts
