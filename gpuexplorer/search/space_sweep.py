"""One sweep from its space to its document: its cells, its group in the store, the way through.

The command line, the Python API and the window all sweep through this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.sweep import PASSING, SweepDocument, Why
from gpuexplorer.engine.interleave import Measures
from gpuexplorer.history.store import Store
from gpuexplorer.search.ahead import BuildAhead
from gpuexplorer.search.document import sweep_document
from gpuexplorer.search.keeping import SweepHeld, SweepKeeper, request_document, span_document
from gpuexplorer.search.least_launch import least_launch_s
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.search.outcome import SweepCell, cells_of
from gpuexplorer.search.space import Space
from gpuexplorer.search.sweep import Spreads, Sweep, SweepStep
from gpuexplorer.workloads.workload import Workload


class SpaceSweep:
    """A sweep that can be looked at before it runs, run, interrupted, and gone on with.

    Raises InputError or CannotRunHere when nothing of the space can run, and what the store raises
    when an earlier try cannot be read.
    """

    def __init__(
        self,
        space: Space,
        workload: Workload,
        devices: DeviceList,
        measuring: Measuring | None = None,
        *,
        seed: int = 1,
        store: Store | None = None,
        resume: bool = False,
        into: str | None = None,
        python: str | None = None,
        ceilings: Callable[[DeviceInfo], Ceilings | None] | None = None,
        on_step: Callable[[SweepStep], None] | None = None,
        on_trouble: Callable[[ExplorerError], None] | None = None,
        listed: bool = True,
    ) -> None:
        """``store`` keeps every run as soon as it is done; with ``resume`` what the latest sweep of
        the same finished there is not measured again, or the one with the id ``into``.
        ``python`` is the engine's interpreter, ``ceilings`` finds calibrations, ``on_trouble`` is
        told once when the store fails. Samples are arrays unless they shall be ``listed``.
        """
        self.space, self.workload = space, workload
        self.measuring = measuring or Measuring()
        cells = cells_of(space.points(workload, devices))
        _check_some_can_run(cells)
        self._store = store
        self._on_trouble = on_trouble or (lambda error: None)
        self._document: dict[str, Any] = {}
        self._span: dict[str, Any] = {}
        self._keeper: SweepKeeper | None = None
        self.resumed = 0
        """Cells that an earlier try had finished."""
        if store is not None:
            self._document = request_document(space, workload, self.measuring, cells, devices)
            self._span = span_document(space, cells)
            if resume:
                self._keeper = SweepKeeper.find(
                    store, self._document, self._span, self._on_trouble, into
                )
        self._found = self._keeper is not None
        self._begun = False
        if self._keeper is not None:
            waiting = sum(cell.waiting for cell in cells)
            cells = self._keeper.fill(cells)
            self.resumed = waiting - sum(cell.waiting for cell in cells)
        self.sweep = Sweep(
            workload,
            cells,
            self.measuring,
            seed=seed,
            keeper=self._keeper,
            ahead=BuildAhead(workload, devices, python),
            on_step=on_step,
            least_s=least_launch_s(workload, devices, ceilings) if ceilings is not None else None,
            listed=listed,
        )

    @property
    def cells(self) -> list[SweepCell]:
        """The cells as they are now, in row-major order of the axes."""
        return self.sweep.cells

    @property
    def waiting(self) -> int:
        """How many configurations are still to be measured."""
        return sum(cell.waiting for cell in self.cells)

    @property
    def unfinished(self) -> int:
        """How many have no figure for a reason that passes; another try repeats them."""
        return sum(cell.why in PASSING for cell in self.cells)

    @property
    def unreadable(self) -> int:
        """How many runs of an earlier try cannot be read in the history; they are repeated."""
        return len(self._keeper.unreadable) if self._keeper is not None else 0

    def count(self, why: Why) -> int:
        """Return how many configurations have no figure for a kind of reason."""
        return sum(cell.why == why for cell in self.cells)

    @property
    def group(self) -> str | None:
        """The sweep's id in the store; None before it runs, and without a store."""
        return self._keeper.group_id if self._keeper is not None else None

    @property
    def stored(self) -> bool:
        """Whether the store has any of what was done, so that another try continues it."""
        return self.resumed > 0 or (self._keeper is not None and self._keeper.has_stored)

    @property
    def recovered(self) -> bool:
        """Whether the store has taken at the end all that it refused."""
        return self._keeper is not None and self._keeper.recovered

    @property
    def continues(self) -> bool:
        """Whether an earlier try of this sweep was found."""
        return self._found

    def run(self, engine: Measures | Spreads) -> SweepDocument:
        """Measure what waits and return the document; see ``Sweep.run`` for what it raises.

        Raises SweepHeld where another program measures the same sweep now. Whatever ends it, what
        was done is in the store, and ``document`` has it.
        """
        self.begin()
        try:
            self.sweep.run(engine)
        finally:
            if self._keeper is not None:
                self._keeper.close(finished=not self.waiting and not self.unfinished)
        return self.document()

    def document(self) -> SweepDocument:
        """Return the document of what is done so far."""
        return sweep_document(self.space, self.workload, self.cells, group=self.group)

    def take_over(self, cells: Sequence[SweepCell]) -> None:
        """Take what was measured of the same space, on the same devices, and is not in the store.

        A sweep that the store did not take is continued so; raises as ``begin`` does.
        """
        self.begin()
        merged = [
            before if now.waiting and before.result is not None else now
            for now, before in zip(self.cells, cells, strict=True)
        ]
        new = [one.result for one, now in zip(merged, self.cells, strict=True) if one is not now]
        self.sweep.take(merged)
        self.resumed += len(new)
        for result in new:
            if result is not None and self._keeper is not None:
                self._keeper.keep(result)

    def begin(self) -> None:
        """Enter the sweep into the store, or take it up there; ``run`` does so by itself.

        Raises SweepHeld where another program measures it now.
        """
        if self._store is None or self._begun:
            return
        try:
            if self._keeper is not None:
                self._keeper.take_up()
                if self._keeper.has_done(self.cells):  # by the program before, since it was read
                    waiting = self.waiting
                    self.sweep.take(self._keeper.fill(self.cells))
                    self.resumed += waiting - self.waiting
            else:
                self._keeper = SweepKeeper.begin(
                    self._store, self._document, self._span, self._on_trouble
                )
        except SweepHeld:
            raise
        except ExplorerError as error:
            self._on_trouble(error)
        self._begun = True
        self.sweep.keeper = self._keeper


def _check_some_can_run(cells: list[SweepCell]) -> None:
    reasons = [cell.skipped for cell in cells if cell.skipped is not None]
    if len(reasons) == len(cells):
        raise InputError(f"none of the {len(cells)} configurations can run: {reasons[0]}")
