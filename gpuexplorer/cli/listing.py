"""``gpuexplorer analyze --sass``: a kernel's instructions under the source lines they come from."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gpuexplorer.analysis.architectures import (
    DEFAULT_ARCHITECTURE,
    chosen_architectures,
    gpu_words,
)
from gpuexplorer.analysis.instructions import KIND_TITLES
from gpuexplorer.analysis.listing import KernelListing, Listings, by_line, remarks
from gpuexplorer.cli.delivery import Delivery
from gpuexplorer.cli.knob_options import request_of
from gpuexplorer.cli.messages import output_console
from gpuexplorer.cli.output import check_results
from gpuexplorer.cli.own_files import chosen
from gpuexplorer.cli.sheets import print_sheet
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.text import visible
from gpuexplorer.core.units import listed, plural
from gpuexplorer.engine.analyze import list_file, list_variants
from gpuexplorer.exchange.csv_table import write_table
from gpuexplorer.results.listing import (
    INSTRUCTION_COLUMNS,
    comparison_sheet,
    difference_sheet,
    instruction_rows,
    mix_sheet,
    source_line,
)

if TYPE_CHECKING:
    from rich.console import Console


def list_instructions(options: argparse.Namespace, *, is_file: bool) -> int:
    """Compile, print the listing, and write the files that were asked for."""
    check_results(options.json, options.csv)
    for name, given in (("--plot", options.plot), ("--dynamic-shared", options.dynamic_shared)):
        if given:
            raise InputError(
                f"{name} is about the occupancy, and --sass lists instructions",
                remedy="leave one of them out",
            )
    listings = (_of_file if is_file else _of_workload)(options)
    delivery = Delivery(json=options.json, verbose=options.verbose)
    show = _print_difference if options.diff else _print_listings
    delivery.show(lambda: show(listings, output_console()))
    delivery.document(lambda: msgspec.json.encode(listings) + b"\n")
    delivery.file(
        options.csv,
        lambda path: write_table(path, INSTRUCTION_COLUMNS, instruction_rows(listings)),
    )
    delivery.say_written()
    return delivery.code


def _of_file(options: argparse.Namespace) -> Listings:
    if options.block:
        raise InputError(
            "--block is about the occupancy, and a file's instructions are the same with each",
            remedy="leave it out",
        )
    if options.diff and not all(map(_is_architecture, options.diff)):
        raise InputError(
            f"--diff {options.diff[0]} {options.diff[1]} does not name two architectures, and a "
            "file has no variants",
            remedy="give two such as sm_80 and sm_90",
        )
    return list_file(
        Path(options.subject),
        _architectures(options),
        precision=options.precision or "fp32",
        defines=dict(options.set),
        entries=options.entry,
        python=options.python,
    )


def _of_workload(options: argparse.Namespace) -> Listings:
    request = request_of(options, options.subject)
    requests = [request]
    if options.diff and not all(map(_is_architecture, options.diff)):
        if options.variant:
            raise InputError(
                "--diff names two variants, and --variant a third",
                remedy="leave out --variant",
            )
        if len(options.arch) > 1:
            raise InputError(
                "two variants are compared on one architecture, and there are several",
                remedy="give --arch once",
            )
        requests = [msgspec.structs.replace(request, variant=name) for name in options.diff]
    workload = chosen(options, options.subject)
    return list_variants(workload, requests, _architectures(options), python=options.python)


def _architectures(options: argparse.Namespace) -> list[str]:
    if options.diff and all(map(_is_architecture, options.diff)):
        if options.arch:
            raise InputError(
                "--diff names the architectures, and so does --arch", remedy="leave out --arch"
            )
        return chosen_architectures(options.diff)
    return chosen_architectures(options.arch or [DEFAULT_ARCHITECTURE])


def _is_architecture(text: str) -> bool:
    try:
        return len(chosen_architectures([text])) == 1
    except InputError:
        return False


# ---- on a terminal


def _print_listings(listings: Listings, console: Console) -> None:
    for number, kernel in enumerate(listings.kernels):
        if number:
            console.print()
        _print_kernel(kernel, listings, console)


def _print_kernel(kernel: KernelListing, listings: Listings, console: Console) -> None:
    from rich.text import Text

    gpus = gpu_words(kernel.arch)
    head = f"  {kernel.subject} · {kernel.precision} · {kernel.arch}"
    console.print(Text.assemble((kernel.name, "bold"), f"{head} ({gpus})" if gpus else head))
    instructions = plural(len(kernel.sass), "{number} instruction", "{number} instructions")
    console.print(f"{kernel.registers_per_thread} registers a thread · {instructions}")
    for sentence in remarks(kernel):
        console.print(Text(sentence))
    console.print()
    print_sheet(mix_sheet(kernel), console)
    for place, instructions_here in by_line(kernel.sass, listings.sources).items():
        words = source_line(listings.sources, place.file, place.line)
        where = f"{place.file}:{place.line}" if place.file != kernel.source else str(place.line)
        _line(console, Text(f"\n{where:>5}  {visible(words)}", style="bold"))
        for one in instructions_here:
            alive = "" if one.live_registers is None else str(one.live_registers)
            text = f"       {one.offset:04x}  {alive:>4}  {one.text:<52}  "
            facts = " · ".join(filter(None, (KIND_TITLES[one.kind], one.routine)))
            _line(console, Text.assemble(text, (facts, "dim")))
    beside = (
        "Beside each instruction: its offset."
        if kernel.most_live_registers is None
        else "Beside each instruction: its offset, and the registers alive there."
    )
    console.print(Text(f"\n{beside}", style="dim"))


def _line(console: Console, text: object) -> None:
    """Print a line that may be longer than the terminal is wide, as a program's text is."""
    console.print(text, soft_wrap=True, highlight=False)


def _print_difference(listings: Listings, console: Console) -> None:
    from rich.text import Text

    half = len(listings.kernels) // 2
    firsts, seconds = listings.kernels[:half], listings.kernels[half:]
    for first, second in zip(firsts, seconds, strict=False):
        names = dict.fromkeys((first.name, second.name))
        console.print(Text(f"{listed(names)} · {first.precision}", style="bold"))
        print_sheet(comparison_sheet(first, second), console)
        if first.source == second.source:
            sheet = difference_sheet(first, second, listings.sources)
            console.print()
            if sheet.rows:
                console.print(Text("Lines of the source with other instructions", style="bold"))
                print_sheet(sheet, console)
            else:
                console.print("Every line of the source has the same instructions.")
        console.print()
