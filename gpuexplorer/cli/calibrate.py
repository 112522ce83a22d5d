"""``gpuexplorer calibrate``: measure what a device can do at most, and keep it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gpuexplorer.calibration.calibrate import Calibration
from gpuexplorer.calibration.store import CeilingStore
from gpuexplorer.cli import EXIT_INTERRUPTED
from gpuexplorer.cli.delivery import Delivery
from gpuexplorer.cli.messages import output_console, say
from gpuexplorer.cli.output import STDOUT, check_targets, json_path, pretty_json
from gpuexplorer.cli.progress import steps_progress
from gpuexplorer.cli.sessions import open_session
from gpuexplorer.cli.sheets import plain_table
from gpuexplorer.core.axis_words import threads_words
from gpuexplorer.core.ceilings import MAIN_MEMORY_KINDS, Ceiling, Ceilings
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import CannotRunHere, WorkFailed
from gpuexplorer.core.interrupts import interrupts_held
from gpuexplorer.core.units import percent, plural, quantity
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.workloads.choose import find_device

if TYPE_CHECKING:
    from rich.table import Table

TITLES = {
    "copy": "memory copy",
    "triad": "memory triad",
    "read": "memory, read only",
    "cache": "cache",
    "fma": "multiply-add",
    "gemm": "matrix product",
}


def command(options: argparse.Namespace) -> int:
    """Measure, store, and print one table."""
    check_targets(json_path(options.json))
    store = CeilingStore()
    with open_session(options) as session:
        devices = session.devices()
        device = find_device(devices, options.device)
        calibration = Calibration(devices, device, quick=options.quick)
        try:
            _measure(session, calibration, device)
        except KeyboardInterrupt:
            say("gpuexplorer: stopped; nothing was stored, the calibration before stays as it was")
            return EXIT_INTERRUPTED
        except CannotRunHere:
            say("gpuexplorer: nothing was stored, the calibration before stays as it was")
            raise
        return _deliver(calibration, store, options)


@interrupts_held()
def _deliver(calibration: Calibration, store: CeilingStore, options: argparse.Namespace) -> int:
    """Store and print what was found, and return the exit code."""
    ceilings = calibration.ceilings(store.before)
    delivery = Delivery(json=options.json, verbose=options.verbose)
    paths: list[Path] = []
    delivery.attempt(lambda: paths.append(store.save(ceilings)))
    delivery.show(lambda: _show(ceilings))
    delivery.document(lambda: pretty_json(ceilings))
    if kept := sum(one.time_utc is not None for one in ceilings.ceilings):
        say(
            plural(
                kept,
                "{number} ceiling stays as it was measured before; the table says when",
                "{number} ceilings stay as they were measured before; the table says when",
            )
        )
    for line in calibration.failures if options.verbose else ():
        say(f"not measured: {line}")
    if calibration.failures and not options.verbose:
        failed = plural(
            len(calibration.failures),
            "{number} candidate could not be measured; -v says which and why",
            "{number} candidates could not be measured; -v says which and why",
        )
        say(failed)
    for path in paths if options.json != STDOUT else ():
        say(f"stored {path}")
    return delivery.code or (WorkFailed.exit_code if calibration.missed(ceilings) else 0)


def _measure(session: EngineSession, calibration: Calibration, device: DeviceInfo) -> None:
    with steps_progress(f"calibrating {device.name} ({device.id})") as progress:
        calibration.run(
            lambda task: session.measure(*task.asked).result(),
            lambda task: progress(calibration.done, calibration.total, task.words),
        )


def _show(ceilings: Ceilings) -> None:
    console = output_console()
    for line in _introduction(ceilings):
        console.print(line, markup=False)
    console.print(table(ceilings))
    console.print()
    for words in notes(ceilings):
        console.print(words, markup=False)


def _introduction(ceilings: Ceilings) -> Iterator[str]:
    threads = threads_words(ceilings.threads)
    yield " · ".join(filter(None, (ceilings.name, ceilings.device, ceilings.driver, threads)))
    cache = ceilings.last_level_cache_B
    yield f"last-level cache {quantity(cache, 'B')}" if cache else "last-level cache not known"
    yield "The most this device was measured to do; each run is held against it.\n"


def table(ceilings: Ceilings) -> Table:
    """Return the ceilings as a table."""
    from rich.text import Text

    made = plain_table()
    made.add_column("ceiling", no_wrap=True)
    made.add_column("highest", justify="right", no_wrap=True)
    made.add_column("95 % interval", justify="right", no_wrap=True)
    made.add_column("clock held", justify="right", no_wrap=True)
    made.add_column("how", overflow="fold")
    for ceiling in ceilings.ceilings:
        unit = unit_of(ceiling)
        made.add_row(
            title_of(ceiling),
            Text(quantity(ceiling.value, unit), style="bold"),
            _interval(ceiling),
            quantity(ceiling.clock_held_Hz, "Hz"),
            Text(_how(ceiling), style="dim"),
        )
    return made


def _how(ceiling: Ceiling) -> str:
    """Return what was run, and when if that was not with the others."""
    parts = [ceiling.method.partition(";")[0], (ceiling.time_utc or "")[:10]]
    return " · ".join(filter(None, parts))


def notes(ceilings: Ceilings) -> list[str]:
    """Return what holds for all of the table: the sizes, and which figure is kept."""
    main = next((c for c in ceilings.ceilings if c.kind in MAIN_MEMORY_KINDS), None)
    words = [f"Main memory: {main.method.split('; ')[1]}."] if main is not None else []
    words.append(
        "A ceiling is the median of the fastest stretch of launches among several candidates and "
        "rounds,\nbecause a busy neighbour only ever makes a launch slower."
    )
    return words


def title_of(ceiling: Ceiling) -> str:
    """Return a ceiling's name, such as ``matrix product fp32``."""
    words = TITLES[ceiling.kind]
    if ceiling.precision is not None:
        return f"{words} {ceiling.precision}"
    if ceiling.kind == "cache":
        return f"{words}, {quantity(ceiling.footprint_B, 'B', 2)}"
    return words


def unit_of(ceiling: Ceiling) -> str:
    """Return the unit of a ceiling's value."""
    return "FLOP/s" if ceiling.precision is not None else "B/s"


def _interval(ceiling: Ceiling) -> str:
    if ceiling.ci95_low is None or ceiling.ci95_high is None:
        return "too few samples"
    return f"± {percent((ceiling.ci95_high - ceiling.ci95_low) / 2 / ceiling.value)}"
