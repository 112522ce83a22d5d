"""``gpuexplorer sweep``: measure every combination of the values that some knobs take."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuexplorer.calibration.store import CeilingStore
from gpuexplorer.cli import EXIT_INTERRUPTED
from gpuexplorer.cli.cluster import cluster_of
from gpuexplorer.cli.delivery import Delivery
from gpuexplorer.cli.detach import Collecting, begin_taking, check_detach, collected, detach
from gpuexplorer.cli.keeping import say_recovered, warn_not_kept
from gpuexplorer.cli.messages import error_console, is_terminal, output_console, say
from gpuexplorer.cli.output import check_results
from gpuexplorer.cli.own_files import chosen
from gpuexplorer.cli.progress import now_and_then
from gpuexplorer.cli.sessions import opener, python_of
from gpuexplorer.cli.sheets import print_sheet
from gpuexplorer.cluster.connection import Cluster
from gpuexplorer.cluster.standing import live_words
from gpuexplorer.core.errors import ExplorerError, InputError, WorkFailed, WrongResult
from gpuexplorer.core.interrupts import interrupts_held
from gpuexplorer.core.knobs import BLOCK_AXES, BY_AXIS, TRANSFERS, request_from
from gpuexplorer.core.language import tr
from gpuexplorer.core.sweep import SweepDocument, reasons, sweep_json
from gpuexplorer.core.units import count, plural
from gpuexplorer.exchange.csv_table import write_sheet
from gpuexplorer.history.place import shown
from gpuexplorer.results.sweep import fastest_sheet, sheet_of
from gpuexplorer.search.collected import Collected
from gpuexplorer.search.engines import Engines
from gpuexplorer.search.measuring import AT_MOST_S, Measuring
from gpuexplorer.search.space import Axis, Space
from gpuexplorer.search.space_sweep import SpaceSweep
from gpuexplorer.search.sweep import SweepStep
from gpuexplorer.workloads.manifest import Manifest
from gpuexplorer.workloads.workload import Workload

if TYPE_CHECKING:
    from gpuexplorer.history.store import Store

SHOWN_REASONS = 6
AXES = ("device", "threads", "fill", "cache", "variant", "precision", "size", "tunable", "switch",
        "block", *BLOCK_AXES)  # fmt: skip
"""In the order in which a sweep goes through them: the last one changes fastest."""


def command(options: argparse.Namespace) -> int:
    """Measure the space; 1 when all failed, one is wrong or may be repeated, 2, 3 if none runs."""
    check_results(options.json, options.csv, plot=options.plot)
    collecting: Collecting | None = options.collecting
    job, work, found = collected(collecting.job) if collecting is not None else (None, None, [])
    # What a job measured, it measured of the sources as they were then.
    if work is None:
        workload = chosen(options, options.workload)
    else:
        workload = Workload(work.source)
        options.workload = workload.name
    space = space_of(options, workload.manifest)
    warn = collecting.heard_of(warn_not_kept) if collecting is not None else warn_not_kept
    store = _store_of(options, warn)
    ceilings = CeilingStore().find
    threads = space.by_name["threads"].values[0] if "threads" in space.by_name else None
    try:
        with (
            Collected(work, found)
            if work is not None
            else measuring_on(options, threads or space.base.threads)
        ) as engines:
            space_sweep = SpaceSweep(
                space,
                workload,
                engines.devices,
                measuring_of(options),
                seed=options.order_seed,
                store=store,
                resume=options.resume,
                into=(job.group or None) if job is not None else None,
                python=python_of(options),
                ceilings=ceilings,
                on_trouble=warn,
            )
            _announce(space_sweep, options)
            if options.dry_run:
                _show_reasons(space_sweep.document())
                return 0
            if options.detach and space_sweep.waiting:
                return detach(
                    options,
                    workload,
                    engines.devices,
                    space_sweep.group,
                    configs=space_sweep.sweep.coming,
                    options=space_sweep.measuring,
                )
            space_sweep.begin()
            if job is not None:
                begin_taking(job, space_sweep.group)
            return _run(space_sweep, engines, options)
    finally:
        if store is not None:
            store.close()


def measuring_on(options: argparse.Namespace, threads: int | None) -> Engines | Cluster:
    """Return what measures: this machine's engine, or the workers of a cluster."""
    check_detach(options)
    return cluster_of(options) or Engines(opener(options), threads)


def _run(
    space_sweep: SpaceSweep, engines: Engines | Cluster | Collected, options: argparse.Namespace
) -> int:
    try:
        cluster = engines if isinstance(engines, Cluster) else None
        with sweep_progress(space_sweep.waiting, cluster) as progress:
            space_sweep.sweep.on_step = progress
            document = space_sweep.run(engines)
        say_recovered(space_sweep.recovered)
        if options.collecting is not None:
            options.collecting.handed_on = True
            options.collecting.refused &= not space_sweep.recovered
    except KeyboardInterrupt:
        say_recovered(space_sweep.recovered)
        _deliver(space_sweep.document(), options)
        stopped = f"gpuexplorer: stopped with {_state(space_sweep)}"
        say("; ".join([stopped, *_again(space_sweep, options)]))
        return EXIT_INTERRUPTED
    except ExplorerError:
        _deliver(space_sweep.document(), options)
        say(f"gpuexplorer: ended with {_state(space_sweep)}")
        raise
    code = _deliver(document, options)
    if code and options.no_history and options.collecting is not None:
        options.collecting.refused = True  # nothing else has what was asked for
    if wrong := space_sweep.count("wrong"):
        say(
            plural(
                wrong,
                "gpuexplorer: {number} configuration gave a wrong result",
                "gpuexplorer: {number} configurations gave a wrong result",
            )
        )
        code = code or WrongResult.exit_code
    if space_sweep.unfinished:
        if options.collecting is not None:
            options.collecting.unfinished = True
        said = []
        if lost := space_sweep.count("lost"):
            said.append(
                plural(
                    lost,
                    "{number} configuration was lost because the engine was ended",
                    "{number} configurations were lost because the engine was ended",
                )
            )
        if short := space_sweep.count("short"):
            said.append(
                plural(
                    short,
                    "memory was short for {number} configuration",
                    "memory was short for {number} configurations",
                )
            )
        trouble = f"gpuexplorer: {', '.join(said)}"
        say("; ".join([trouble, *_again(space_sweep, options)]))
        code = code or WorkFailed.exit_code
    if not document.measured:
        why = next(iter(reasons(document.runs)))
        raise WorkFailed(f"none of the {count(len(document.runs))} configurations ran: {why}")
    return code


def _again(space_sweep: SpaceSweep, options: argparse.Namespace) -> list[str]:
    """Say how to continue a job, or what the history has; of others there is nothing to say."""
    if options.collecting is not None:
        return [f"continue with: gpuexplorer jobs continue {options.collecting.job}"]
    if not space_sweep.stored:
        return []
    return [f"continue with: {_resume_line(options)}"]


def _state(space_sweep: SpaceSweep) -> str:
    done = len(space_sweep.cells) - space_sweep.waiting - space_sweep.unfinished
    return f"{count(done)} of {count(len(space_sweep.cells))} configurations done"


def _resume_line(options: argparse.Namespace) -> str:
    words = [w for w in options.arguments if w != "--resume"]
    return shown(shlex.join(["gpuexplorer", *words, "--resume"]))


# ---- what is asked for


def space_of(options: argparse.Namespace, manifest: Manifest) -> Space:
    """Return the space that the options span: one value is a setting, several are an axis."""
    first = next(iter(manifest.sizes))
    lists: dict[str, tuple[Any, ...]] = {}
    for axis in AXES:
        values = getattr(options, axis.replace(".", "_"))
        if BY_AXIS[axis].named:
            lists |= {f"{axis}.{symbol or first}": v for symbol, v in dict(values).items()}
        else:
            lists[axis] = values
    one = {n: v[0] for n, v in lists.items() if len(v) == 1 and n not in BLOCK_AXES}
    shared = {"seed": options.seed, TRANSFERS: options.include_transfers}
    base = request_from(options.workload, one | shared)
    axes = tuple(Axis(n, v) for n, v in lists.items() if v and n not in one)
    if not axes:
        raise InputError(
            "nothing to sweep: every knob has one value",
            remedy="give some several, such as --block-x 1:256:*2 --block-y 1,2,4",
        )
    return Space(base, axes)


def measuring_of(options: argparse.Namespace) -> Measuring:
    """Return how each configuration is measured: samples by default, or as asked for."""
    samples, seconds, noise = options.samples, options.seconds, options.noise
    if samples is None and seconds is None and noise is None:
        return Measuring(allow_long=options.yes)
    return Measuring(
        samples=samples,
        seconds=AT_MOST_S if seconds is None else seconds,
        max_noise=noise,
        allow_long=options.yes,
    )


def _store_of(options: argparse.Namespace, warn: Callable[[ExplorerError], None]) -> Store | None:
    """Open the history; where it cannot be, the sweep goes without, unless it is gone on with."""
    if options.no_history and options.resume:
        raise InputError("a sweep is continued from the history", remedy="leave --no-history out")
    if options.no_history or (options.dry_run and not options.resume):
        return None
    from gpuexplorer.history.store import Store

    try:
        return Store.open_to_read() if options.dry_run else Store.open()
    except ExplorerError as error:
        if options.resume:
            raise
        warn(error)
        return None


# ---- what is said


def _announce(space_sweep: SpaceSweep, options: argparse.Namespace) -> None:
    """Say how much there is to do, and how long it may take."""
    total, waiting = len(space_sweep.cells), space_sweep.waiting
    illegal = sum(cell.point.config is None for cell in space_sweep.cells)
    parts = [f"{count(total)} configurations"]
    if illegal:
        parts.append(f"{count(illegal)} cannot run")
    if space_sweep.continues:
        parts.append(f"{count(space_sweep.resumed)} done before")
        if space_sweep.unreadable:
            parts.append(f"{count(space_sweep.unreadable)} more cannot be read in the history")
    elif options.resume:
        parts.append("no earlier sweep like this to continue")
    parts.append(f"{count(waiting)} to measure")
    if waiting:
        parts.append(f"time: {space_sweep.sweep.left.words}")
    say(f"gpuexplorer: {', '.join(parts)}")


@interrupts_held()
def _deliver(document: SweepDocument, options: argparse.Namespace) -> int:
    delivery = Delivery(json=options.json, verbose=options.verbose)
    delivery.show(lambda: _show(document))
    delivery.document(lambda: sweep_json(document))
    delivery.file(options.csv, lambda path: write_sheet(sheet_of(document), path))
    delivery.file(options.plot if document.measured else None, lambda path: _draw(document, path))
    delivery.say_written()
    return delivery.code


def _draw(document: SweepDocument, path: Path) -> None:
    from gpuexplorer.charts.render import render
    from gpuexplorer.charts.sweep import chart_of_sweep

    render(chart_of_sweep(document.outcomes), path)


def _show(document: SweepDocument) -> None:
    """Print the fastest configurations, of each size, and why others were skipped."""
    console, sheet = output_console(), fastest_sheet(document)
    if sheet.rows:
        console.print(sheet.title, markup=False)
        print_sheet(sheet, console)
    suspects = sum(run.timing.suspect is not None for run in document.measured)
    if suspects:
        console.print(f"{count(suspects)} cannot be true and are not ranked", markup=False)
    _show_reasons(document)


def _show_reasons(document: SweepDocument) -> None:
    counted = list(reasons(document.runs).items())
    if not counted:
        return
    console = output_console()
    console.print(f"skipped: {count(sum(n for _, n in counted))}", style="dim", markup=False)
    for reason, number in counted[:SHOWN_REASONS]:
        console.print(f"  {count(number)} × {reason}", style="dim", markup=False)
    if len(counted) > SHOWN_REASONS:
        more = f"  and {count(len(counted) - SHOWN_REASONS)} more reasons, in --json and --csv"
        console.print(more, style="dim", markup=False)


# ---- how far it is


StepSink = Callable[[SweepStep], None]


@contextmanager
def sweep_progress(waiting: int, cluster: Cluster | None = None) -> Iterator[StepSink]:
    """Show how far a sweep is until the block ends; ``waiting`` configurations are to come.

    Of a ``cluster`` that measures it is shown what its workers sample.
    """
    if not waiting:
        yield lambda step: None
    elif not is_terminal():
        plain = now_and_then(_step_words)
        yield lambda step: None if step.ended else plain(step)
    else:
        with _bar(cluster) as sink:
            yield sink


def _step_words(step: SweepStep) -> str:
    return (
        f"{count(step.done)} of {count(step.total)} done, left: {step.left.words}, "
        f"now {step.cell.point.words}"
    )


@contextmanager
def _bar(cluster: Cluster | None) -> Iterator[StepSink]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    bar = Progress(
        BarColumn(bar_width=30), MofNCompleteColumn(), TextColumn("{task.fields[left]}"),
        TextColumn("{task.description}", style="dim"),
        console=error_console(), transient=True,
    )  # fmt: skip
    with bar:
        task = bar.add_task("", total=None, left="")

        def sink(step: SweepStep) -> None:
            left = f"left: {step.left.words}"
            bar.update(task, completed=step.done, total=step.total, left=tr(left))
            if not step.ended and (cluster is None or not live_words(cluster.workers)):
                bar.update(task, description=tr(step.cell.point.words))

        if cluster is not None:
            cluster.on_live = lambda: bar.update(task, description=tr(live_words(cluster.workers)))
        yield sink
