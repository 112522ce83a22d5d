"""Tunings in the store: the runs as they are made, the document, and what was found, for later."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.tuning import Tuning
from gpuexplorer.history.store import Store, TunedEntry
from gpuexplorer.workloads.workload import Workload

KIND = "tuning"
WRITE_EVERY_S = 1.0
TRY_AGAIN_S = 30.0
"""A store that failed is tried again after this long, and once more at the end."""


class TuningKeeper:
    """Keeps one tuning in a group of a store.

    Without a store it keeps nothing. Runs are written together once a second, because a transaction
    costs as much as a run. A store that fails is no reason to stop measuring: ``on_trouble`` is
    told once, and what waits is tried again at the end.
    """

    def __init__(self, store: Store | None, on_trouble: Callable[[ExplorerError], None]) -> None:
        self._store, self._on_trouble = store, on_trouble
        self._asked: Tuning | None = None
        self._group: str | None = None
        self._failed = False
        self._waiting: list[RunResult] = []
        self._due = 0.0

    def begin(self, asked: Tuning) -> None:
        """Enter the tuning with what it was asked for: its document with nothing tried yet."""
        self._asked = asked
        self._write()

    def keep(self, result: RunResult) -> None:
        """Store a run, with those that came in the last second."""
        if self._store is not None:
            self._waiting.append(result)
        if time.monotonic() >= self._due:
            self._write()

    def finish(self, tuning: Tuning) -> bool:
        """Store the document and what was found; return whether it was found and is stored."""
        self._write()
        group, entry = self._group, entry_of(tuning, self._group)
        if group is not None:
            document = msgspec.to_builtins(tuning)
            self._try(lambda store: store.change_group(group, document=document, finished=True))
        return entry is not None and self._try(lambda store: store.save_tuned(entry))

    def _write(self) -> None:
        """Write what waits; what cannot be written is kept for later."""

        def write(store: Store) -> None:
            if self._group is None:
                self._group = store.begin_group(KIND, msgspec.to_builtins(self._asked))
            if self._waiting:
                store.add_all(self._waiting, group=self._group)

        written = self._try(write)
        if written:
            self._waiting = []
        self._due = time.monotonic() + (WRITE_EVERY_S if written else TRY_AGAIN_S)

    def _try(self, write: Callable[[Store], object]) -> bool:
        if self._store is None:
            return False
        try:
            write(self._store)
        except ExplorerError as error:
            if not self._failed:
                self._failed = True
                self._on_trouble(error)
            return False
        return True


def entry_of(tuning: Tuning, group: str | None = None) -> TunedEntry | None:
    """Return what a tuning found as the store keeps it; None when it named nothing."""
    if tuning.chosen is None or tuning.device is None:
        return None
    chosen = next(f for f in tuning.finalists if f.config == tuning.chosen)
    return TunedEntry(
        workload_sha256=tuning.source_sha256,
        hardware_id=tuning.device.hardware_id,
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
