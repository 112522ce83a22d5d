"""Regular expressions that are compiled when they are first used: many a process never does."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial


def later(pattern: str, flags: int = 0) -> Callable[[], re.Pattern[str]]:
    """Return what gives a regular expression; it is compiled when it is first asked for."""
    return cache(partial(re.compile, pattern, flags))
