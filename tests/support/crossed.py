"""Each of some with each of others: all of it at night, and a slice of it with every change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest


def crossed(
    rows: Sequence[Any], columns: Sequence[Any], name: Callable[[Any], str] = str, every: int = 1
) -> list[Any]:
    """Return every row with every column, as ``pytest.mark.parametrize`` takes them.

    ``make test`` gives each row one column, the next one in turn, so that each column has its share
    of the rows; with ``every`` not each row, but each third, say, where a cell takes seconds. The
    rest is marked ``long``, for ``make test-long``.
    """
    by_day = {(row, row // every % len(columns)) for row in range(0, len(rows), every)}
    return [
        pytest.param(
            row, column, id=f"{name(row)}-{column}",
            marks=() if (number, at) in by_day else pytest.mark.long,
        )
        for number, row in enumerate(rows)
        for at, column in enumerate(columns)
    ]  # fmt: skip
