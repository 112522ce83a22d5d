"""One run's figures, as a person wants to read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpuexplorer.analysis.advice.advice import Advice
from gpuexplorer.charts.facts import facts
from gpuexplorer.charts.words import config_parts
from gpuexplorer.core.result import RunResult

if TYPE_CHECKING:
    from rich.console import Console


def print_summary(result: RunResult, title: str, console: Console) -> None:
    """Print one run's figures."""
    from rich.table import Table
    from rich.text import Text

    parts = config_parts(result.config)
    words = [v for k, v in parts.items() if v and k not in ("workload", "device", "threads")]
    console.print(Text.assemble((title, "bold"), "  ", " · ".join(words)))
    device = result.device
    where = filter(None, (device.name, device.id, device.driver, parts["threads"]))
    console.print(Text(f"{' · '.join(where)}\n", style="dim"))
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, figure, words_ in facts(result):
        bad = figure == "WRONG" or name == "SUSPECT"
        table.add_row(name, Text(figure, style="red" if bad else ""), Text(words_))
    console.print(table)


def print_advice(found: Sequence[Advice], console: Console) -> None:
    """Print what would make the run faster or is odd about it; nothing where nothing was found."""
    from rich.table import Table
    from rich.text import Text

    if not found:
        return
    console.print()
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for number, advice in enumerate(found):
        sentences = [f"{advice.evidence[:1].upper()}{advice.evidence[1:]}."]
        if advice.change is not None:
            sentences.append(f"Try {advice.change.options}.")
        words = Text.assemble((f"{advice.title}.", "bold"), " ", " ".join(sentences))
        table.add_row("" if number else "advice", words)
    console.print(table)
