"""Who works on a group of runs that others could go on with: one program at a time."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any, Self

import msgspec

from gpuexplorer.history.processes import number_of, runs, this_host, this_process

FIELD = "holder"
"""Where a group's document says which program works on it; none does without it."""
SILENT_S = 600.0
"""A program that cannot be looked at, on another machine or in another container, is gone after so
long without a sign of life."""
SIGN_EVERY_S = 60.0


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """A program that works on a group, and when it last said so."""

    token: str
    """Tells this work from any other of the same process."""
    host: str
    process: str
    """As ``processes.this_process`` names it."""
    since_utc: str
    seen_utc: str

    @classmethod
    def here(cls) -> Self:
        """Return this process, which begins now."""
        now = _now().isoformat(timespec="seconds")
        return cls(
            token=uuid.uuid4().hex,
            host=this_host(),
            process=this_process(),
            since_utc=now,
            seen_utc=now,
        )

    def seen(self) -> Self:
        """Return the same with a sign of life of now."""
        return msgspec.structs.replace(self, seen_utc=_now().isoformat(timespec="seconds"))

    @property
    def can_be_looked_at(self) -> bool:
        """Whether this machine knows if the process runs."""
        return self.host == this_host() and runs(self.process) is not None

    @property
    def is_there(self) -> bool:
        """Whether the process still runs, or where that cannot be told, whether it did lately."""
        known = runs(self.process) if self.host == this_host() else None
        if known is not None:
            return known
        try:
            silent = _now() - datetime.fromisoformat(self.seen_utc)
            return abs(silent.total_seconds()) < SILENT_S
        except (ValueError, TypeError):  # as another version writes it
            return True

    @property
    def words(self) -> str:
        """Which process it is, and since when it works."""
        return f"process {number_of(self.process)} on {self.host}, since {_local(self.since_utc)}"


def holder_of(document: Any) -> Holder | None:
    """Return which program a group's document says works on it; None for none."""
    try:
        return msgspec.convert(document[FIELD], Holder)
    except (KeyError, TypeError, msgspec.ValidationError):
        return None


def without_holder(document: dict[str, Any]) -> dict[str, Any]:
    """Return a group's document without a program that works on it."""
    return {name: value for name, value in document.items() if name != FIELD}


def _now() -> datetime:
    return datetime.now(UTC)


def _local(time_utc: str) -> str:
    try:
        return f"{datetime.fromisoformat(time_utc).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return time_utc
