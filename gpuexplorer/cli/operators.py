"""``gpuexplorer operators``: what one iteration of a model calls."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from gpuexplorer.charts.words import config_words
from gpuexplorer.cli.delivery import Delivery
from gpuexplorer.cli.knob_options import request_of
from gpuexplorer.cli.messages import output_console
from gpuexplorer.cli.output import check_results
from gpuexplorer.cli.own_files import chosen
from gpuexplorer.cli.progress import run_progress
from gpuexplorer.cli.sessions import open_session
from gpuexplorer.cli.sheets import print_sheet
from gpuexplorer.core.operators import OperatorProfile
from gpuexplorer.core.sharing import shared
from gpuexplorer.exchange.operator_trace import write_operator_trace
from gpuexplorer.results.operators import sheet_of
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.operators import told_variant

if TYPE_CHECKING:
    from rich.console import Console


def command(options: argparse.Namespace) -> int:
    """Record one iteration, print the table, and write the files that were asked for."""
    check_results(options.json, options.trace, plot=options.plot)
    workload = chosen(options, options.workload)
    request = request_of(options)
    request.variant = told_variant(workload, request.variant)
    with open_session(options) as session:
        config = complete(request, workload, session.devices())
        with run_progress(config_words(config)) as progress:
            profile = session.operators(
                config, workload, shapes=options.shapes, on_progress=progress
            )
    title = workload.manifest.title
    delivery = Delivery(json=options.json, verbose=options.verbose)
    delivery.show(lambda: print_operators(profile, title, output_console(), options.rows))
    delivery.document(lambda: shared(msgspec.json.encode(profile), [profile.environment]) + b"\n")
    delivery.file(options.trace, lambda path: write_operator_trace(profile, path))
    delivery.file(options.plot, lambda path: _draw(profile, title, path))
    delivery.say_written()
    return delivery.code


def _draw(profile: OperatorProfile, title: str, path: Path) -> None:
    from gpuexplorer.charts.operators import operator_chart
    from gpuexplorer.charts.render import render

    render(operator_chart(profile, title=title), path)


def print_operators(profile: OperatorProfile, title: str, console: Console, rows: int) -> None:
    """Print the operators that take the most time, with what is left out below."""
    from rich.text import Text

    console.print(Text(f"{title}: operators of one iteration", style="bold"))
    console.print(Text(config_words(profile.config), style="dim"))
    device = profile.device
    console.print(Text(f"{device.name} · {device.id} · {device.driver}\n", style="dim"))
    sheet = sheet_of(profile, rows)
    if left := profile.operators_total - len(sheet.rows):
        more = f"{left} more operators; --rows shows more of them"
        sheet = replace(sheet, notes=(more, *sheet.notes))
    print_sheet(sheet, console)
