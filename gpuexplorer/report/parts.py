"""The parts of a page: figures, configuration, device, environment, runs beside each other."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gpuexplorer import reproduce
from gpuexplorer.charts.facts import facts
from gpuexplorer.charts.words import block_words, config_parts
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.units import count, percent, quantity
from gpuexplorer.exchange.imported import SkippedRun
from gpuexplorer.exchange.table import Label
from gpuexplorer.report.html import bullets, paragraph, table, text, told, written

ENVIRONMENT = {
    "gpuexplorer": "GPU Explorer",
    "python": "Python",
    "numpy": "NumPy",
    "cupy": "CuPy",
    "pyopencl": "PyOpenCL",
    "torch": "PyTorch",
    "tensorflow": "TensorFlow",
    "keras": "Keras",
    "jax": "JAX",
    "cuda": "CUDA",
    "source_sha256": "kernel source (SHA-256)",
    "engine": "engine",
}


def badges(result: RunResult) -> str:
    """Return what a reader must know first: whether the figure may be believed."""
    found: list[tuple[str, str]] = []
    check = result.verification
    if check is None:
        found.append(("unknown", "not known to be verified"))
    elif check.ok:
        found.append(("unknown" if check.not_compared else "good", check.words))
    else:
        found.append(("bad", "WRONG RESULT"))
    if result.timing.suspect:
        found.append(("bad", "SUSPECT: the figure cannot be true"))
    if result.timing.marked_throttled:
        found.append(("unknown", "throttled in part"))
    if result.origin is not None:
        found.append(("unknown", f"measured by {result.origin.program}"))
    spans = "".join(f'<span class="badge {kind}">{told(words)}</span>' for kind, words in found)
    return f"<p>{spans}</p>\n"


def figures(result: RunResult) -> str:
    """Return the run's figures, a line each."""
    rows = [(name, figure, words) for name, figure, words in facts(result)]
    return table(rows, kind="figures")


def configuration(result: RunResult) -> str:
    """Return everything that decided what was run."""
    config = result.config
    parts = config_parts(config)
    grid = config.grid
    rows: list[tuple[str, object]] = [
        ("workload", config.workload),
        ("variant", config.variant or None),
        ("size", parts["size"] or None),
        ("threads per block", block_words(config.block) if config.block else None),
        ("blocks", block_words(grid) if grid else None),
        ("precision", config.precision or None),
        ("tunables", parts["tunables"] or "none"),
        ("caches", config.cache),
        ("inputs", f"{config.fill}, seed {config.seed}" if result.origin is None else None),
        ("CPU threads", config.threads),
    ]
    if parts["switches"]:
        rows.append(("switches", parts["switches"]))
    return table(row for row in rows if row[1] is not None)


def device(result: RunResult) -> str:
    """Return the device, and its state over the run."""
    about, state = result.device, result.telemetry
    peak = about.peak_bandwidth_B_per_s
    rows: list[tuple[str, object]] = [
        ("device", about.name),
        ("id", about.id),
        ("driver", about.driver or None),
        ("compute units", about.compute_units),
        ("peak bandwidth", f"{quantity(peak, 'B/s')} ({about.peak_source})" if peak else None),
        ("clock held", _known(state.sm_clock_Hz, "Hz")),
        ("power", _known(state.power_W, "W")),
        ("temperature", f"{state.temperature_C:.0f} °C" if state.temperature_C else None),
        ("device load", percent(state.load) if state.load is not None else None),
        ("read from", state.source),
    ]
    return table(row for row in rows if row[1] is not None)


def _known(value: float | None, unit: str) -> str | None:
    return quantity(value, unit) if value is not None else None


def environment(result: RunResult) -> str:
    """Return the versions that the figures may depend on, and when and by whom they were taken."""
    values = msgspec.structs.asdict(result.environment)
    rows: list[tuple[str, object]] = [("time (UTC)", result.time_utc), ("run", result.id)]
    rows += [(words, values[name]) for name, words in ENVIRONMENT.items()]
    origin = result.origin
    if origin is not None:
        rows += [
            ("measured by", f"{origin.program} {origin.version or ''}".strip()),
            ("called there", origin.what),
            ("read from", origin.file),
            ("note", origin.note or None),
        ]
    return table(row for row in rows if row[1] is not None)


def repeat(result: RunResult) -> str:
    """Return the command that measures this again; nothing for another program's run."""
    command = reproduce.command_of(result)
    return f"<pre><code>{text(command)}</code></pre>\n" if command is not None else ""


def label(found: Label | None) -> str:
    """Return what a user noted on a run."""
    if found is None or not (found.starred or found.tags or found.note):
        return ""
    marks = (["★ starred"] if found.starred else []) + [f"#{tag}" for tag in found.tags]
    return (paragraph(" ".join(marks), "marks") if marks else "") + (
        written(found.note, "words") if found.note else ""
    )


def shared(results: Sequence[RunResult]) -> str:
    """Return what all runs have in common, in words."""
    parts = [config_parts(r.config) for r in results]
    same = [v for name, v in parts[0].items() if v and all(p[name] == v for p in parts)]
    if len({r.device.name for r in results}) == 1:
        same = [*(v for v in same if v != results[0].config.device), results[0].device.name]
    return " · ".join(same)


def left_out(skipped: Sequence[SkippedRun]) -> str:
    """Return the configurations that have no result, by reason."""
    reasons: dict[str, list[str]] = {}
    for one in skipped:
        values = ", ".join(f"{name} = {value}" for name, value in one.values.items())
        reasons.setdefault(one.reason, []).append(values)
    return bullets(
        f"{reason}: {count(len(which))} ({'; '.join([*which[:5], *(['…'] if which[5:] else [])])})"
        for reason, which in sorted(reasons.items(), key=lambda item: -len(item[1]))
    )
