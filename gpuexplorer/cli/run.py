"""``gpuexplorer run``: measure one configuration."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from gpuexplorer.analysis.advice.advice import Advice
from gpuexplorer.analysis.advice.choose import advise
from gpuexplorer.charts.words import config_words
from gpuexplorer.cli import EXIT_INTERRUPTED
from gpuexplorer.cli.keeping import LiveKeeping, keep
from gpuexplorer.cli.messages import output_console, say
from gpuexplorer.cli.output import check_results, say_written, write_document
from gpuexplorer.cli.progress import run_progress
from gpuexplorer.cli.sessions import open_session
from gpuexplorer.cli.summary import print_advice, print_summary
from gpuexplorer.cli.tuned import check_tuned, tuned_config
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.engine.protocol import MAX_NOISE
from gpuexplorer.engine.session import Progress
from gpuexplorer.engine.situation import situation_of
from gpuexplorer.exchange import run_json, write_csv
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load, pick
from gpuexplorer.workloads.switches import TRANSFERS
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


def request_of(options: argparse.Namespace) -> RunRequest:
    """Return what the options ask for."""
    return RunRequest(
        workload=options.workload,
        variant=options.variant,
        size=options.size,
        block=options.block,
        precision=options.precision,
        device=options.device,
        tunables=dict(options.set),
        cache=options.cache,
        fill=options.fill,
        seed=options.seed,
        threads=options.threads,
        switches=_switches_of(options),
    )


def _switches_of(options: argparse.Namespace) -> dict[str, bool | int | float | str]:
    names = [name for name, _ in options.switch]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"switch {name} is given twice", remedy="leave one out")
    return {**dict(options.switch), **({TRANSFERS: True} if options.include_transfers else {})}


def command(options: argparse.Namespace) -> int:
    """Measure, print the figures, and write the files that were asked for."""
    check_results(options.json, options.csv, plot=options.plot)
    workload = pick(load(options.kernels), options.workload)
    if options.tuned:
        check_tuned(options)
    with open_session(options) as session:
        config = complete(request_of(options), workload, session.devices())
        if options.tuned:
            config = tuned_config(config, workload, session.devices())
        seconds, max_noise = limits_of(options)
        interrupted, advice = False, None
        counters = None
        try:
            with run_progress(config_words(config)) as progress, LiveKeeping(options) as keeping:

                def look(so_far: Progress) -> None:
                    progress(so_far)
                    keeping.take(session.record)

                if options.ncu:  # first: where it cannot be had, nothing is measured in vain
                    counters = session.count(config, workload, on_progress=progress)
                record = session.measure_record(
                    config,
                    workload,
                    seconds=seconds,
                    max_noise=max_noise,
                    allow_long=options.yes,
                    on_progress=look,
                )
        except KeyboardInterrupt:
            partial = session.partial()
            if partial is None:
                say("gpuexplorer: stopped before the first sample")
                return EXIT_INTERRUPTED
            result, interrupted = partial, True
        else:
            record.count(counters)
            result = record.result()
            advice = advise(situation_of(record, result, workload, session.devices()))
    keep([result], options)  # first: what is printed may go into a pipe that closes
    _deliver(result, advice, workload, options)
    if interrupted:
        say(f"gpuexplorer: stopped after {result.timing.samples} samples")
        return EXIT_INTERRUPTED
    return 0


def _deliver(
    result: RunResult,
    advice: Sequence[Advice] | None,
    workload: Workload,
    options: argparse.Namespace,
) -> None:
    if options.json != "-":
        print_summary(result, workload.manifest.title, output_console())
        if advice is not None:
            print_advice(advice, output_console())
    write_document(options.json, run_json(result))
    if options.csv is not None:
        write_csv([result], options.csv)
    if options.plot is not None:
        from gpuexplorer.charts.build import run_chart
        from gpuexplorer.charts.render import render

        render(run_chart(result, title=workload.manifest.title), options.plot)
    say_written(options.json, options.csv, options.plot)
