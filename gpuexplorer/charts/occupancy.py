"""Theoretical occupancy against the block size, as a chart."""

from __future__ import annotations

from collections.abc import Sequence

from gpuexplorer.analysis.architectures import gpu_words
from gpuexplorer.analysis.static import Analysis, KernelAnalysis
from gpuexplorer.charts.spec import Axis, ChartSpec, Panel, Series, series
from gpuexplorer.charts.words import block_words
from gpuexplorer.core.units import percent, quantity

LIMITERS = ("threads", "registers", "shared memory", "blocks", "barriers", "launch bounds")
"""Each has its slot in the palette, here and in the window."""
MAX_KERNELS = 6
"""Panels of one chart; the chart says how many kernels were left out."""


def limiter_slot(limiter: str) -> int:
    """Return the palette's slot of what limits the occupancy."""
    return LIMITERS.index(limiter) if limiter in LIMITERS else len(LIMITERS)


def occupancy_chart(analysis: Analysis) -> ChartSpec:
    """Return one panel a kernel: a line an architecture, or on a single one its limiters."""
    by_name: dict[str, list[KernelAnalysis]] = {}
    for kernel in analysis.kernels:
        by_name.setdefault(kernel.name, []).append(kernel)
    drawn = {name: kernels for name, kernels in by_name.items() if any(k.curve for k in kernels)}
    rows = [(_panel(name, kernels),) for name, kernels in list(drawn.items())[:MAX_KERNELS]]
    notes = ["Theoretical occupancy by the formula of NVIDIA's occupancy calculator."]
    notes += _notes([k for kernels in drawn.values() for k in kernels])
    if missing := len(by_name) - len(rows):
        notes.append(f"{missing} of {len(by_name)} kernels are not drawn.")
    first = analysis.kernels[0]
    macros = (f"{name} = {value}" for name, value in first.tunables.items())
    return ChartSpec(
        title="Occupancy by block size",
        subtitle=" · ".join([analysis.subject, first.precision, *macros]),
        rows=tuple(rows),
        notes=tuple(notes),
    )


def _panel(name: str, kernels: Sequence[KernelAnalysis]) -> Panel:
    shown = [k for k in kernels if k.curve]
    lines = [s for k in shown for s in _limited(k)] if len(shown) == 1 else _compared(shown)
    threads = float(shown[0].threads_per_block)
    here = f"block {block_words(shown[0].block)}"
    lines.append(series(here, "vline", "ceiling", x=[threads]))
    return Panel(
        title=name,
        x=Axis(label="threads per block", low=0.0, high=1056.0),
        y=Axis(label="occupancy", unit="%", low=0.0, high=105.0),
        series=tuple(lines),
    )


def _limited(kernel: KernelAnalysis) -> list[Series]:
    """Return one architecture's line, with points coloured by what limits."""
    curve = kernel.curve
    found = [
        series(
            "", "line", "pinned", colour=limiter_slot("threads"),
            x=[float(p.threads) for p in curve], y=[p.occupancy * 100 for p in curve],
        )
    ]  # fmt: skip
    for limiter in dict.fromkeys(p.limiter for p in curve):
        points = [p for p in curve if p.limiter == limiter]
        found.append(
            series(
                f"limited by {limiter}", "points", "model", colour=limiter_slot(limiter),
                x=[float(p.threads) for p in points], y=[p.occupancy * 100 for p in points],
            )
        )  # fmt: skip
    return found


def _compared(kernels: Sequence[KernelAnalysis]) -> list[Series]:
    """Return a line for each different curve, named by the architectures that share it."""
    alike: dict[tuple[tuple[float, float], ...], list[str]] = {}
    for k in kernels:
        points = tuple((float(p.threads), p.occupancy * 100) for p in k.curve)
        alike.setdefault(points, []).append(k.arch)
    return [
        series(
            _named(architectures), "line", "model", colour=slot,
            x=[x for x, _ in points], y=[y for _, y in points],
        )
        for slot, (points, architectures) in enumerate(alike.items())
    ]  # fmt: skip


def _named(architectures: Sequence[str]) -> str:
    if len(architectures) > 1 or not gpu_words(architectures[0]):
        return ", ".join(architectures)
    return f"{architectures[0]} ({gpu_words(architectures[0])})"


def _notes(kernels: Sequence[KernelAnalysis]) -> list[str]:
    """Return a sentence for each kernel and set of figures, naming the architectures."""
    alike: dict[tuple[str, str], list[str]] = {}
    for k in kernels:
        shared = quantity(k.static_shared_B + k.dynamic_shared_B, "B")
        figures = (
            f"{k.registers_per_thread} registers a thread, {shared} of shared memory a block, "
            f"{percent(k.occupancy)} at {block_words(k.block)}, limited by {k.occupancy_limiter}."
        )
        alike.setdefault((k.name, figures), []).append(k.arch)
    return [
        f"{name}, compiled for {', '.join(on)}: {figures}" for (name, figures), on in alike.items()
    ]
