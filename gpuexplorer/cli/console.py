"""The terminal's pen: it writes its own colours, and of everything else what may be seen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from gpuexplorer.cli.told import told
from gpuexplorer.core import language
from gpuexplorer.core.text import visible


class VisibleConsole(Console):
    """A console in which no text can order the terminal about, wherever the text came from.

    What is printed is told in the language of the process; what moves (a bar, a table that fills)
    is told by who makes it.
    """

    def print(self, *objects: Any, **options: Any) -> None:
        """Print, in the language of the process."""
        if language.current() != language.ENGLISH:
            objects = tuple(map(told, objects))
        super().print(*objects, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield what stands for something: the console's own orders as they are, text made fit."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)
