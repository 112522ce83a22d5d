"""The terminal's pen: it writes its own colours, and of everything else what may be seen."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from gpuexplorer.core.text import visible


class VisibleConsole(Console):
    """A console in which no text can order the terminal about, wherever the text came from."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield what stands for something: the console's own orders as they are, text made fit."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)
