"""Replacements on a text, applied together, and the way back from the new text to the old one."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field

import msgspec

from gpuexplorer.workloads.cuda_source import spaces


class _Segment(msgspec.Struct, frozen=True):
    """A stretch of the new text, and what of the old one stood there."""

    start: int
    old_start: int
    old_end: int


class Edited(msgspec.Struct, frozen=True):
    """A text after its edits."""

    text: str
    segments: tuple[_Segment, ...]

    def before(self, offset: int) -> int:
        """Return where in the old text stood what is at ``offset`` now."""
        index = bisect.bisect_right(self.segments, offset, key=lambda segment: segment.start) - 1
        segment = self.segments[max(index, 0)]
        return min(segment.old_start + max(offset - segment.start, 0), segment.old_end)


@dataclass
class Edits:
    """Replacements on one text; none may add or remove a line break."""

    _edits: list[tuple[int, int, str]] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Whether there is anything to change."""
        return bool(self._edits)

    def replace(self, start: int, end: int, text: str) -> None:
        """Put ``text`` in place of ``start`` to ``end``; of two at one place the first is first."""
        self._edits.append((start, end, text))

    def blank(self, text: str, start: int, end: int) -> None:
        """Put spaces where ``start`` to ``end`` of ``text`` is."""
        self.replace(start, end, spaces(text[start:end]))

    def apply(self, text: str) -> Edited:
        """Return ``text`` with every replacement made."""
        parts: list[str] = []
        segments: list[_Segment] = []
        length = at = 0
        for start, end, new in sorted(self._edits, key=lambda e: (e[0], e[1])):
            if start < at:
                continue  # inside a stretch that was replaced as a whole
            segments += [_Segment(length, at, start), _Segment(length + start - at, start, end)]
            parts += [text[at:start], new]
            length += start - at + len(new)
            at = end
        segments.append(_Segment(length, at, len(text)))
        return Edited("".join([*parts, text[at:]]), tuple(segments))
