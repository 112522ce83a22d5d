"""Undo and redo of knobs."""

from __future__ import annotations

from collections.abc import Callable

from gpuexplorer.gui.model.knobs import Knobs

UNDO_STEPS = 200


class Undo:
    """How the knobs stood before each change; the changes of one gesture are one step."""

    def __init__(self) -> None:
        self._before: list[Knobs] = []
        self._after: list[Knobs] = []
        self._in_gesture = False

    @property
    def can_undo(self) -> bool:
        """Whether there is a change to take back."""
        return bool(self._before)

    @property
    def can_redo(self) -> bool:
        """Whether there is a change to make again."""
        return bool(self._after)

    def begin_gesture(self, present: Knobs) -> None:
        """Take the changes up to ``end_gesture`` as one."""
        if not self._in_gesture:
            self._in_gesture = True
            self._push(present)

    def end_gesture(self, present: Knobs) -> None:
        """End what ``begin_gesture`` began; a gesture that changed nothing is no step."""
        if self._in_gesture:
            self._in_gesture = False
            if self._before and self._before[-1] == present:
                self._before.pop()

    def changed(self, before: Knobs) -> None:
        """Note a change from how the knobs stood."""
        if not self._in_gesture:
            self._push(before)
        self._after.clear()

    def _push(self, knobs: Knobs) -> None:
        self._before.append(knobs)
        del self._before[:-UNDO_STEPS]

    def undo(self, present: Knobs) -> Knobs | None:
        """Return the knobs before the last change; None when there is none."""
        if not self._before:
            return None
        self._after.append(present)
        return self._before.pop()

    def redo(self, present: Knobs) -> Knobs | None:
        """Return the knobs after the change last taken back; None when there is none."""
        if not self._after:
            return None
        self._before.append(present)
        return self._after.pop()

    def keep(self, wanted: Callable[[Knobs], bool]) -> None:
        """Forget the steps that are not wanted."""
        self._before = [knobs for knobs in self._before if wanted(knobs)]
        self._after = [knobs for knobs in self._after if wanted(knobs)]
