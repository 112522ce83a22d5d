"""What advice stands in the panel, and of which configuration it speaks."""

from __future__ import annotations

from dataclasses import dataclass

from gpuexplorer.analysis.advice.advice import Advice
from gpuexplorer.core.config import RunConfig


@dataclass(frozen=True)
class ShownAdvice:
    """What stands in the panel.

    ``config`` is what it speaks of, None before a run could be judged. ``nothing`` says that the
    rules have had nothing to improve for a while.
    """

    advice: tuple[Advice, ...] = ()
    config: RunConfig | None = None
    nothing: bool = False
