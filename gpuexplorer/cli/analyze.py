"""``gpuexplorer analyze``: what a kernel would be on a GPU that need not be here."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpuexplorer.analysis.architectures import chosen_architectures, gpu_words
from gpuexplorer.analysis.static import Analysis, CurvePoint, KernelAnalysis
from gpuexplorer.charts.words import block_words
from gpuexplorer.cli.accesses import accesses, check_accesses_alone
from gpuexplorer.cli.delivery import Delivery
from gpuexplorer.cli.knob_options import request_of
from gpuexplorer.cli.listing import list_instructions
from gpuexplorer.cli.messages import output_console
from gpuexplorer.cli.output import check_results, pretty_json
from gpuexplorer.cli.own_files import chosen
from gpuexplorer.cli.sheets import plain_table
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.units import count, percent
from gpuexplorer.engine.analyze import analyze_file, analyze_variant
from gpuexplorer.workloads.loader import SOURCE_SUFFIXES

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

SHOWN = (32, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 896, 1024)
"""Block sizes in the table; the document and the chart have every one."""
BAR = 20


def command(options: argparse.Namespace) -> int:
    """Compile and print the figures or the instructions, or run a block and print its accesses."""
    if options.accesses:
        return accesses(options)
    check_accesses_alone(options)
    subject = Path(options.subject)
    is_file = subject.suffix in SOURCE_SUFFIXES or subject.name != options.subject
    _check_kind(options, is_file=is_file)
    if options.sass or options.diff:
        return list_instructions(options, is_file=is_file)
    if options.csv:
        raise InputError(
            "--csv is a table of instructions or accesses", remedy="give --sass or --accesses"
        )
    check_results(options.json, plot=options.plot)
    architectures = chosen_architectures(options.arch)
    analysis = (_file if is_file else _workload)(options, architectures)
    delivery = Delivery(json=options.json, verbose=options.verbose)
    delivery.show(lambda: _print(analysis, output_console()))
    delivery.document(lambda: pretty_json(analysis))
    delivery.file(options.plot, lambda path: _draw(analysis, path))
    delivery.say_written()
    return delivery.code


def _draw(analysis: Analysis, path: Path) -> None:
    from gpuexplorer.charts.occupancy import occupancy_chart
    from gpuexplorer.charts.render import render

    render(occupancy_chart(analysis), path)


def _check_kind(options: argparse.Namespace, *, is_file: bool) -> None:
    """Refuse what belongs to a workload of a file, and what belongs to a file of a workload."""
    for name, given in (("--variant", options.variant), ("--size", options.size)):
        if given and is_file:
            raise InputError(
                f"{name} belongs to a workload, and {options.subject} is a file",
                remedy="leave it out, or give a workload's name",
            )
    for name, given in (("--dynamic-shared", options.dynamic_shared), ("--entry", options.entry)):
        if given and not is_file:
            raise InputError(
                f"{name} belongs to a file: a workload's manifest says what is launched",
                remedy="leave it out, or give the .cu file",
            )


def _file(options: argparse.Namespace, architectures: Sequence[str]) -> Analysis:
    return analyze_file(
        Path(options.subject),
        architectures,
        block=options.block,
        precision=options.precision or "fp32",
        defines=dict(options.set),
        dynamic_shared_B=options.dynamic_shared or 0,
        entries=options.entry,
        python=options.python,
    )


def _workload(options: argparse.Namespace, architectures: Sequence[str]) -> Analysis:
    request = request_of(options, options.subject)
    workload = chosen(options, options.subject)
    return analyze_variant(workload, request, architectures, python=options.python)


# ---- on a terminal


def _print(analysis: Analysis, console: Console) -> None:
    from rich.text import Text

    first = analysis.kernels[0]
    macros = (f"{name} = {value}" for name, value in first.tunables.items())
    words = " · ".join([first.precision, *macros])
    console.print(Text.assemble((analysis.subject, "bold"), f"  {words}"))
    for name in dict.fromkeys(k.name for k in analysis.kernels):
        kernels = [k for k in analysis.kernels if k.name == name]
        console.print(Text.assemble("\n", (name, "bold"), (f"  {kernels[0].source}", "dim")))
        console.print(_figures(kernels))
        curves = [k for k in kernels if k.curve]
        if curves:
            console.print("\nOccupancy by block size")
            console.print(_curve(curves[0]) if len(curves) == 1 else _curves(curves))


def _figures(kernels: Sequence[KernelAnalysis]) -> Table:
    from rich.text import Text

    table = plain_table(
        "arch", "such as", "registers", "static B", "dynamic B", "stack B", "spilled B",
        "block", "blocks/SM", "occupancy", "limited by",
    )  # fmt: skip
    for k in kernels:
        spilled = _number(k.spill_store_B, k.spill_load_B)
        table.add_row(
            Text(k.arch, style="bold"),
            Text(gpu_words(k.arch), style="dim"),
            str(k.registers_per_thread),
            count(k.static_shared_B),
            count(k.dynamic_shared_B),
            count(k.local_B),
            Text(spilled, style="" if spilled in ("0", "–") else "yellow"),
            block_words(k.block),
            _number(k.blocks_per_multiprocessor),
            Text(percent(k.occupancy), style="bold"),
            k.occupancy_limiter or "–",
        )
    return table


def _number(*values: int | None) -> str:
    """Return the sum of what is known; a dash when something is not."""
    known = [v for v in values if v is not None]
    return count(sum(known)) if len(known) == len(values) else "–"


def _shown(kernel: KernelAnalysis) -> list[CurvePoint]:
    return [p for p in kernel.curve if p.threads in SHOWN or p.block == kernel.block]


def _curve(kernel: KernelAnalysis) -> Table:
    from rich.text import Text

    table = plain_table("threads", "block", "blocks/SM", "occupancy", "", "limited by")
    for p in _shown(kernel):
        here = p.block == kernel.block
        table.add_row(
            Text(str(p.threads), style="bold" if here else ""),
            block_words(p.block),
            str(p.blocks_per_multiprocessor),
            percent(p.occupancy),
            Text("█" * round(p.occupancy * BAR), style="cyan" if here else "dim"),
            p.limiter,
        )
    return table


def _curves(kernels: Sequence[KernelAnalysis]) -> Table:
    from rich.text import Text

    table = plain_table("threads", "block", *(k.arch for k in kernels))
    by_threads = [{p.threads: p for p in k.curve} for k in kernels]
    sizes = {p.threads: p.block for k in kernels for p in _shown(k)}
    for threads in sorted(sizes):
        here = threads == kernels[0].threads_per_block
        shares = (points.get(threads) for points in by_threads)
        table.add_row(
            Text(str(threads), style="bold" if here else ""),
            block_words(sizes[threads]),
            *(percent(p.occupancy) if p is not None else "–" for p in shares),
        )
    return table
