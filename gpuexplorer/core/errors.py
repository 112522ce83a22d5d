"""The errors a user may see: one sentence each, with the exit code the command line ends with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from gpuexplorer.core.config import RunConfig


class ExplorerError(Exception):
    """Something the user should be told in one sentence: what is wrong, where, what to do."""

    exit_code = 1
    kind = "failed"

    def __init__(self, what: str, *, remedy: str = "", detail: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy
        self.detail = detail
        """Further lines worth showing below the sentence, such as a compiler's log."""
        self.partial: Any = None
        """Of a call of the Python API that it ended: the document of what was measured by then."""
        self.config: RunConfig | None = None
        """The configuration that was measured when it happened, where there was one."""

    def __str__(self) -> str:
        return f"{self.what}; {self.remedy}" if self.remedy else self.what


class Cancelled(Exception):
    """The work was given up on request: it has no outcome, and nothing went wrong."""


class WorkFailed(ExplorerError):
    """The work was tried and failed (exit code 1)."""


class WrongResult(WorkFailed):
    """The kernel ran and its result is wrong (exit code 1)."""

    kind = "wrong-result"


class OutOfMemory(WorkFailed):
    """The memory ran out although it was predicted to do (exit code 1); the next run is free."""

    kind = "out-of-memory"


class DeviceLost(WorkFailed):
    """An error that poisons the device's context: the engine must start afresh."""

    kind = "device-lost"


class InputError(ExplorerError):
    """The request itself is wrong (exit code 2)."""

    exit_code = 2
    kind = "input"


class BlockTooLarge(InputError):
    """What was compiled takes more of a multiprocessor than a block of it can have (exit code 2).

    Nothing but the compiled kernel tells that: its registers, and its static shared memory.
    """

    kind = "block-too-large"


class MemoryTaken(InputError):
    """What the device could hold does not fit beside what is in its memory now (exit code 2)."""

    kind = "memory-taken"


class CannotRunHere(ExplorerError):
    """Nothing on this machine can run the request (exit code 3)."""

    exit_code = 3
    kind = "cannot-run-here"


E = TypeVar("E", bound=ExplorerError)


def without_frames(error: E) -> E:
    """Return an error to be kept, without the frames that it and its causes came through.

    They hold what was worked on; and each time that the error is raised again they are more.
    """
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            one.__traceback__ = None
            waiting += (one.__cause__, one.__context__)
    return error
