"""``gpuexplorer compare``: two or more configurations or stored runs, measured in turns."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gpuexplorer.charts.comparison import shared_words
from gpuexplorer.cli import EXIT_INTERRUPTED
from gpuexplorer.cli.delivery import Delivery
from gpuexplorer.cli.keeping import history_of, say_kept, warn_not_kept
from gpuexplorer.cli.knob_options import request_of, said_knobs
from gpuexplorer.cli.messages import error_console, is_terminal, output_console, say
from gpuexplorer.cli.output import check_results
from gpuexplorer.cli.own_files import teller
from gpuexplorer.cli.progress import now_and_then
from gpuexplorer.cli.sessions import open_session, python_of
from gpuexplorer.cli.sheets import print_sheet
from gpuexplorer.core.compared import (
    ComparisonResult,
    Contestant,
    comparison_json,
    document_and_runs,
    without_runs,
)
from gpuexplorer.core.errors import ExplorerError, InputError, WrongResult
from gpuexplorer.core.interrupts import interrupts_held
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.units import (
    count,
    percent,
    plural,
    quantity,
    rounds_words,
    speed,
    speed_interval,
)
from gpuexplorer.core.verdict import TOLERANCE
from gpuexplorer.engine.interpreters import BUILT_IN
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.history.keeping import Keeping
from gpuexplorer.results.comparison import sheet_of
from gpuexplorer.search.compare import (
    AT_MOST_S,
    Comparing,
    ContestantConfig,
    Standing,
)
from gpuexplorer.search.contestants import (
    ContestantRequest,
    check_followed,
    contestants_of,
    one_number_of_threads,
    read_words,
)
from gpuexplorer.search.outcome import measured_once_more
from gpuexplorer.search.side_by_side import SideBySide
from gpuexplorer.search.stored import compare_runs

if TYPE_CHECKING:
    from rich.console import Console

IN_TURNS = "Without --stored they are measured again, in turns."


def command(options: argparse.Namespace) -> int:
    """Measure in turns, print a table, write the files that were asked for."""
    check_results(options.json, plot=options.plot)
    if len(options.words) < 2:
        raise InputError("a comparison takes two", remedy="name another configuration or run")
    wanted = _wanted(options)
    if options.stored and not any(one.stored for one in wanted):
        raise InputError("--stored is for stored runs", remedy="name one, or leave it out")
    _check_followed(wanted, options)
    if options.stored and all(one.stored for one in wanted):
        return _deliver(_apart([one.stored for one in wanted if one.stored], options), options)
    with history_of(options, warn_not_kept) as store:
        return _measure(wanted, options, Keeping("comparison", store, warn_not_kept))


def _measure(
    wanted: Sequence[ContestantRequest], options: argparse.Namespace, keeping: Keeping
) -> int:
    """Measure what is not stored, and deliver what comes of it."""
    wanted, options.threads = one_number_of_threads(wanted, options.threads)
    general = python_of(options)
    with SideBySide(lambda engine: open_session(options, engine or BUILT_IN)) as engines:
        contestants = contestants_of(wanted, engines.devices, general)
        if options.stored:
            return _partly_stored(engines, contestants, options, keeping)
        comparing = Comparing(
            contestants,
            tolerance=options.same_within or TOLERANCE,
            fail_if_slower=options.fail_if_slower,
            rounds=options.rounds,
            allow_long=options.yes,
        )
        interrupted = False
        try:
            with _progress(comparing) as progress:

                def on_round(standings: Sequence[Standing]) -> None:
                    progress(standings)
                    keeping.offer(lambda: document_and_runs(comparing.result(listed=False)))

                comparing.measure(
                    [engines.measures(one.engine) for one in contestants],
                    seconds=options.seconds or AT_MOST_S,
                    on_round=on_round,
                )
        except KeyboardInterrupt:
            if not comparing.rounds:
                say("gpuexplorer: stopped before the first round was over")
                return EXIT_INTERRUPTED
            interrupted = True
        except ExplorerError:
            if comparing.rounds:
                result = comparing.result()
                _deliver(result, options, keeping, [c.run for c in result.contestants])
            raise
        for engine in engines.restless:
            say(
                f"gpuexplorer: warning: the engine '{engine}' kept the processor busy in others' "
                "turns"
            )
        result = comparing.result()
        code = _deliver(result, options, keeping, [c.run for c in result.contestants])
    if interrupted:
        say(f"gpuexplorer: stopped after {rounds_words(result.rounds)}")
        return EXIT_INTERRUPTED
    return code


def _wanted(options: argparse.Namespace) -> list[ContestantRequest]:
    options.workload = options.workload or ""
    shared = request_of(options)
    return read_words(
        options.words, shared, options.kernels, as_stored=options.stored,
        said=[knob.field for knob in said_knobs(options)], engine=options.python,
        hidden=teller(options.workload),
    )  # fmt: skip


def _check_followed(wanted: Sequence[ContestantRequest], options: argparse.Namespace) -> None:
    """Raise InputError for options that would change nothing here."""
    if options.stored and options.rounds is not None:
        raise InputError(
            "--rounds counts turns, and with --stored nothing is measured in turns",
            remedy="leave one of the two out",
        )
    measuring = [o for o in ("--seconds", "--threads") if getattr(options, o[2:]) is not None]
    check_followed(
        wanted, [knob.option for knob in said_knobs(options) if knob.field != "threads"],
        measuring, "--stored" if options.stored else None,
    )  # fmt: skip


# ---- stored runs as they are


def _partly_stored(
    engines: SideBySide[EngineSession],
    contestants: Sequence[ContestantConfig],
    options: argparse.Namespace,
    keeping: Keeping,
) -> int:
    """Measure the configurations, each by itself, and hold them against the stored runs.

    One that fails for a reason that passes, such as a killed engine, is measured once more.
    What ends it early is followed by what was measured by then, the samples of the run under way
    among it, but for one whose result is wrong.
    """
    runs = [one.stored for one in contestants]
    to_measure = [i for i, run in enumerate(runs) if run is None]
    seconds = (options.seconds or AT_MOST_S) / len(to_measure)
    how = RunOptions(seconds=seconds, max_noise=TOLERANCE, allow_long=options.yes)
    done = 0

    def deliver() -> int:
        """Deliver what there is; 0 where nothing was measured."""
        new = [run for i in to_measure if (run := runs[i]) is not None]
        if not new:
            return 0
        result = _apart([run for run in runs if run is not None], options, {r.id for r in new})
        return _deliver(result, options, keeping, new)

    try:
        for at in to_measure:
            one = contestants[at]
            assert one.workload is not None  # as every configuration has
            session = engines.take_turn(one.engine)
            measure = partial(session.measure, one.config, one.workload, how)
            try:
                run = runs[at] = measured_once_more(measure).result()
            except WrongResult:
                raise
            except (KeyboardInterrupt, ExplorerError):
                runs[at] = session.partial()
                raise
            done += 1
            keeping.take(runs=[run])
    except KeyboardInterrupt:
        if all(runs[i] is None for i in to_measure):
            say("gpuexplorer: stopped before the first sample")
            return EXIT_INTERRUPTED
        deliver()
        total = len(to_measure)
        say(f"gpuexplorer: stopped with {count(done)} of {count(total)} configurations done")
        return EXIT_INTERRUPTED
    except ExplorerError:
        deliver()
        raise
    return deliver()


def _apart(
    runs: Sequence[RunResult], options: argparse.Namespace, fresh: Collection[str] = ()
) -> ComparisonResult:
    return compare_runs(
        runs,
        fresh=fresh,
        tolerance=options.same_within or TOLERANCE,
        fail_if_slower=options.fail_if_slower,
    )


# ---- progress


@contextmanager
def _progress(comparing: Comparing) -> Iterator[Callable[[Sequence[Standing]], None]]:
    """Show the contestants' standing: a line that changes on a terminal, now and then in a log."""
    if is_terminal():
        with error_console().status("the first round: compiling and verifying") as status:
            yield lambda standings: status.update(_standing_words(comparing.rounds, standings))
        return
    yield now_and_then(lambda standings: _standing_words(comparing.rounds, standings))


def _standing_words(rounds: int, standings: Sequence[Standing]) -> str:
    parts = [f"round {rounds}"]
    for one in standings:
        found = one.comparison
        if found is not None:
            parts.append(f"{one.label}: {found.words}")
    return " · ".join(parts)


# ---- results


@interrupts_held()
def _deliver(
    result: ComparisonResult,
    options: argparse.Namespace,
    keeping: Keeping | None = None,
    new: Sequence[RunResult] = (),
) -> int:
    """Keep the new runs, print and write the result, and return the exit code."""
    delivery = Delivery(json=options.json, verbose=options.verbose)
    if keeping is not None:
        delivery.besides("the runs are not kept", lambda: keeping.end(without_runs(result), new))
    delivery.show(lambda: print_comparison(result, output_console()))
    delivery.document(lambda: comparison_json(result))
    delivery.file(options.plot, lambda path: _draw(result, path))
    say_kept(keeping, "comparison.html", options)
    delivery.say_written()
    return _exit_code(result) or delivery.code


def _draw(result: ComparisonResult, path: Path) -> None:
    from gpuexplorer.charts.comparison import comparison_chart
    from gpuexplorer.charts.render import render

    render(comparison_chart(result), path)


def _exit_code(result: ComparisonResult) -> int:
    """Return 1 when one is too slow, and say what is or cannot be told to be."""
    limit = result.fail_if_slower
    if limit is None:
        return 0
    for one in result.others:
        if one.too_slow is None:
            say(
                f"gpuexplorer: whether {one.label} is slower by more than {percent(limit)} cannot "
                f"be told ({_interval(one) or 'too few rounds'})"
            )
    slow = [one for one in result.others if one.too_slow]
    for one in slow:
        words = speed(one.ratio, one.ci95_low, one.ci95_high, "slower")  # beyond the limit it is
        say(f"gpuexplorer: {one.label} is slower by more than {percent(limit)}: {words}")
    return 1 if slow else 0


def _interval(one: Contestant) -> str:
    if one.ratio is None or one.ci95_low is None or one.ci95_high is None:
        return ""
    return speed_interval(one.ratio, one.ci95_low, one.ci95_high)


ENDS = {
    "verdict": "it was clear",
    "rounds": "as many as asked for",
    "time": "the time was up",
    "user": "stopped",
}


def print_comparison(result: ComparisonResult, console: Console) -> None:
    """Print the comparison as a table, with what a reader should know of it below."""
    from rich.text import Text

    reference = result.contestants[result.reference]
    console.print(Text(shared_words(result) or "Comparison", style="bold"))
    device = reference.run.device
    console.print(Text(f"{device.name} · {device.id} · {device.driver}\n", style="dim"))
    print_sheet(sheet_of(result), console)
    console.print()
    if result.interleaved:
        rounds = plural(result.rounds, "{number} round in turns", "{number} rounds in turns")
        end, tolerance = ENDS[result.stopped_by], percent(result.tolerance)
        console.print(
            Text(f"{rounds}; {end}. Ratios within {tolerance} of 1 are the same.", style="dim")
        )
    else:
        console.print(Text(IN_TURNS))
    for one in result.contestants:
        if one.stored_id is not None and one.stored_median_s is not None and result.interleaved:
            then = quantity(one.stored_median_s, "s")
            console.print(Text(f"{one.label}: {then} when it was stored as {one.stored_id[:8]}."))
