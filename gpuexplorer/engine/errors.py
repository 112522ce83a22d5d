"""What a run's end by an error is to a user: the engine's refusals and its losses as errors."""

from __future__ import annotations

from gpuexplorer.core.errors import (
    BlockTooLarge,
    CannotRunHere,
    ExplorerError,
    InputError,
    MemoryTaken,
    OutOfMemory,
    WorkFailed,
    WrongResult,
)
from gpuexplorer.core.units import quantity
from gpuexplorer.engine import protocol
from gpuexplorer.engine.client import EngineLost

NO_START = "see 'gpuexplorer doctor', or choose another interpreter with --python"


class LongRun(InputError):
    """One launch would take long, which was not agreed to yet."""

    kind = "long-run"

    def __init__(self, predicted_s: float) -> None:
        super().__init__(
            f"one launch would take about {quantity(predicted_s, 's', 2)}",
            remedy="agree to it with --yes, or choose another block or a smaller size",
        )
        self.predicted_s = predicted_s


class EngineKilled(WorkFailed):
    """The engine was ended from outside during a run, which might have succeeded."""

    kind = "lost"


class EngineGone(CannotRunHere):
    """There is no engine any more, and starting one failed too often to try again."""


def error_of_loss(lost: EngineLost) -> ExplorerError:
    """Return the error that a run ends with when its engine is lost.

    An engine that was ended from outside needs no remedy.
    """
    remedy = lost.remedy or (NO_START if lost.kind == "start" else "")
    if not lost.restarting:
        return EngineGone(lost.reason, remedy=remedy, detail=lost.detail)
    if lost.outside:
        return EngineKilled(lost.reason, remedy="run it again", detail=lost.detail)
    return WorkFailed(lost.reason, remedy=remedy, detail=lost.detail)


def error_of(failed: protocol.Failed) -> ExplorerError:
    """Return the error a Failed message stands for."""
    by_kind: dict[str, type[ExplorerError]] = {
        e.kind: e for e in (WrongResult, OutOfMemory, MemoryTaken, BlockTooLarge, EngineKilled)
    }
    by_code: dict[int, type[ExplorerError]] = {2: InputError, 3: CannotRunHere}
    kind = by_kind.get(failed.kind) or by_code.get(failed.exit_code, WorkFailed)
    error = kind(failed.what, remedy=failed.remedy, detail=failed.detail)
    error.add_note(failed.traceback)
    return error


def failed_of(error: ExplorerError) -> protocol.Failed:
    """Return the message that stands for an error, so that it can travel; ``error_of`` reads it."""
    return protocol.Failed(
        generation=0,
        kind=error.kind,
        what=error.what,
        remedy=error.remedy,
        detail=error.detail,
        exit_code=error.exit_code,
    )
