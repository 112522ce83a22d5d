"""``gpuexplorer analyze --accesses``: what one warp asks of memory, line by line."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gpuexplorer.analysis.architectures import one_architecture
from gpuexplorer.charts.words import config_words
from gpuexplorer.cli.delivery import Delivery
from gpuexplorer.cli.knob_options import request_of
from gpuexplorer.cli.messages import output_console
from gpuexplorer.cli.output import check_results, pretty_json
from gpuexplorer.cli.own_files import chosen, take_files
from gpuexplorer.cli.progress import run_progress
from gpuexplorer.cli.sessions import open_session
from gpuexplorer.cli.sheets import print_sheet
from gpuexplorer.core.accesses import AccessLook, AccessProfile, accesses_document
from gpuexplorer.core.errors import InputError
from gpuexplorer.engine.analyze import with_compiled
from gpuexplorer.exchange.csv_table import write_sheet
from gpuexplorer.results.accesses import place_words, sheet_of
from gpuexplorer.workloads.choose import complete

if TYPE_CHECKING:
    from rich.console import Console

DEVICE = "cpu"
"""Where the kernel notes its accesses, whatever GPU is here."""


def accesses(options: argparse.Namespace) -> int:
    """Run one block of a kernel with notes taken, and tell what a warp of it asks for."""
    check_results(options.json, options.csv)
    for name, given in (
        ("--dynamic-shared", options.dynamic_shared),
        ("--entry", options.entry),
        ("--plot", options.plot),
        ("--sass", options.sass),
        ("--diff", options.diff),
    ):
        if given:
            raise InputError(
                f"{name} belongs to what a compiler says, and --accesses runs the kernel",
                remedy="leave one of them out",
            )
    options.workload, options.device = options.subject, DEVICE
    take_files(options)
    workload = chosen(options, options.workload)
    arch = one_architecture(options.arch)
    look = AccessLook(launch=options.launch, block=options.place, warp=options.warp)
    with open_session(options) as session:
        request = request_of(options)
        config = complete(request, workload, session.devices())
        with run_progress(config_words(config)) as progress:
            profile = session.accesses(config, workload, look, on_progress=progress)
    profile = with_compiled(profile, workload, request, arch, python=options.python)
    delivery = Delivery(json=options.json, verbose=options.verbose)
    delivery.show(lambda: _print(profile, workload.manifest.title, output_console()))
    delivery.document(lambda: pretty_json(accesses_document(profile)))
    delivery.file(options.csv, lambda path: write_sheet(sheet_of(profile), path))
    delivery.say_written()
    return delivery.code


def check_accesses_alone(options: argparse.Namespace) -> None:
    """Refuse what says whose accesses are counted where none are."""
    for name, given in (
        ("--launch", options.launch),
        ("--place", any(options.place)),
        ("--warp", options.warp),
    ):
        if given:
            raise InputError(f"{name} belongs to --accesses", remedy="add --accesses")


def _print(profile: AccessProfile, title: str, console: Console) -> None:
    from rich.text import Text

    console.print(Text(f"{title}: accesses of '{profile.entry}'", style="bold"))
    console.print(Text(config_words(profile.config), style="dim"))
    console.print(Text(f"{place_words(profile)}\n", style="dim"))
    print_sheet(sheet_of(profile), console)
