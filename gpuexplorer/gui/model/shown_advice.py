"""What advice stands in the panel, and of which configuration it speaks."""

from __future__ import annotations

import msgspec

from gpuexplorer.analysis.advice.advice import Advice
from gpuexplorer.core.config import RunConfig


class ShownAdvice(msgspec.Struct, frozen=True):
    """What stands in the panel.

    ``config`` is what it speaks of, None before a run could be judged.
    """

    advice: tuple[Advice, ...] = ()
    config: RunConfig | None = None
