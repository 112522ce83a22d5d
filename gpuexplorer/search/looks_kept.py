"""The looks of a tuning, kept as they are taken, so that it continues after an interruption.

A tuning that begins again with the same options comes to the same configurations. Where it asks for
a look that was taken before, it gets what that brought, and takes what it took then; so budget and
times go on as well. The turns of the final are always taken: only times that stood side by side are
compared, and an interruption is no side. What the machine has become meanwhile is judged as always,
by looks at the best in between.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

import msgspec

from gpuexplorer.core.errors import CannotRunHere
from gpuexplorer.engine import protocol
from gpuexplorer.engine.errors import error_of, failed_of
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.sampled import Sampled
from gpuexplorer.exchange.files import atomic_file
from gpuexplorer.search.outcome import passes
from gpuexplorer.search.runner import Phase
from gpuexplorer.search.several import Brought, LookTask


class KeptLook(msgspec.Struct, frozen=True, kw_only=True):
    """One look in a file."""

    config: str
    """The key of its configuration."""
    phase: Phase
    sampled: Sampled | None = None
    failed: protocol.Failed | None = None
    seconds: float


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(KeptLook).decode


class KeptLooks:
    """The looks below a folder, a file each: those of before, and those that are added."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Read those of before; what cannot be read is measured again."""
        folder.mkdir(exist_ok=True)
        self._folder, self._clock = folder, clock
        self._before: dict[tuple[str, Phase], deque[KeptLook]] = {}
        self._number = 0
        self._spent_s = 0.0
        self.reused: set[str] = set()
        """The ids of the records that looks of before became."""
        for path in sorted(path for path in folder.iterdir() if path.name.isdigit()):
            self._number = int(path.name) + 1
            try:
                look = _decode(path.read_bytes())
            except msgspec.DecodeError:
                continue
            self._before.setdefault((look.config, look.phase), deque()).append(look)

    def now_s(self) -> float:
        """Return the time of a clock for which looks of before took what they took then."""
        return self._clock() + self._spent_s

    def take(self, task: LookTask, measure: Callable[[], Brought]) -> Brought:
        """Return what a look brought before, or have it measured and keep that."""
        if task.look.phase == "turns":
            return measure()
        before = self._before.get((task.config.key, task.look.phase))
        if before:
            look = before.popleft()
            self._spent_s += look.seconds
            if look.sampled is None:
                assert look.failed is not None
                return error_of(look.failed)
            record = look.sampled.record()
            self.reused.add(record.id)
            return record
        began = self._clock()
        outcome = measure()
        self._keep(task, outcome, self._clock() - began)
        return outcome

    def _keep(self, task: LookTask, outcome: Brought, seconds: float) -> None:
        if isinstance(outcome, RunRecord):
            sampled, failed = Sampled.of(outcome), None
        elif passes(outcome) or isinstance(outcome, CannotRunHere):
            return  # it says nothing of the configuration
        else:
            sampled, failed = None, failed_of(outcome)
        look = KeptLook(
            config=task.config.key, phase=task.look.phase, sampled=sampled, failed=failed,
            seconds=seconds,
        )  # fmt: skip
        with atomic_file(self._folder / f"{self._number:06d}") as stream:
            stream.write(_encode(look))
        self._number += 1
