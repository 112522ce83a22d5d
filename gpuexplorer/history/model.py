"""What the store of runs is asked and what it answers; nothing here touches a database."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, get_args

import msgspec

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.text import visible
from gpuexplorer.workloads.frameworks import FRAMEWORKS

Sort = Literal[
    "time", "workload", "variant", "size", "block", "precision", "device", "median", "error",
    "flops", "bandwidth", "starred", "note",
]  # fmt: skip
"""What a list of runs may be sorted by."""
SORTS: tuple[str, ...] = get_args(Sort)

Choice = Literal["workload", "variant", "precision", "device", "device_name", "tag"]
"""What a filter may offer the values of."""

_WORDS = (
    "workload", "variant", "size_words", "precision", "device", "device_name", "note",
    "switch_words", "stopped_by", "suspect", "machine", "person",
)  # fmt: skip
"""Fields of a row that are words of its document's or its user's."""

INTERRUPTED = "interrupted"
"""What ended a run whose program was gone before it could finish it."""
MAX_TAG = 60
"""Characters."""
MAX_NOTE = 20_000
"""Characters."""
FOLDED = ("sweep", "block map", "tuning", "comparison", "study")
"""Kinds of groups that are one row of a list in the order of time."""
NO_GROUP = ""
"""As ``Query.group``: the runs that belong to no sweep or tuning."""


CHOOSE_THEIR_OWN = {**FRAMEWORKS, "numpy": "NumPy"}
"""The backends whose devices run no kernels, by the name of who chooses the blocks there."""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs; whatever is None or empty does not matter."""

    text: str = ""
    """Words that all occur in the configuration, the device, the tags or the note."""
    machine: str | None = None
    """The name of the machine that measured it."""
    person: str | None = None
    """The name of the user who measured it."""
    workload: str | None = None
    variant: str | None = None
    device: str | None = None
    """A device's id, its name or its ``hardware_id``."""
    precision: str | None = None
    tag: str | None = None
    starred: bool | None = None
    group: str | None = None
    """A sweep or a tuning by its id; ``NO_GROUP`` for the runs that belong to none."""
    since: datetime | None = None
    deleted: bool = False
    """Whether the deleted runs are meant, in place of all others."""


BEST_RUN = "best_run"
"""What a group's document calls the id of the run that was found best, where it says one."""


class Folded(msgspec.Struct, frozen=True, kw_only=True):
    """What makes a row that of a whole group."""

    kind: str
    """One of ``FOLDED``."""
    runs: int
    """How many of its runs the list is for."""
    finished: bool


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One run in a list: what is shown of it without reading its document.

    Or all runs of a group in one row, with ``folded``; then ``id`` is the group's.
    """

    id: str
    time_utc: str
    workload: str
    variant: str
    size_words: str
    block_words: str
    """Such as ``16×16``; empty for a library or a model, which choose their own."""
    precision: str
    device: str
    device_name: str
    median_s: float | None
    """None while a run is going."""
    relative_error: float | None
    """Half the 95 % interval over the median; None when there were too few samples."""
    flop_per_s: float | None
    bandwidth_B_per_s: float | None
    samples: int
    verified: bool | None
    """None where the program that measured it does not say."""
    suspect: str | None
    """Why the figure is impossible; such a run is never ranked."""
    starred: bool
    tags: tuple[str, ...]
    note: str
    group: str | None
    switch_words: str = ""
    """What is switched otherwise than usual, such as ``compile = default``."""
    machine: str = ""
    """Which machine measured it, in the words by which it is found; empty where nobody said."""
    person: str = ""
    fingerprint: str
    """Equal for runs with the same source, compiler, driver, device and libraries."""
    running: bool
    stopped_by: str
    """What ended it; ``interrupted`` when its program was gone before it could."""
    damaged: str | None = None
    """What cannot be read of this row, which is blank here; None where all can."""
    folded: Folded | None = None

    def __post_init__(self) -> None:
        """Have every word fit to be shown, whatever file the run came from."""
        for name in _WORDS:
            words = getattr(self, name)
            if words and not words.isprintable():
                kept = words if name == "note" else " ".join(words.split("\n"))
                msgspec.structs.force_setattr(self, name, visible(kept))
        if any(not tag.isprintable() for tag in self.tags):
            msgspec.structs.force_setattr(self, "tags", tuple(map(visible, self.tags)))

    @property
    def launch_words(self) -> str:
        """The block; where a framework or a library chooses its own, what is switched, or which."""
        if self.block_words or self.switch_words or not self.variant:
            return self.block_words or self.switch_words
        return CHOOSE_THEIR_OWN.get(self.device.partition(":")[0], "library")


class Timeline(msgspec.Struct, frozen=True):
    """Pages of a list, in which a group is one row where it is in the order of time."""

    state: int
    """That of the store, by ``Store.generation``."""
    pages: dict[int, list[Row]]
    rows: int | None
    """How many rows there are; None, as the number of runs, where the state was known."""
    runs: int | None
    """How many runs they stand for."""
    unfolded: list[tuple[int, list[Row]]]
    """Of each group that is unfolded the place of its row, and the runs below it."""


class Deletion(msgspec.Struct, frozen=True, kw_only=True):
    """What ``Store.delete`` took away and ``Store.undelete`` brings back."""

    token: int
    runs: int


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Runs that belong together: a sweep, a tuning, a comparison."""

    id: str
    kind: str
    """``sweep``, ``tuning``, ``comparison``, ``block-map``, or ``import`` for what a file held."""
    time_utc: str
    document: Any
    """What was asked for, as its maker wrote it; plain JSON values."""
    finished: bool
    runs: int
    """Runs in the store that belong to it, the deleted ones left out."""
    damaged: str | None = None
    """Why its document cannot be read, which is None then; its runs can be all the same."""


ELSEWHERE = "elsewhere"
"""What the document of a file's group calls the ids of its runs that are in another group."""


def said_of(document: Any) -> dict[str, Any]:
    """Return what a group's document says of its runs; of a file's what stood there beside them."""
    own = document if isinstance(document, Mapping) else {}
    return {**own, **(own.get("rest") or {})}


def named_of(document: Any) -> list[str]:
    """Return the ids of runs that a group's document names, whatever group they are in.

    Those are the contestants of a comparison, and of a file's group what was there before.
    """
    said = said_of(document)
    contestants = [one.get("run") for one in said.get("contestants") or () if isinstance(one, dict)]
    return [one for one in (*contestants, *(said.get(ELSEWHERE) or ())) if isinstance(one, str)]


class TunedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The best configuration that a tuning found for one problem on one piece of hardware.

    It is found again by the workload's source, variant, size, precision and hardware; a later
    entry for the same takes its place.
    """

    workload_sha256: str
    hardware_id: str
    config: RunConfig
    median_s: float
    relative_error: float | None = None
    time_utc: str
    method: str = ""
    """How it was found, in words."""
    evaluations: int | None = None
    """Configurations that were measured for it."""
    ties: tuple[RunConfig, ...] = ()
    """Configurations that could not be told from it."""
    group: str | None = None
    run_id: str | None = None
    fingerprint: str = ""
