"""``gpuexplorer run``: measure one configuration."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from gpuexplorer.analysis.advice.choose import advise
from gpuexplorer.analysis.advice.situation import Situation
from gpuexplorer.charts.words import config_words
from gpuexplorer.cli import EXIT_INTERRUPTED
from gpuexplorer.cli.delivery import Delivery
from gpuexplorer.cli.keeping import LiveKeeping, keep
from gpuexplorer.cli.knob_options import request_of
from gpuexplorer.cli.messages import output_console, report, say
from gpuexplorer.cli.output import STDOUT, check_results
from gpuexplorer.cli.own_files import chosen
from gpuexplorer.cli.progress import run_progress
from gpuexplorer.cli.sessions import open_session
from gpuexplorer.cli.summary import print_advice, print_summary
from gpuexplorer.cli.tuned import check_tuned, tuned_config
from gpuexplorer.core.errors import ExplorerError, WrongResult
from gpuexplorer.core.interrupts import interrupts_held
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.units import samples_words
from gpuexplorer.engine.accesses import count_requests
from gpuexplorer.engine.protocol import MAX_NOISE
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.session import RunProgress
from gpuexplorer.engine.situation import situation_of
from gpuexplorer.exchange.csv_table import write_csv
from gpuexplorer.exchange.document import run_json
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.workload import Workload

AT_MOST_S = 5.0
"""How long a run without ``--seconds`` may sample."""
AT_MOST_WITH_NOISE_S = 60.0
"""The same when a noise was asked for."""


def limits_of(options: argparse.Namespace) -> tuple[float, float | None]:
    """Return how long to sample at the most, and the noise that ends it earlier."""
    if options.noise is not None:
        return options.seconds or AT_MOST_WITH_NOISE_S, options.noise
    if options.seconds is not None:
        return options.seconds, None
    return AT_MOST_S, MAX_NOISE


def command(options: argparse.Namespace) -> int:
    """Measure, print the figures, and write the files that were asked for.

    A run that ends early by an error is printed and kept with the samples it has, and the error
    follows; one whose result was found wrong only where a part of it is in the history already.
    """
    if options.watch:
        from gpuexplorer.cli.watch import watch

        return watch(options)
    check_results(options.json, options.csv, plot=options.plot)
    workload = chosen(options, options.workload)
    if options.tuned:
        check_tuned(options)
    with open_session(options) as session:
        config = complete(request_of(options), workload, session.devices())
        if options.tuned:
            config = tuned_config(config, workload, session.devices(), options)
        seconds, max_noise = limits_of(options)
        interrupted = False
        failure: ExplorerError | None = None
        counters = None
        sampled: RunRecord | None = None
        keeping = LiveKeeping(options)
        try:
            with run_progress(config_words(config)) as progress, keeping:

                def look(so_far: RunProgress) -> None:
                    progress(so_far)
                    keeping.take(session.record)

                if options.ncu:  # first: where it cannot be had, nothing is measured in vain
                    counters = session.count(config, workload, on_progress=progress)
                how = RunOptions(seconds=seconds, max_noise=max_noise, allow_long=options.yes)
                sampled = session.measure(config, workload, how, on_progress=look)
        except KeyboardInterrupt:
            sampled, interrupted = session.record, True
        except ExplorerError as error:
            sampled, failure = session.record, error
        _keep_earlier(session.earlier, options)
        is_wrong = isinstance(failure, WrongResult) and not keeping.has_begun
        if failure is not None and (sampled is None or is_wrong):
            raise failure
        if sampled is None:
            say("gpuexplorer: stopped before the first sample")
            return EXIT_INTERRUPTED
        record = sampled
        record.count(counters)
        if not interrupted and failure is None:
            with run_progress(config_words(config)) as progress:
                record.accesses = count_requests(session, record, workload, progress)
        result = record.result()
        devices = session.devices()
        ended_early = interrupted or failure is not None
        judged = None if ended_early else lambda: situation_of(record, result, workload, devices)
        code = _deliver(result, workload, judged, options)
    if interrupted:
        say(f"gpuexplorer: stopped after {samples_words(result.timing.samples)}")
        return EXIT_INTERRUPTED
    if failure is not None:
        code = report(failure, verbose=options.verbose)
        say(f"gpuexplorer: the run ended early, after {samples_words(result.timing.samples)}")
    return code


@interrupts_held()
def _keep_earlier(earlier: Sequence[RunRecord], options: argparse.Namespace) -> None:
    """Keep what was sampled before the way a run was timed stopped working, and say so."""

    def is_kept(result: RunResult) -> bool:
        keep([result], options)
        return not options.no_history

    for record in earlier:
        kept = Delivery().besides("the run is not kept", partial(is_kept, record.result()))
        samples, run = samples_words(record.samples), record.id[:8]
        say(
            f"gpuexplorer: the way it was timed stopped working after {samples}, kept as run "
            f"{run}; from then on it was timed in another way"
            if kept
            else f"gpuexplorer: the way it was timed stopped working after {samples}, not kept; "
            "from then on it was timed in another way"
        )


@interrupts_held()
def _deliver(
    result: RunResult,
    workload: Workload,
    judged: Callable[[], Situation] | None,
    options: argparse.Namespace,
) -> int:
    """Keep, print and write a result, with advice on the situation it was ``judged`` to be."""
    delivery = Delivery(json=options.json, verbose=options.verbose)
    delivery.besides("the run is not kept", lambda: keep([result], options))
    title = workload.manifest.title
    delivery.show(lambda: print_summary(result, title, output_console()))
    if judged is not None and options.json != STDOUT:
        advice = delivery.besides("there is no advice", lambda: advise(judged()))
        if advice is not None:
            delivery.show(lambda: print_advice(advice, output_console()))
    delivery.document(lambda: run_json(result))
    delivery.file(options.csv, lambda path: write_csv([result], path))
    delivery.file(options.plot, lambda path: _draw(result, title, path))
    delivery.say_written()
    return delivery.code


def _draw(result: RunResult, title: str, path: Path) -> None:
    from gpuexplorer.charts.build import run_chart
    from gpuexplorer.charts.render import render

    render(run_chart(result, title=title), path)
