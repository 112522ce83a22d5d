"""What all studies share: how long they measure, how they tell how far they are, how they stop."""

from __future__ import annotations

import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

import msgspec

from gpuexplorer.core.errors import Cancelled as GivenUp
from gpuexplorer.core.studies import Study, StudyEnd
from gpuexplorer.core.units import plural
from gpuexplorer.engine.interleave import ROUNDS, Measures

SECONDS = 0.6
"""What a configuration is sampled for, over all its turns."""
EACH_S = {"kernel": 0.06, "model": 0.25}
"""What a turn takes beside its samples, before anything was measured."""
S = TypeVar("S", bound=Study)


class Cancelled(Exception):
    """The study was asked to stop."""


class How(msgspec.Struct, frozen=True):
    """How each configuration of a study is measured.

    In ``rounds`` turns, ``seconds`` of samples over all of them together, and no more than
    ``samples`` launches where that is given. Where a round takes long besides its samples,
    fewer are made, unless the number is to be ``exact``. ``allow_long`` agrees to launches above
    two seconds, which have no figure otherwise. ``seed`` decides the order within each round.
    """

    rounds: int = ROUNDS
    seconds: float = SECONDS
    samples: int | None = None
    allow_long: bool = False
    seed: int | None = None
    exact: bool = False


class StudyStep(msgspec.Struct, frozen=True):
    """How far a study is: runs done and to be done, as far as known, and what comes now."""

    done: int
    total: int
    words: str


class Running(ABC, Generic[S]):
    """A study that can be looked at before it runs, run once, and stopped."""

    def __init__(self, how: How | None) -> None:
        self.how = how or How()
        self.id = uuid.uuid4().hex
        self.time_utc = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._stop = threading.Event()
        self._ended = False
        self._stopped_by: StudyEnd = "user"
        self._done = self._total = 0
        self._on_step: Callable[[StudyStep], None] | None = None

    def cancel(self) -> None:
        """Stop before the next run; ``run`` then returns what there is."""
        self._stop.set()

    def run(self, session: Measures, on_step: Callable[[StudyStep], None] | None = None) -> S:
        """Measure everything and return the document.

        What fails by itself has its reason in the document. Raises ExplorerError when nothing can
        be said without what failed, EngineGone when there is no engine any more, and lets through
        what is no ExplorerError, such as KeyboardInterrupt; ``document`` has what was done.
        """
        self._on_step = on_step
        try:
            self._measure(session)
            self._stopped_by = "done"
        except Cancelled:
            pass  # what there is, is the answer
        except GivenUp:
            raise
        except Exception:
            self._stopped_by = "error"
            raise
        finally:
            self._ended = True
        return self.document()

    @property
    @abstractmethod
    def configurations(self) -> int:
        """How many configurations are measured, as far as that is known before it runs."""

    @property
    @abstractmethod
    def total(self) -> str:
        """What will be measured, in a sentence."""

    compiles = False
    """Whether a model is compiled anew for some of them."""

    def estimate_s(self, *, model: bool) -> float:
        """Return about how long it takes, in seconds; compiling is not in it."""
        each_s = EACH_S["model" if model else "kernel"]
        return self.configurations * (self.how.seconds + (1 + self.how.rounds) * each_s)

    @abstractmethod
    def document(self) -> S:
        """Return the document of what is measured so far."""

    @abstractmethod
    def _measure(self, session: Measures) -> None:
        """Measure; call ``_step`` before every run."""

    @property
    def _missing(self) -> str:
        """Why something that nothing speaks against has no figure."""
        if not self._ended:
            return "not measured yet"
        error = self._stopped_by == "error"
        return "an error ended it before" if error else "it was stopped before"

    def _head(self, title: str, rounds: int) -> dict[str, Any]:
        """Return what every document has."""
        return {
            "id": self.id, "time_utc": self.time_utc, "title": title, "rounds": rounds,
            "stopped_by": self._stopped_by,
        }  # fmt: skip

    def _expect(self, runs: int) -> None:
        """Count in runs that are to come; negative for some that are not any more."""
        self._total += runs

    def _step(self, words: str) -> None:
        """Tell what comes now; raises Cancelled when nothing more should."""
        if self._stop.is_set():
            raise Cancelled
        if self._on_step is not None:
            self._on_step(StudyStep(self._done, max(self._total, self._done + 1), words))
        self._done += 1


def turns_words(rounds: int, *, fewer: bool = False) -> str:
    """Return how a study measured; ``fewer``: in less rounds than usual, for they took long."""
    sentences = [
        plural(
            rounds,
            "Measured in {number} turn each, in one session, in an order that chance decided.",
            "Measured in {number} turns each, in one session, in an order that chance decided.",
        )
    ]
    if fewer:
        sentences.append("Each round takes long besides its samples, so there are fewer of them.")
    return " ".join(sentences)
