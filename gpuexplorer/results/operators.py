"""The operators of one iteration as a table: a row for each, the one that takes longest first.

The marks of its chart are the operators' names; calls with other shapes share theirs.
"""

from __future__ import annotations

from gpuexplorer.charts.operators import memory_words, notes, short
from gpuexplorer.core.operators import FAMILIES, Operator, OperatorProfile, family
from gpuexplorer.core.sheet import Cell, Column, Medium, Row, Sheet
from gpuexplorer.core.units import count, percent, quantity

WINDOW, TERMINAL = Medium.WINDOW, Medium.TERMINAL
NAME_LETTERS, BRIEF_NAME, BRIEF_SHAPES = 200, 56, 40
"""Of a name, and what a terminal shows of names and shapes."""
NAME = (
    Column(
        "operator",
        "operator",
        "The operator as PyTorch calls it",
        words=True,
        names=True,
        media=WINDOW,
    ),
    Column("brief", "operator", words=True, names=True, media=TERMINAL),
    Column("calls", "calls", "How often it is called in one iteration", most_first=True),
)
GPU = (
    Column("gpu", "GPU", "Time of the GPU kernels that it launches itself", "s", most_first=True),
    Column("gpu_total", "GPU total", "The same with those of what it calls", "s", most_first=True),
)
FIGURES = (
    Column("self", "self", "CPU time without what it calls", "s", most_first=True),
    Column("total", "total", "CPU time with what it calls", "s", most_first=True),
    Column("share", "share", "Its part of the iteration: of the GPU's time where there is one, of "
           "the CPU's otherwise", most_first=True),
    Column("memory", "memory", "Bytes it takes itself less those it gives back, on the run's "
           "device", most_first=True),
)  # fmt: skip
SHAPES = (
    Column("shapes", "shapes", "Shapes of its inputs", words=True, names=True, media=WINDOW),
    Column("brief_shapes", "shapes", words=True, names=True, media=TERMINAL),
)


def sheet_of(profile: OperatorProfile, most: int | None = None) -> Sheet:
    """Return a profile's operators, of which at ``most`` so many; None: all."""
    gpu = GPU if profile.on_gpu else ()
    shapes = SHAPES if any(one.shapes for one in profile.operators) else ()
    rows = tuple(map(_row, profile.operators[:most]))
    columns = (*NAME, *gpu, *FIGURES, *shapes)
    return Sheet("Operators of one iteration", columns, rows, tuple(notes(profile)))


def _row(one: Operator) -> Row:
    name, shapes = short(one.name, NAME_LETTERS), one.shapes or ""
    brief = shapes if len(shapes) <= BRIEF_SHAPES else shapes[: BRIEF_SHAPES - 1] + "…"
    times = {
        "gpu": one.device_self_s, "gpu_total": one.device_total_s,
        "self": one.self_s, "total": one.total_s,
    }  # fmt: skip
    cells = {
        "operator": Cell(name, one.name),
        "brief": Cell(short(one.name, BRIEF_NAME)),
        "calls": Cell(count(one.calls), one.calls),
        **{key: Cell(quantity(time_s, "s"), time_s) for key, time_s in times.items()},
        "share": Cell(percent(one.share), one.share),
        "memory": Cell(memory_words(one.memory_B), one.memory_B),
        "shapes": Cell(shapes),
        "brief_shapes": Cell(brief),
    }
    lines = (one.name, shapes, FAMILIES[family(one.name)])
    return Row(name, cells, "\n".join(filter(None, lines)), {one.name: name})
