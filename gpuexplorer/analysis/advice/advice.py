"""One piece of advice, and what it may be worth."""

from __future__ import annotations

from typing import Literal

import msgspec

from gpuexplorer.core.change import Change

PAGE = "advice"
"""The help page that explains every rule; an advice's ``section`` is a heading on it."""

Kind = Literal["trust", "speed", "place"]
"""``trust`` is about whether the figure can be believed, ``speed`` about time that may be saved,
``place`` says only where the run stands."""

MOST_SHOWN = 3
"""Pieces of advice on one run."""

LEAST_SAVING = 0.05
"""A speed rule that promises less of the time says nothing."""


class Advice(msgspec.Struct, frozen=True):
    """What a rule has found.

    ``title`` is a sentence without its full stop; ``evidence`` the figures of this very run behind
    it. ``saves`` is a careful estimate of the share of a launch's time that may go (each rule says
    where it comes from), 0 where no time is promised. ``section`` is the heading that explains it
    on the help page. ``change`` is the knobs to set, None when no knob helps.
    """

    rule: str
    kind: Kind
    title: str
    evidence: str
    saves: float
    section: str
    change: Change | None = None
    takes: float = 0.0
    """Share of the time that what it speaks of takes, where no knob saves it; it ranks by that."""

    @property
    def weight(self) -> tuple[int, float]:
        """What advice is ranked by: doubts in the order of the rules, then the time it may save."""
        if self.kind == "trust":
            return 2, 0.0
        return (1, self.saves or self.takes) if self.kind == "speed" else (0, 0.0)
