"""Where a place of the rewritten source stands in the user's own files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import msgspec

from gpuexplorer.compile.edits import Edited
from gpuexplorer.workloads.cuda_source import CudaSource


class Place(msgspec.Struct, frozen=True):
    """A column of a line in a user's file, in characters from 1, and that line's text."""

    column: int
    text: str


class Origin:
    """The way from columns of a rewritten source, whose lines are the user's, to the user's own."""

    def __init__(self, flat: str, edited: Sequence[Edited]) -> None:
        """``flat`` is the source with its includes in place, ``edited`` its changes, last first."""
        self.flat = flat
        self._edited = edited

    @cached_property
    def _lines(self) -> dict[tuple[str, int], int]:
        """The number of each line in the flat text, by the user's file and line."""
        found: dict[tuple[str, int], int] = {}
        for number, place in enumerate(CudaSource(self.flat).line_names):
            found.setdefault(place, number)
        return found

    @cached_property
    def _starts(self) -> tuple[list[int], list[int]]:
        """Where each line starts, in the rewritten text and in the flat one."""
        return _line_starts(self._edited[0].text), _line_starts(self.flat)

    def place(self, file: str, line: int, column: int) -> Place | None:
        """Return where a place named by a compiler is; None for none of the user's."""
        number = self._lines.get((file, line))
        if number is None:
            return None
        rewritten, flat = self._starts
        line_now = self._edited[0].text[rewritten[number] : rewritten[number + 1] - 1]
        before = line_now.encode()[: max(column, 1) - 1]  # compilers count bytes
        offset = rewritten[number] + len(before.decode(errors="ignore"))
        for edited in self._edited:
            offset = edited.before(offset)
        text = self.flat[flat[number] :].partition("\n")[0]
        return Place(min(max(offset - flat[number], 0), len(text)) + 1, text)


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts
