"""Words in a plot stand where they hide nothing, as long as there is such a place."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPointF, QRectF, QSizeF

from gpuexplorer.gui.plots.free_place import Anchor, free_anchor, words_at

INSIDE = QRectF(0, 0, 200, 100)
SIZE = QSizeF(40, 10)
BELOW: Anchor = (0.0, 0.0)
ABOVE: Anchor = (0.0, 1.0)


def test_words_stand_as_their_anchor_says() -> None:
    assert words_at(QPointF(50, 50), SIZE, (0.5, 1.0)) == QRectF(30, 40, 40, 10)


@pytest.mark.parametrize(
    ("place", "taken", "chosen"),
    [
        ((50, 50), [], BELOW),  # the first, where both are free
        ((50, 50), [QRectF(60, 52, 100, 2)], ABOVE),  # a line goes through the first
        ((50, 95), [], ABOVE),  # half of the first is outside
        ((50, 50), [QRectF(60, 52, 10, 2), QRectF(0, 40, 200, 10)], BELOW),  # it hides less
    ],
)
def test_words_give_way(place: tuple[float, float], taken: list[QRectF], chosen: Anchor) -> None:
    assert free_anchor(QPointF(*place), SIZE, (BELOW, ABOVE), taken, INSIDE) == chosen
