"""A check that is still to be made, and what it may answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from gpuexplorer.core.device import Unavailable
from gpuexplorer.selftest.report import CheckResult, SectionResult


class Skipped(Exception):
    """The check does not apply here; the text says why, ``missing`` which framework it lacks."""

    def __init__(self, reason: str, *, missing: Unavailable | None = None) -> None:
        super().__init__(reason)
        self.missing = missing


class Interrupted(Exception):
    """The user wants the self-test to stop."""


class Found(msgspec.Struct, frozen=True):
    """What a check that passed has seen: a few words, and its figures by name."""

    words: str
    figures: dict[str, float | str | None] = msgspec.field(default_factory=dict)


class Task(msgspec.Struct, frozen=True):
    """One check; ``do`` raises Skipped or, when it fails, an ExplorerError that says why."""

    name: str
    do: Callable[[], Found]
    command: str


class Watcher(Protocol):
    """Follows a self-test; every call comes from the thread that runs it."""

    def planned(self, sections: Sequence[SectionResult]) -> None:
        """Say which sections there will be, with nothing but their numbers of checks."""

    def running(self, section: str, name: str) -> None:
        """Say which check begins, or what a long one is doing."""

    def done(self, result: CheckResult) -> None:
        """Say what came of a check."""
