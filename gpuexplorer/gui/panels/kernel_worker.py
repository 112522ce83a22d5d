"""The Kernel view's thread: it asks the compiler's process, and keeps what it said."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import Signal

from gpuexplorer.analysis.static import CompileRequest, KernelAnalysis, KernelFigures
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.errors import Cancelled, CannotRunHere, ExplorerError, without_frames
from gpuexplorer.engine.compiler import Compiler
from gpuexplorer.engine.variant_on import VariantOn, request_key
from gpuexplorer.gui.task import Task, outcome_of
from gpuexplorer.workloads.workload import Workload

if TYPE_CHECKING:
    from gpuexplorer.analysis.listing import KernelListing

SETTLE_S = 0.15
"""Nothing is compiled before the knobs have rested for so long."""
KEPT = 512
"""Compiled sources whose figures are kept."""
LISTED = 2
"""Compiled sources whose instructions are kept, thousands of rows each: one, and one beside it."""


Kept = OrderedDict[bytes, Sequence[KernelFigures]]
"""What was compiled, by ``request_key``; what was wanted last comes last."""


class Beside(msgspec.Struct, frozen=True):
    """What stands beside: another architecture, variant or version of the source."""

    workload: Workload
    request: RunRequest
    arch: str
    title: str = ""
    """What tells it from what it stands beside; empty for an architecture, which tells itself."""


class Question(msgspec.Struct, frozen=True):
    """What is to be analysed: a variant as the knobs say, on one architecture."""

    ticket: int
    workload: Workload
    request: RunRequest
    arch: str
    python: str | None
    listed: bool = False
    """Whether the instructions are wanted, too."""
    beside: Beside | None = None
    """What else the instructions are wanted of."""


class Answer(msgspec.Struct, frozen=True):
    """What is known of a variant's launches, in order."""

    kernels: list[KernelAnalysis]
    listings: list[KernelListing] | ExplorerError = msgspec.field(default_factory=list)
    """Their instructions, or why there are none; empty where they were not asked for."""
    beside: list[KernelListing] | ExplorerError = msgspec.field(default_factory=list)
    """Those of what stands beside, or why there are none."""


class KernelWorker(Task):
    """Answers the latest question; an older one's compilation is ended.

    ``compiling`` carries the ticket of a question that needs the compiler, ``answered`` a ticket
    with its ``Answer``, or with the ExplorerError that says why there is none.
    """

    compiling = Signal(object)
    answered = Signal(object, object)

    def __init__(self) -> None:
        super().__init__("kernel-analysis")
        self._changed = threading.Condition()
        self._question: Question | None = None
        self._asked = 0
        """Counts questions and drops; whatever was begun at another count is outdated."""
        self._compiler: Compiler | None = None
        self._known: Kept = OrderedDict()
        self._listed: Kept = OrderedDict()
        """As ``_known``, with instructions."""
        self._refused: dict[bytes, ExplorerError] = {}
        self._unable: dict[tuple[str | None, bool], CannotRunHere] = {}
        """By Python, and whether it was to list instructions."""

    # ---- asked by the window

    def ask(self, question: Question) -> None:
        """Answer this question instead of any before; starts the thread at the first one."""
        with self._changed:
            if self.cancelled:
                return
            self._question = question
            self._give_up()
        if not self.isRunning():
            self.start()

    def drop(self) -> None:
        """Answer nothing more until asked again: the view is hidden."""
        with self._changed:
            self._question = None
            self._give_up()

    def forget_failures(self) -> None:
        """Try again what failed: something may have been installed since."""
        with self._changed:
            self._refused.clear()
            self._unable.clear()

    def close(self) -> None:
        """End the thread and whatever it waits for."""
        with self._changed:
            self.cancel()
            self._give_up()
        self.wait()

    def _give_up(self) -> None:
        self._asked += 1
        if self._compiler is not None:
            self._compiler.cancel()
        self._changed.notify_all()

    # ---- in the thread

    def work(self) -> None:
        """Answer questions until closed."""
        while (found := self._next()) is not None:
            answer = outcome_of("the kernel's analysis", partial(self._answer, *found))
            if answer is not None:  # else another question came
                self.answered.emit(found[0].ticket, answer)

    def _next(self) -> tuple[Question, int] | None:
        with self._changed:
            self._changed.wait_for(lambda: self.cancelled or self._question is not None)
            question, self._question = self._question, None
            return None if self.cancelled or question is None else (question, self._asked)

    def _answer(self, question: Question, asked: int) -> object:
        on = VariantOn(question.workload, question.request, question.arch)
        self._know(question, asked, on.requests(), self._known, KEPT)
        kernels = on.describe(self._known)
        if not question.listed:
            return Answer(kernels)
        try:
            listings = self._listings(question, asked, on)
        except ExplorerError as error:
            return Answer(kernels, without_frames(error))
        its = question.beside
        if its is None:
            return Answer(kernels, listings)
        try:
            other = VariantOn(its.workload, its.request, its.arch)
            return Answer(kernels, listings, self._listings(question, asked, other))
        except ExplorerError as error:
            return Answer(kernels, listings, without_frames(error))

    def _listings(self, question: Question, asked: int, on: VariantOn) -> list[KernelListing]:
        self._know(question, asked, on.listing_requests(), self._listed, LISTED)
        return on.listings(self._listed)

    def _know(
        self,
        question: Question,
        asked: int,
        requests: Sequence[CompileRequest],
        known: Kept,
        most: int,
    ) -> None:
        """Have everything compiled that is not known yet; ``most`` are kept, or all of these."""
        needed = {request_key(r): r for r in requests}
        missing = {key: r for key, r in needed.items() if key not in known}
        if missing:
            known.update(self._compile(question, asked, missing))
        for key in needed:
            known.move_to_end(key)
        while len(known) > max(most, len(needed)):
            known.popitem(last=False)

    def _compile(
        self, question: Question, asked: int, missing: dict[bytes, CompileRequest]
    ) -> dict[bytes, list[KernelFigures]]:
        """Have everything that is missing compiled; raises what the compiler refuses."""
        listed = any(request.listed for request in missing.values())
        with self._changed:
            failed = [self._refused[key] for key in missing if key in self._refused]
            # An engine of frameworks may have no compiler, and the window's own Python has one.
            pythons = [
                p for p in dict.fromkeys((question.python, None)) if (p, listed) not in self._unable
            ]
            if not pythons:
                failed.append(self._unable[question.python, listed])
            if failed:
                raise failed[0].with_traceback(None)  # else it gathers the frames of each time
            if self._changed.wait_for(lambda: self._asked != asked, SETTLE_S):
                raise Cancelled
        self.compiling.emit(question.ticket)
        for python in pythons:
            try:
                compiled = self._figures(python, asked, list(missing.values()))
                break
            except CannotRunHere as error:
                self._unable[python, listed] = without_frames(error)
                if python == pythons[-1]:
                    raise self._unable[question.python, listed].with_traceback(None) from None
            except ExplorerError as error:
                if len(self._refused) >= KEPT:
                    self._refused.clear()
                self._refused |= dict.fromkeys(missing, error)
                raise
        return dict(zip(missing, compiled, strict=True))

    def _figures(
        self, python: str | None, asked: int, requests: list[CompileRequest]
    ) -> list[list[KernelFigures]]:
        """Have a Python's compiler answer; Cancelled as soon as something else is asked."""
        with self._changed:
            if self._asked != asked:
                raise Cancelled
            compiler = self._compiler = Compiler(python)
        try:
            return compiler.figures(requests)
        finally:
            with self._changed:
                self._compiler = None
