"""Where words go so that they hide nothing."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSizeF

Anchor = tuple[float, float]
"""Which point of the words stands at a place, as shares of their width and height."""


def words_at(place: QPointF, size: QSizeF, anchor: Anchor) -> QRectF:
    """Return what words of a size cover when their ``anchor`` stands at a place, in pixels."""
    corner = QPointF(place.x() - anchor[0] * size.width(), place.y() - anchor[1] * size.height())
    return QRectF(corner, size)


def free_anchor(
    place: QPointF,
    size: QSizeF,
    anchors: Sequence[Anchor],
    taken: Sequence[QRectF],
    inside: QRectF,
) -> Anchor:
    """Return the anchor by which the words hide least of what is ``taken``; the first of equals.

    What reaches out of ``inside`` counts as hidden.
    """

    def hidden(anchor: Anchor) -> float:
        words = words_at(place, size, anchor)
        seen = words.intersected(inside)
        out = size.width() * size.height() - seen.width() * seen.height()
        both = (words.intersected(other) for other in taken)
        return out + sum(one.width() * one.height() for one in both)

    return min(anchors, key=hidden)
