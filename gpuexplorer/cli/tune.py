"""``gpuexplorer tune``: search for the fastest block and tunables, and keep what was found."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from gpuexplorer.charts.tuning import failures
from gpuexplorer.charts.words import config_words, knob_words
from gpuexplorer.cli import EXIT_INTERRUPTED
from gpuexplorer.cli.cluster import cluster_of
from gpuexplorer.cli.delivery import Delivery
from gpuexplorer.cli.detach import Collecting, begin_taking, check_detach, collected, detach
from gpuexplorer.cli.keeping import history_of, say_recovered
from gpuexplorer.cli.knob_options import request_of
from gpuexplorer.cli.messages import error_console, is_terminal, output_console, say
from gpuexplorer.cli.output import check_targets, json_path
from gpuexplorer.cli.own_files import chosen
from gpuexplorer.cli.progress import now_and_then
from gpuexplorer.cli.sessions import open_session
from gpuexplorer.cli.sheets import print_sheet
from gpuexplorer.cli.tuned import tuning_line
from gpuexplorer.cluster.connection import Cluster
from gpuexplorer.cluster.standing import working_words
from gpuexplorer.core.axis_words import threads_words
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.interrupts import interrupts_held
from gpuexplorer.core.language import tr
from gpuexplorer.core.tuning import Budget, Tuning, leading, tuning_json
from gpuexplorer.core.units import count, plural, quantity
from gpuexplorer.engine.errors import error_of
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.results.tuning import sheet_of
from gpuexplorer.search.detached import TuneWork
from gpuexplorer.search.tune import Tuner, TuningOptions, TuningProgress
from gpuexplorer.search.tune_keep import TuningKeeper
from gpuexplorer.search.tune_sampler import check_sampler
from gpuexplorer.search.tune_space import Ranges, TuningSpace, tuning_space
from gpuexplorer.workloads.workload import Workload

MOST_REASONS = 5
DEFAULT_BUDGET_S = 60.0


def command(options: argparse.Namespace) -> int:
    """Tune, print who won and who cannot be told from it, and keep that."""
    check_targets(json_path(options.json))
    if options.collecting is not None:
        return _collect(options.collecting, options)
    check_sampler(options.sampler)
    workload = chosen(options, options.workload)
    check_detach(options)
    cluster = cluster_of(options)
    with cluster or open_session(options) as session, history_of(options, _warn) as store:
        devices = session.devices() if isinstance(session, EngineSession) else session.devices
        space = tuning_space(request_of(options), workload, devices, ranges_of(options))
        search = options_of(options)
        tuner = Tuner(session, workload, space, search)
        if options.detach:
            asked = TuneWork(request=request_of(options), ranges=ranges_of(options), options=search)
            return detach(options, workload, devices, tuning=asked)
        keeper = TuningKeeper(store, _warn)
        try:
            title = _title(space)
            with tune_progress(title, budget_of(options), cluster) as tuner.on_progress:
                tuning = keeper.run(tuner)
        except KeyboardInterrupt:
            return _unfinished(tuner.so_far(), options)
        except ExplorerError:
            if (so_far := tuner.so_far()).evaluations:
                _unfinished(so_far, options)
            raise
        return _deliver(tuning, workload, keeper, options)


@interrupts_held()
def _deliver(
    tuning: Tuning, workload: Workload, keeper: TuningKeeper, options: argparse.Namespace
) -> int:
    delivery = Delivery(json=options.json, verbose=options.verbose)
    title = workload.manifest.title
    delivery.show(lambda: print_tuning(tuning, title, verbose=options.verbose))
    delivery.document(lambda: tuning_json(tuning))
    delivery.say_written()
    if keeper.found:
        say_recovered(keeper.recovered)
        say(f"kept; run it with: {tuning_line('run', tuning.start, workload, options)}")
    return delivery.code


def _collect(collecting: Collecting, options: argparse.Namespace) -> int:
    """Take a detached tuning into the history once it has ended, and show it."""
    job, work, outcomes = collected(collecting.job)
    last = outcomes[-1]
    if last.tuning is None and last.failed is None:
        raise InputError(
            f"job {job.id} has not named anything yet, and what a tuning finds is taken as a whole",
            remedy=f"follow it: jobs follow {job.id}",
        )
    warn = collecting.heard_of(_warn)
    with history_of(options, warn) as store:
        keeper = TuningKeeper(store, warn, group=job.group or None)
        if last.tuning is not None:
            keeper.begin(last.tuning)
            for outcome in outcomes:
                if outcome.result is not None:
                    keeper.keep(outcome.result)
            keeper.finish(last.tuning)
            begin_taking(job, keeper.group)
        collecting.refused &= not keeper.recovered
    collecting.handed_on = True
    if last.failed is not None:
        if last.tuning is not None:
            _unfinished(last.tuning, options)
        collecting.refused |= options.no_history  # nothing else has what was measured
        raise error_of(last.failed)
    assert last.tuning is not None
    code = _deliver(last.tuning, Workload(work.source), keeper, options)
    if code and options.no_history:
        collecting.refused = True  # nothing else has what was asked for
    return code


def ranges_of(options: argparse.Namespace) -> Ranges:
    """Return the values to choose among."""
    given = {f"block.{axis}": getattr(options, f"block_{axis}") for axis in "xyz"}
    return Ranges(
        block={name: values for name, values in given.items() if values is not None},
        tunables=dict(options.choices),
    )


def budget_of(options: argparse.Namespace) -> Budget:
    """Return the budget that was asked for, or the sampler's own."""
    if options.budget is not None:
        found: Budget = options.budget
        return found
    return Budget() if options.sampler == "grid" else Budget(seconds=DEFAULT_BUDGET_S)


def options_of(options: argparse.Namespace) -> TuningOptions:
    """Return how to search."""
    return TuningOptions(
        sampler=options.sampler,
        budget=budget_of(options),
        samples=options.samples,
        racing=options.racing,
        seed=options.seed,
        allow_long=options.yes,
    )


def _warn(error: ExplorerError) -> None:
    say(f"gpuexplorer: warning: the tuning is not kept: {error}")


def _title(space: TuningSpace) -> str:
    start = space.start
    size = ", ".join(f"{symbol} = {value}" for symbol, value in start.size.items())
    return f"tuning {start.workload} · {start.variant} · {size} · {start.precision}"


@interrupts_held()
def _unfinished(tuning: Tuning, options: argparse.Namespace) -> int:
    """Write and say what a tuning that was broken off has found."""
    delivery = Delivery(json=options.json, verbose=options.verbose)
    if tuning.evaluations:
        delivery.document(lambda: tuning_json(tuning))
        delivery.say_written()
    tried = plural(
        tuning.tried,
        "stopped after {number} configuration",
        "stopped after {number} configurations",
    )
    parts = [tried, "nothing is named"]
    for best in leading(tuning.evaluations)[:1]:
        median = quantity(best.median_s, "s")
        parts.append(
            f"the fastest in the search was {knob_words(best.config)} with {median}, which no "
            "final confirmed"
        )
    say(f"gpuexplorer: {'; '.join(parts)}")
    return EXIT_INTERRUPTED


# ---- what is printed


def print_tuning(tuning: Tuning, title: str, *, verbose: bool) -> None:
    """Print the finalists, the one to use and why, and what was tried."""
    from rich.text import Text

    console = output_console()
    plain = msgspec.structs.replace(tuning.start, block=None, tunables={}, threads=None)
    words = config_words(plain).partition(" · ")[2]
    console.print(Text.assemble((title, "bold"), f"  {words}"))
    if tuning.device is not None:
        facts = (tuning.device.name, tuning.device.driver, threads_words(tuning.threads))
        console.print(Text(f"{' · '.join(filter(None, facts))}\n", style="dim"))
    print_sheet(sheet_of(tuning), console)
    for line in failures(tuning, most=None if verbose else MOST_REASONS):
        console.print(Text(line, style="dim"))


# ---- how far it is


ProgressSink = Callable[[TuningProgress], None]


@contextmanager
def tune_progress(
    title: str, budget: Budget, cluster: Cluster | None = None
) -> Iterator[ProgressSink]:
    """Show how far a tuning is until the block ends, and what a ``cluster``'s workers do."""
    if is_terminal():
        with _bar(title, budget, cluster) as sink:
            yield sink
    else:
        yield now_and_then(
            lambda progress: f"{title}: {done_words(progress)}, {best_words(progress)}"
        )


def best_words(progress: TuningProgress) -> str:
    """Return the best so far, such as ``best 1.35 ms with 128×4``."""
    best = progress.best
    if best is None:
        return "nothing measured yet"
    return f"best {quantity(best.median_s, 's')} with {knob_words(best.config)}"


def done_words(progress: TuningProgress) -> str:
    """Return how much is done, such as ``12 of 40 configurations``."""
    final = progress.phase == "final"
    if progress.total is None:
        return (
            plural(progress.done, "{number} round of the final", "{number} rounds of the final")
            if final
            else plural(progress.done, "{number} configuration", "{number} configurations")
        )
    done, total = count(progress.done), count(progress.total)
    return (
        f"{done} of {total} rounds of the final" if final else f"{done} of {total} configurations"
    )


@contextmanager
def _bar(title: str, budget: Budget, cluster: Cluster | None) -> Iterator[ProgressSink]:
    from rich.console import Group
    from rich.live import Live
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as RichProgress
    from rich.text import Text

    bar = RichProgress(BarColumn(bar_width=30), TextColumn("{task.description}", style="dim"))
    workers = Text(style="dim", no_wrap=True, overflow="ellipsis")
    below = [workers] if cluster is not None else []
    shown = Group(Text(tr(title), no_wrap=True, overflow="ellipsis"), bar, *below)

    def tell() -> None:
        if cluster is not None:
            workers.plain = tr(working_words(cluster.workers))

    with Live(shown, console=error_console(), transient=True):
        task = bar.add_task(tr("starting the engine"), total=None)
        if cluster is not None:
            cluster.on_live = tell

        def sink(progress: TuningProgress) -> None:
            total: float | None = progress.total
            done: float = progress.done
            if progress.phase == "search" and budget.seconds is not None:
                total, done = budget.seconds, min(progress.elapsed_s, budget.seconds)
            words = f"{done_words(progress)} · {best_words(progress)}"
            bar.update(task, total=total, completed=done, description=tr(words))
            tell()

        yield sink
