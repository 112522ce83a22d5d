"""The self-test in a thread of its own, through an engine of its own; the dialog looks at it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from gpuexplorer.gui.task import Task
from gpuexplorer.selftest.context import SelfTestOptions
from gpuexplorer.selftest.report import CheckResult, SectionResult, SelfTestReport, sum_up
from gpuexplorer.selftest.run import run_selftest


@dataclass
class State:
    """How far a self-test is."""

    sections: list[SectionResult] = field(default_factory=list)
    words: str = "starting an engine"
    failures: list[CheckResult] = field(default_factory=list)

    @property
    def planned(self) -> int:
        """How many checks there are, 0 while that is not known."""
        return sum(s.planned for s in self.sections)

    @property
    def tried(self) -> int:
        """How many checks have come to an end."""
        return sum(s.tried for s in self.sections)


class SelfTestWorker(Task):
    """Runs one self-test; ``state`` may be read at any time. Cancelled, it reports what is done."""

    def __init__(self, options: SelfTestOptions) -> None:
        super().__init__("selftest")
        self.options = options
        self._lock = threading.Lock()
        self._planned: list[SectionResult] = []
        self._done: dict[str, list[CheckResult]] = {}
        self._words = State().words

    @property
    def state(self) -> State:
        """How far it is by now."""
        with self._lock:
            sections = [
                sum_up(s.name, s.title, s.planned, self._done[s.name]) for s in self._planned
            ]
            failures = [c for done in self._done.values() for c in done if c.status == "failed"]
            return State(sections, self._words, failures)

    def work(self) -> SelfTestReport:
        """Run the self-test; in the thread."""
        return run_selftest(self.options, self, self.cancel_event.is_set)

    # ---- told by the self-test, in the thread

    def planned(self, sections: Sequence[SectionResult]) -> None:
        """Take in the sections there will be."""
        with self._lock:
            self._planned = list(sections)
            self._done = {s.name: [] for s in sections}

    def running(self, section: str, name: str) -> None:
        """Take in what is being done."""
        with self._lock:
            self._words = f"{section}: {name}"

    def done(self, result: CheckResult) -> None:
        """Take in what came of a check."""
        with self._lock:
            self._done[result.section].append(result)
