"""The first questions of a new user: each sets the bench up, measures, and has an answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import msgspec
from PySide6.QtWidgets import QWidget

from gpuexplorer.charts.words import block_words
from gpuexplorer.core.compared import ComparisonResult, Contestant
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import InputError
from gpuexplorer.gui.model.fit import first_knobs
from gpuexplorer.gui.model.knobs import Knobs
from gpuexplorer.gui.panels.compare import CompareTab
from gpuexplorer.gui.panels.tabs import AccessesTab, LabTab
from gpuexplorer.gui.places import Places
from gpuexplorer.gui.session import Session
from gpuexplorer.workloads.loader import own_root

if TYPE_CHECKING:
    from gpuexplorer.gui.panels.accesses import AccessesView
    from gpuexplorer.gui.views.compare import CompareView
    from gpuexplorer.gui.views.lab import LabView

SAME = ("size", "precision", "cache", "fill", "include_transfers")
"""Knobs that a library takes over from the kernel it is held against."""
HALF_OF = ("attention", "matmul")
"""What half precision is tried on: the first that can run here."""
IN_TURNS = "Your kernel and every library here are measured in turns: look at their speed."
IN_TURNS_WITH_SOURCE = (
    "Your kernel and every library here are measured in turns. This is its source: change a line, "
    "and its new time stands beside the one before."
)
TOO_FEW = "That cannot be told yet, more turns are needed: Start under Compare measures on."
WIDE, TALL = (256, 1, 1), (1, 256, 1)


class Bench(msgspec.Struct, frozen=True):
    """What a question sets up: the knobs, and the views that measure."""

    session: Session
    places: Places
    compare: CompareTab
    lab: LabTab
    accesses: AccessesTab
    kernel: QWidget


class Question(ABC):
    """One question; the same one can be asked again."""

    words = ""
    look = ""
    """Where to look while it is measured."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    @abstractmethod
    def ask(self) -> None:
        """Set the bench up and start; raises ExplorerError where that cannot be."""

    @property
    @abstractmethod
    def waits(self) -> bool:
        """Whether its measurement goes on, or is about to."""

    @abstractmethod
    def answer(self) -> str:
        """Return the answer in a sentence or two; empty while there is none."""


class _Compared(Question):
    """A question that a comparison answers."""

    def _compare(self, contestants: Sequence[Knobs], at: Knobs, shown: QWidget) -> None:
        """Compare some knobs with the first of them; the window's own then stand at ``at``.

        ``shown`` is the view where to look meanwhile.
        """
        experiment = self._bench.session.experiment
        configs = [experiment.config(knobs) for knobs in contestants]
        experiment.set_knobs(at)
        self._bench.places.show_view(shown)
        self._start(configs)

    def _start(self, configs: Sequence[RunConfig]) -> None:
        """Measure some configurations in turns, whatever view is shown."""
        view = cast("CompareView", self._bench.compare.made())
        view.put_instead(configs)
        view.start()

    @property
    def waits(self) -> bool:
        view = self._bench.compare.comparing
        return view is not None and view.running

    @property
    def _result(self) -> ComparisonResult | None:
        view = self._bench.compare.comparing
        return view.model.result if view is not None else None


class BlockShape(_Compared):
    """A block that lies along the rows against one that lies across them.

    The accesses of a warp of either show why, where they can be counted; the two are then measured
    in turns.
    """

    words = "Why does the block's shape matter?"

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self._configs: list[RunConfig] = []
        """What is measured once the accesses are counted."""
        self._view: AccessesView | None = None

    def ask(self) -> None:
        experiment = self._bench.session.experiment
        first = first_knobs(experiment.workloads["matmul"], "naive")
        wide, tall = (msgspec.structs.replace(first, block=block) for block in (WIDE, TALL))
        device = experiment.device
        if device is None or device.kind != "cpu" or device.backend != "opencl":
            self.look = "Two blocks of 256 threads are measured in turns: look at their speed."
            self._compare([wide, tall], at=tall, shown=self._bench.compare)
            return
        self.look = (
            "Look at the sectors that each line fetches with a block of 1×256, and with 256×1. "
            "The two are measured in turns meanwhile."
        )
        self._configs = [experiment.config(knobs) for knobs in (wide, tall)]
        view = self._bench.accesses.counting()
        if self._view is None:
            view.counted.connect(self._counted)
            self._view = view
        view.hold_against(self._configs[0])
        experiment.set_knobs(tall)
        self._bench.places.show_view(self._bench.accesses)
        view.count()

    def _counted(self, outcome: object) -> None:
        """Measure the blocks, unless counting was stopped."""
        if self._configs and outcome is not None:
            self._start(self._configs)
        self._configs = []

    @property
    def waits(self) -> bool:
        return bool(self._configs) or super().waits

    def answer(self) -> str:
        result = self._result
        if result is None or len(result.contestants) != 2:
            return ""
        _, tall = result.contestants
        if tall.ratio is None:
            return TOO_FEW
        workload = self._bench.session.experiment.workloads[tall.run.config.workload]
        found = tall.than(block_words(WIDE))
        block, why = block_words(TALL), workload.variant(tall.run.config.variant).teaches
        if tall.verdict == "can't tell":
            return f"A block of {block}: {found}."
        return f"A block of {block} is {found}. {why}"


class Library(_Compared):
    """The kernel that the knobs stand at, or the tiled one, against the libraries here.

    Of a kernel of the user's own the source is shown, which is where it comes nearer to them.
    """

    words = "How far is my kernel from the library?"
    look = IN_TURNS

    def ask(self) -> None:
        experiment = self._bench.session.experiment
        own = experiment.knobs
        libraries = self._libraries(own) if experiment.variant.launch else []
        if not libraries:
            own = first_knobs(experiment.workloads["matmul"], "tiled")
            libraries = self._libraries(own)
        if not libraries:
            raise InputError(
                "no library here computes a matrix product",
                remedy="install NumPy or PyTorch in the engine's Python",
            )
        can_change = own_root(experiment.workloads[own.workload]) is not None
        self.look = IN_TURNS_WITH_SOURCE if can_change else IN_TURNS
        shown = self._bench.kernel if can_change else self._bench.compare
        self._compare([own, *libraries], at=own, shown=shown)

    def _libraries(self, own: Knobs) -> list[Knobs]:
        """Return the library calls of the same problem that can be run here."""
        experiment = self._bench.session.experiment
        workload = experiment.workloads[own.workload]
        found = []
        for name, variant in workload.manifest.variants.items():
            if variant.launch or own.precision not in workload.precisions_of(name):
                continue
            knobs = msgspec.structs.replace(
                first_knobs(workload, name), **{field: getattr(own, field) for field in SAME}
            )
            if experiment.problem(knobs) is None:
                found.append(knobs)
        return found

    def answer(self) -> str:
        result = self._result
        if result is None:
            return ""
        known = [one for one in result.others if one.ratio is not None]
        if not known:
            return TOO_FEW
        best = min(known, key=lambda one: one.ratio or 0.0)
        reference = result.contestants[result.reference]
        kernel, library = self._title(reference), self._title(best)
        block = block_words(reference.run.config.block or ())
        own = f"your kernel, '{kernel}' with blocks of {block}"
        found = best.than(own)
        if best.verdict == "can't tell":
            return f"In turns, {library}: {found}."
        return f"In turns, {library} is {found}."

    def _title(self, one: Contestant) -> str:
        workload = self._bench.session.experiment.workloads[one.run.config.workload]
        return workload.variant(one.run.config.variant).title


class HalfPrecision(Question):
    """Every precision of attention; of a matrix product where no framework is here."""

    words = "Is half precision worth it?"

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self._before: object | None = None
        """The study that was shown before."""

    def ask(self) -> None:
        experiment, tab = self._bench.session.experiment, self._bench.lab
        for name in HALF_OF:
            if name in experiment.workloads:
                experiment.set_workload(name)
                if experiment.problem() is None:
                    break
        if (problem := experiment.problem()) is not None:
            raise problem
        title = experiment.workload.manifest.title
        self.look = f"{title} in every precision, in turns: look at the speed and the error."
        self._bench.places.show_view(tab)
        lab = cast("LabView", tab.made())
        lab.show_kind("precision")
        self._before = lab.view.model.result
        lab.view.start_soon()

    @property
    def waits(self) -> bool:
        lab = self._bench.lab.lab
        view = lab.view_of("precision") if lab is not None else None
        return view is not None and (view.running or view.starts_soon)

    def answer(self) -> str:
        from gpuexplorer.studies.precision import PrecisionStudy, half_answer

        lab = self._bench.lab.lab
        study = lab.view_of("precision").model.result if lab is not None else None
        if not isinstance(study, PrecisionStudy) or study is self._before:
            return ""
        return half_answer(study)


def questions(bench: Bench) -> tuple[Question, ...]:
    """Return the questions in the order in which they are offered."""
    return BlockShape(bench), HalfPrecision(bench), Library(bench)
