"""The default exploration in a terminal: how the block's shape decides a matrix product's speed."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import msgspec

from gpuexplorer.charts.build import run_chart, sweep_chart
from gpuexplorer.charts.render import render
from gpuexplorer.charts.words import block_words, config_parts, median_words
from gpuexplorer.cli import EXIT_INTERRUPTED
from gpuexplorer.cli.delivery import Delivery
from gpuexplorer.cli.display import HOW_TO_GET_A_WINDOW
from gpuexplorer.cli.messages import is_terminal, output_console, say, tell
from gpuexplorer.cli.sessions import open_session
from gpuexplorer.cli.sheets import plain_table
from gpuexplorer.core.compared import runs_apart
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import ExplorerError, WorkFailed, WrongResult, without_frames
from gpuexplorer.core.interrupts import interrupts_held
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.units import plural, quantity, speed_than
from gpuexplorer.engine.errors import EngineGone
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.exchange import atomic_file, write_error
from gpuexplorer.workloads.choose import complete, device_for_variant, find_device
from gpuexplorer.workloads.loader import load, pick
from gpuexplorer.workloads.workload import Workload

if TYPE_CHECKING:
    from rich.table import Table

WORKLOAD = "matmul"
VARIANT = "naive"
BLOCKS = (
    (16, 16), (32, 8), (8, 32), (64, 4), (128, 2), (256, 1), (32, 1), (8, 8), (4, 4),
    (2, 128), (1, 256), (1, 32),
)  # fmt: skip
SECONDS_EACH = 1.2
SWEEP_SCHEMA = "gpuexplorer/sweep/1"
RESULTS = Path("gpuexplorer-results")
BAR_CELLS = 24


class Outcome(msgspec.Struct, frozen=True):
    """One configuration with its document, or the error for which it was skipped."""

    config: RunConfig
    result: RunResult | None
    error: ExplorerError | None = None

    @property
    def skipped(self) -> str:
        """The reason why it has no document; empty for one that has."""
        return str(self.error) if self.error is not None else ""

    @property
    def label(self) -> str:
        """The block, or the library variant's name."""
        return block_words(self.config.block) if self.config.block else self.config.variant


def explore(options: argparse.Namespace) -> int:
    """Measure the default workload over block shapes, write charts and JSON, return the code."""
    folder = _results_folder()  # before the work, so that it is not in vain
    try:
        return _explore(options, folder)
    finally:
        for made in (folder, RESULTS):
            with suppress(OSError):
                made.rmdir()  # only when it is empty


def _explore(options: argparse.Namespace, folder: Path) -> int:
    workload = pick(load(options.kernels), WORKLOAD)
    outcomes: list[Outcome] = []
    interrupted = False
    with open_session(options) as session:
        configs = _configs(workload, session.devices())
        device = find_device(session.devices(), configs[0].device)
        _introduce(workload, configs[0], device)
        with _view(len(configs)) as view:
            try:
                for config in configs:
                    view.running(config)
                    outcomes.append(_measure(session, workload, config))
                    view.finished(outcomes)
            except KeyboardInterrupt:
                interrupted = True
        results = [o.result for o in outcomes if o.result is not None]
        if not results:
            if interrupted:
                return EXIT_INTERRUPTED
            raise WorkFailed(
                f"nothing could be measured: {outcomes[0].skipped}",
                remedy="see 'gpuexplorer doctor'",
            )
        delivery = Delivery(verbose=options.verbose)
        with interrupts_held():
            _write(folder, workload, outcomes, results, delivery)
            delivery.show(lambda: _conclude(folder, outcomes))
            failed = _exit_code(outcomes)
            code = delivery.code or failed
    return EXIT_INTERRUPTED if interrupted else code


def _exit_code(outcomes: list[Outcome]) -> int:
    """Return 1 when work failed that the device was to do, and say what was wrong; else 0."""
    errors = [o.error for o in outcomes if isinstance(o.error, WorkFailed | EngineGone)]
    if wrong := sum(isinstance(error, WrongResult) for error in errors):
        say(
            plural(
                wrong,
                "gpuexplorer: {number} configuration gave a wrong result",
                "gpuexplorer: {number} configurations gave a wrong result",
            )
        )
    return WorkFailed.exit_code if errors else 0


def _results_folder() -> Path:
    folder = RESULTS / datetime.now().astimezone().strftime("%Y-%m-%d_%H-%M-%S")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(folder, error) from None
    return folder


def _configs(workload: Workload, devices: DeviceList) -> list[RunConfig]:
    """Return the blocks the device can launch, then the library calls on the same hardware."""
    device = find_device(devices, "auto")
    configs = []
    for block in BLOCKS:
        if _launches(block, device):
            request = RunRequest(workload=workload.name, variant=VARIANT, block=block)
            configs.append(complete(request, workload, devices))
    for name, variant in workload.manifest.variants.items():
        if variant.call is None:
            continue
        where = device_for_variant(devices, variant, device)
        if variant.call in where.libraries and where.hardware_id == device.hardware_id:
            request = RunRequest(workload=workload.name, variant=name, device=where.id)
            configs.append(complete(request, workload, devices))
    return configs


def _launches(block: tuple[int, int], device: DeviceInfo) -> bool:
    limits = device.limits
    fits = all(size <= most for size, most in zip(block, limits.max_block, strict=False))
    return fits and block[0] * block[1] <= limits.max_threads_per_block


def _measure(session: EngineSession, workload: Workload, config: RunConfig) -> Outcome:
    try:
        options = RunOptions(seconds=SECONDS_EACH)
        result = session.measure(config, workload, options).result()
    except ExplorerError as error:
        return Outcome(config, None, without_frames(error))
    return Outcome(result.config, result)


# ---- what is shown while it runs


class _View(Protocol):
    def running(self, config: RunConfig) -> None: ...
    def finished(self, outcomes: list[Outcome]) -> None: ...


@contextmanager
def _view(total: int) -> Iterator[_View]:
    if not is_terminal(sys.stdout):
        yield _PlainView(total)
        return
    from rich.live import Live

    from gpuexplorer.cli.told import told

    view = _LiveView(total)
    with Live(
        get_renderable=lambda: told(view.renderable()),
        console=output_console(),
        refresh_per_second=8,
    ):
        yield view


class _PlainView:
    """One line for each configuration as it is done."""

    def __init__(self, total: int) -> None:
        self._total = total

    def running(self, config: RunConfig) -> None:
        pass

    def finished(self, outcomes: list[Outcome]) -> None:
        latest = outcomes[-1]
        words = latest.skipped and f"skipped: {latest.skipped}"
        if latest.result is not None:
            flops = quantity(latest.result.throughput.flop_per_s, "FLOP/s")
            words = f"{median_words(latest.result):<20} {flops}"
        place = f"[{len(outcomes)}/{self._total}]"
        tell(f"{place:>7}  {latest.label:<14} {words}")


class _LiveView:
    """A table that fills while the bar below it moves."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._outcomes: list[Outcome] = []
        self._running = ""
        self._since = time.monotonic()

    def running(self, config: RunConfig) -> None:
        self._running = block_words(config.block) if config.block else config.variant
        self._since = time.monotonic()

    def finished(self, outcomes: list[Outcome]) -> None:
        self._outcomes = list(outcomes)
        self._running = ""

    def renderable(self) -> Any:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.text import Text

        if len(self._outcomes) == self._total or not self._running:
            return table(self._outcomes)
        share = min((time.monotonic() - self._since) / SECONDS_EACH, 0.95)
        bar = ProgressBar(total=self._total, completed=len(self._outcomes) + share, width=40)
        return Group(table(self._outcomes), Text(f"\nmeasuring {self._running}"), bar)


def table(outcomes: list[Outcome]) -> Table:
    """Return the table of what was measured; the fastest is marked, bars compare the speeds."""
    from rich.text import Text

    made = plain_table()
    made.add_column("block")
    made.add_column("time per launch", justify="right", no_wrap=True)
    made.add_column("speed", justify="right", no_wrap=True)
    made.add_column("", no_wrap=True)
    made.add_column("result")
    speeds = [1 / r.timing.median_s for r in (o.result for o in outcomes) if _ranks(r)]
    for outcome in sorted(outcomes, key=lambda o: o.result is not None and not _ranks(o.result)):
        if outcome.result is None:
            why = Text(f"skipped: {outcome.skipped}")
            made.add_row(outcome.label, "", "", "", why, style="dim")
            continue
        if not _ranks(outcome.result):
            made.add_row(
                outcome.label,
                median_words(outcome.result),
                quantity(outcome.result.throughput.flop_per_s, "FLOP/s"),
                "",
                Text(f"SUSPECT: {outcome.result.timing.suspect}"),
                style="yellow",
            )
            continue
        speed = 1 / outcome.result.timing.median_s
        best = speed == max(speeds)
        check = outcome.result.verification
        cells = max(1, round(BAR_CELLS * speed / max(speeds)))
        made.add_row(
            Text(outcome.label, style="bold green" if best else ""),
            median_words(outcome.result),
            quantity(outcome.result.throughput.flop_per_s, "FLOP/s"),
            Text("━" * cells, style="green" if best else "blue"),
            f"{check.words} {check.max_rel_error:.0e}" if check is not None else "not verified",
        )
    return made


def _ranks(result: RunResult | None) -> TypeGuard[RunResult]:
    """Whether a result may be compared: an impossible figure is shown, and never ranked."""
    return result is not None and result.timing.suspect is None


# ---- before and after


def _introduce(workload: Workload, config: RunConfig, device: DeviceInfo) -> None:
    size = ", ".join(f"{symbol} = {value}" for symbol, value in config.size.items())
    device_facts = filter(None, (device.id, config_parts(config)["threads"]))
    tell(f"{workload.manifest.title}, {config.variant}, {size}, {config.precision}")
    tell(f"{device.name} ({', '.join(device_facts)})")
    tell("The same kernel with other threads per block (x×y), then the libraries:\n")


def _write(
    folder: Path,
    workload: Workload,
    outcomes: list[Outcome],
    results: list[RunResult],
    delivery: Delivery,
) -> None:
    title = workload.manifest.title
    best = min(results, key=lambda r: (not _ranks(r), r.timing.median_s))
    worst = max(results, key=lambda r: r.timing.median_s)
    pinned = [r for r in (results[0], worst) if r is not best]
    document = {
        "schema": SWEEP_SCHEMA,
        "axes": {"block": [o.config.block for o in outcomes if o.config.block]},
        "runs": [
            msgspec.to_builtins(o.result)
            if o.result is not None
            else {"config": msgspec.to_builtins(o.config), "skipped": o.skipped}
            for o in outcomes
        ],
    }
    delivery.file(folder / "exploration.json", lambda path: _write_json(document, path))
    shape = f"{title}: the shape of the block"
    delivery.file(folder / "blocks.png", lambda p: render(sweep_chart(results, title=shape), p))
    named = list({id(r): r for r in pinned}.values())
    best_title = f"{title}: the fastest"
    delivery.file(
        folder / "fastest.png", lambda p: render(run_chart(best, named, title=best_title), p)
    )


def _write_json(document: Any, path: Path) -> None:
    with atomic_file(path) as stream:
        stream.write(msgspec.json.encode(document))


def _ends_words(runs: Mapping[str, RunResult], fastest: str, slowest: str) -> str:
    """Say how far the fastest and the slowest block are apart."""
    found = runs_apart(runs[slowest], runs[fastest])
    if found is None:
        ratio = runs[fastest].timing.median_s / runs[slowest].timing.median_s
        return f"{fastest} is {speed_than(ratio, slowest)}."
    if found.verdict == "can't tell":
        return f"{fastest} cannot be told from {slowest} ({found.interval})."
    return f"{fastest} is {found.than(slowest)}."


def _conclude(folder: Path, outcomes: list[Outcome]) -> None:
    runs = {o.label: o.result for o in outcomes if o.config.block and _ranks(o.result)}
    if len(runs) > 1:
        ordered = sorted(runs, key=lambda label: runs[label].timing.median_s)
        tell(f"\n{_ends_words(runs, ordered[0], ordered[-1])}\n")
    for path in sorted(folder.iterdir()):
        tell(f"wrote {path}")
    say("To get the window:")
    for line in HOW_TO_GET_A_WINDOW:
        say(f"  {line}")
