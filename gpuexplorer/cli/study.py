"""``gpuexplorer study``: measures any of the studies, prints its table, writes its files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from gpuexplorer.cli import EXIT_INTERRUPTED
from gpuexplorer.cli.delivery import Delivery
from gpuexplorer.cli.keeping import history_of, say_kept, warn_not_kept
from gpuexplorer.cli.knob_options import request_of
from gpuexplorer.cli.messages import output_console, say
from gpuexplorer.cli.output import check_results
from gpuexplorer.cli.own_files import chosen
from gpuexplorer.cli.progress import steps_progress
from gpuexplorer.cli.sessions import opener
from gpuexplorer.cli.sheets import print_sheet
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.interrupts import interrupts_held
from gpuexplorer.core.studies import STUDY_GROUP, Study, document_and_runs, study_json
from gpuexplorer.core.units import listed, rounds_words
from gpuexplorer.engine.interleave import ROUNDS
from gpuexplorer.exchange.csv_table import write_sheet
from gpuexplorer.history.keeping import Keeping
from gpuexplorer.search.engines import Several
from gpuexplorer.studies import KINDS, chart_of, kind_of, sheet_of
from gpuexplorer.studies.running import How, Running, StudyStep
from gpuexplorer.workloads.workload import Workload


def command(options: argparse.Namespace) -> int:
    """Measure, print the tables, and write the files that were asked for."""
    check_results(options.json, options.csv, plot=options.plot)
    workload = chosen(options, options.workload)
    with (
        history_of(options, warn_not_kept) as store,
        Several(opener(options), options.threads) as session,
    ):
        keeping = Keeping(STUDY_GROUP, store, warn_not_kept)
        lab = lab_of(options, workload, session.devices)
        try:
            with steps_progress(KINDS[options.study].heading) as progress:

                def step(at: StudyStep) -> None:
                    progress(at.done, at.total, at.words)
                    keeping.offer(lambda: document_and_runs(lab.document()))

                study: Study = lab.run(session, step)
        except KeyboardInterrupt:
            study = lab.document()
            if not study.runs:
                say("gpuexplorer: stopped before anything was measured")
                return EXIT_INTERRUPTED
            _deliver(study, options, keeping)
            say(f"gpuexplorer: stopped after {rounds_words(study.rounds)}")
            return EXIT_INTERRUPTED
        except ExplorerError:
            study = lab.document()
            if study.runs:
                _deliver(study, options, keeping)
            raise
        return _deliver(study, options, keeping)


def lab_of(options: argparse.Namespace, workload: Workload, devices: DeviceList) -> Running[Any]:
    """Return the study that the options ask for."""
    kind = KINDS[options.study]
    how = How(
        options.rounds or ROUNDS, options.seconds, options.samples, options.yes,
        exact=options.rounds is not None,
    )  # fmt: skip
    given = {choice.name: getattr(options, f"study_{choice.name}") for choice in kind.choices}
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if kind.over_sizes:
        symbol, sizes, others = _sizes(options.size)
        chosen |= {"symbol": symbol, "sizes": sizes}
        options = argparse.Namespace(**{**vars(options), "size": others})
    return kind.lab(request_of(options), workload, devices, how, **chosen)


def _sizes(
    given: dict[str, tuple[int, ...]],
) -> tuple[str | None, tuple[int, ...] | None, dict[str, int]]:
    """Return the symbol that varies with its values, and the other sizes.

    Where none has several values, the only symbol given has one; with more it is not clear which.
    """
    several = [symbol for symbol, values in given.items() if len(values) > 1]
    if len(several) > 1:
        raise InputError(
            f"{listed(several)} both have several values", remedy="vary one size alone"
        )
    if not several and len(given) == 1:
        several = list(given)
    others = {symbol: values[0] for symbol, values in given.items() if symbol not in several}
    if not several:
        return None, None, others
    return several[0] or None, given[several[0]], others


@interrupts_held()
def _deliver(study: Study, options: argparse.Namespace, keeping: Keeping) -> int:
    """Keep the runs, print the tables, write the files; return the exit code."""
    delivery = Delivery(json=options.json, verbose=options.verbose)
    delivery.besides("the runs are not kept", lambda: keeping.end(*document_and_runs(study)))
    delivery.show(lambda: _print(study))
    delivery.document(lambda: study_json(study))
    delivery.file(options.csv, lambda path: write_sheet(sheet_of(study), path))
    delivery.file(options.plot if study.runs else None, lambda path: _draw(study, path))
    say_kept(keeping, "study.html", options)
    delivery.say_written()
    return delivery.code


def _print(study: Study) -> None:
    from rich.text import Text

    console = output_console()
    console.print(Text(study.title, style="bold"))
    console.print(Text(kind_of(study).subject_of(study), style="dim"))
    console.print(Text(f"{study.device}\n", style="dim"))
    print_sheet(sheet_of(study), console)
    console.print()
    for note in study.notes:
        console.print(Text(note, style="dim"))


def _draw(study: Study, path: Path) -> None:
    from gpuexplorer.charts.render import render

    render(chart_of(study), path)
