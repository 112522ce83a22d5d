"""A configuration and its figures in words, as titles, legends and notes say them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from gpuexplorer.analysis.disturbance import cores_of, disturbance
from gpuexplorer.core.axis_words import threads_words
from gpuexplorer.core.config import EVEN_IF_WRONG, OWN_FILL, Block, RunConfig
from gpuexplorer.core.result import RunResult, Verification
from gpuexplorer.core.series.examine import UNCERTAIN
from gpuexplorer.core.statistics import relative_error
from gpuexplorer.core.text import visible
from gpuexplorer.core.units import count, listed, percent, plural, quantity, samples_words, span

STOPPED = {
    "time": "the time was up",
    "samples": "it had as many samples as asked for",
    "slower": "its first launches were slow enough to give it up",
    "noise": "the median was known well enough",
    "stable": "more samples did not narrow the median's interval",
    "race": "the race over a block map needed no more",
    "turns": "its turns in a comparison were over",
    "user": "stopped by the user",
    "timing": "the way it was timed stopped working",
    "running": "still running",
    "crash": "its engine ended early",
    "hang": "its engine answered no more",
    "interrupted": "its program ended before it did",
    "failed": "it failed after these samples",
    "imported": "measured by another program",
}

WIDE = 0.1
"""From this ± on a median stands with the ends of its interval: what lies far is not halved."""
HOT = "hot cache"
"""Stands where some of several runs are of a cold one; alone it is as usual, and has no words."""
PARTS = (
    "workload", "variant", "size", "block", "precision", "tunables", "device", "cache", "fill",
    "threads", "switches",
)  # fmt: skip
"""Fields of a configuration that stand in its words, in reading order."""

TRAFFIC_NAMES: dict[str, str] = {
    "compulsory": "needed",
    "requested": "requested",
    "dram": "DRAM",
    "l2": "L2",
}
"""Kinds of traffic as charts and the terminal call them; documents keep their own names."""
NOT_VERIFIED = "The result was not verified, as far as the imported file says."


def when_words(time_utc: str, *, seconds: bool = False) -> str:
    """Return a document's time on this machine's clock; what is no time as it stands."""
    try:
        moment = datetime.fromisoformat(time_utc).astimezone()
    except (ValueError, OverflowError, OSError):
        return visible(time_utc)
    return moment.strftime("%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M")


def dated(names: Sequence[str], runs: Sequence[RunResult]) -> list[str]:
    """Return names with when their runs were measured; no two are alike."""
    for seconds in (False, True):
        made = [
            f"{name}, {when_words(run.time_utc, seconds=seconds)}"
            for name, run in zip(names, runs, strict=True)
        ]
        if len(set(made)) == len(made):
            return made
    return [f"{words}, {run.id[:8]}" for words, run in zip(made, runs, strict=True)]


def block_words(block: Block | tuple[int, ...]) -> str:
    """Return ``16×16`` for (16, 16, 1): trailing ones are left out, two dimensions always named."""
    x, y, z = (*block, 1, 1)[:3]
    return f"{x}×{y}" if z == 1 else f"{x}×{y}×{z}"


def config_pieces(config: RunConfig) -> dict[str, str]:
    """Return each piece of a configuration in words, in reading order.

    Names are fields, and ``size.N`` or ``switches.compile`` for one of several within a field; what
    is as usual has no piece.
    """
    switches = ((name, value) for name, value in config.switches.items())
    pieces = {
        "workload": config.workload,
        "variant": config.variant,
        **{f"size.{symbol}": f"{symbol} = {value}" for symbol, value in config.size.items()},
        "block": f"block {block_words(config.block)}" if config.block else "",
        "precision": config.precision,
        **{f"tunables.{name}": f"{name} = {value}" for name, value in config.tunables.items()},
        "device": config.device,
        "cache": "cold cache" if config.cache == "cold" else "",
        "fill": f"{config.fill} inputs" if config.fill != OWN_FILL else "",
        "threads": threads_words(config.threads),
        **{f"switches.{name}": _switch_words(name, value) for name, value in switches},
    }
    return {name: visible(words) for name, words in pieces.items() if words}


def joined_pieces(pieces: Mapping[str, str]) -> dict[str, str]:
    """Return pieces by field: those of one field are one part, such as ``M = 64, N = 128``."""
    parts: dict[str, list[str]] = {}
    for name, words in pieces.items():
        parts.setdefault(name.partition(".")[0], []).append(words)
    return {field: ", ".join(several) for field, several in parts.items()}


def config_parts(config: RunConfig) -> dict[str, str]:
    """Return each part of a configuration in words, by field, in reading order."""
    return dict.fromkeys(PARTS, "") | joined_pieces(config_pieces(config))


def switch_words(config: RunConfig) -> str:
    """Return the switches that differ from their defaults, such as ``compile = default``."""
    found = (_switch_words(name, value) for name, value in config.switches.items())
    return ", ".join(words for words in found if words)


def _switch_words(name: str, value: bool | int | float | str) -> str:
    """Return one switch; empty for one that says nothing of what is computed, or is as usual."""
    plain = name.replace("_", " ")
    if name == EVEN_IF_WRONG or (value is False and name == "include_transfers"):
        return ""
    if isinstance(value, bool):
        return plain if value else f"without {plain}"
    return f"{plain} = {value}"


def config_words(config: RunConfig) -> str:
    """Return a whole configuration in words."""
    return " · ".join(part for part in config_parts(config).values() if part)


def knob_words(config: RunConfig) -> str:
    """Return the knobs that tuning turns, such as ``128×4, TILE = 16``."""
    parts = [block_words(config.block)] if config.block else []
    parts += [visible(f"{name} = {value}") for name, value in config.tunables.items()]
    return ", ".join(parts)


def difference_words(config: RunConfig, other: RunConfig) -> str:
    """Return in words what ``config`` has other than ``other``; the whole when nothing differs."""
    mine, theirs = config_parts(config), config_parts(other)
    different = [
        part or (HOT if field == "cache" else f"no {field}")
        for field, part in mine.items()
        if part != theirs[field]
    ]
    return " · ".join(different) or config_words(config)


def median_words(result: RunResult) -> str:
    """Return the median and how well it is known, such as ``412 µs ± 0.3 %``."""
    timing = result.timing
    return known_words(timing.median_s, timing.ci95_low_s, timing.ci95_high_s)


def known_words(median_s: float | None, low_s: float | None, high_s: float | None) -> str:
    """Return a median and how well it is known, such as ``412 µs ± 0.3 %``.

    One that is known worse than ``WIDE`` stands with its interval: ``10.0 ms (5.10–14.9 ms)``.
    """
    interval = interval_words(median_s, low_s, high_s)
    time = quantity(median_s, "s")
    if not interval:
        return time
    return f"{time} {interval}" if interval.startswith("±") else f"{time} ({interval})"


def interval_words(median_s: float | None, low_s: float | None, high_s: float | None) -> str:
    """Return a median's 95 % interval: ``± 0.3 %``, or its ends where it is wide; empty without."""
    error = None if median_s is None else relative_error(median_s, low_s, high_s)
    if error is None or low_s is None or high_s is None:
        return ""
    return f"± {percent(error)}" if error <= WIDE else span(low_s, high_s, "s")


def method_words(result: RunResult) -> str:
    """Return how the times were taken, and what ended the run."""
    timing = result.timing
    why = STOPPED.get(timing.stopped_by, timing.stopped_by)
    return f"Timed by {timing_words(result)}; {samples_words(timing.samples)}; {why}."


def timing_words(result: RunResult) -> str:
    """Return the method and its resolution, where it is known."""
    timing = result.timing
    if timing.resolution_s is None:
        return timing.method
    return f"{timing.method}, resolution {quantity(timing.resolution_s, 's', 1)}"


def noise_words(result: RunResult) -> str:
    """Return the median, its interval and the spread of the samples."""
    timing = result.timing
    spread = f"90 % of samples are {quantity(timing.p05_s, 's')} to {quantity(timing.p95_s, 's')}"
    interval = (
        f"Median {median_words(result)}, with its 95 % interval"
        if timing.ci95_low_s is not None
        else f"Median {median_words(result)} (too few samples for an interval)"
    )
    cause = cause_words(result)
    found = f"{interval}; {spread}; {cause}." if cause else f"{interval}; {spread}."
    return f"{found} SUSPECT: {timing.suspect}." if timing.suspect else found


def means_words(results: Iterable[RunResult]) -> list[str]:
    """Return of how many launches samples are the means, in a sentence; empty where of one each."""
    numbers = sorted({b.launches_each for result in results for b in result.batches if b.samples})
    if not numbers or numbers[-1] == 1:
        return []
    most = count(numbers[-1])
    return [
        f"Each sample is the mean of {most} launches."
        if len(numbers) == 1
        else f"Samples are means of {count(numbers[0])} to {most} launches."
        if numbers[0] > 1
        else f"Samples are of one launch, or means of up to {most}."
    ]


def cause_words(result: RunResult) -> str:
    """Return what may have made an uncertain median so, as far as that was measured."""
    error, state = result.timing.relative_error, result.telemetry
    if error is None or error < UNCERTAIN:
        return ""
    cores = cores_of(result.device.backend, result.device.compute_units)
    return disturbance(state.other_cores, state.stolen, cores, state.other_programs or ())


def error_words(check: Verification) -> str:
    """Return the largest error found, beside what is allowed."""
    error = f"{check.max_rel_error:.1e}" if check.max_rel_error else "0"
    if check.ok:
        return f"largest relative error {error}, within the tolerance {check.tolerance:.0e}"
    return f"largest relative error {error}, ABOVE the tolerance {check.tolerance:.0e}"


def verification_words(result: RunResult) -> str:
    """Return what was found when the result was compared with float64."""
    check = result.verification
    if check is not None:
        return check_words(check)
    return f"Not verified: {result.not_verified}." if result.not_verified else NOT_VERIFIED


def checked_against(method: str) -> str:
    """Return what a result was compared with, and how, for "checked against …".

    ``method`` is a document's, such as ``freivalds with 4 random vectors, float64``.
    """
    trusted = re.search(r", variant ([\w-]+)", method)
    function = re.search(r", function (.+):(\w+)$", method)
    found = trusted or function
    words = method.replace(found[0] if found else ", float64", "")
    how = listed(map(_compared_how, words.split(", ")))
    if function:
        path, name = function.groups()
        return f"function {name}() of {path}, {how}"
    return f"{trusted[1]}'s results {how}" if trusted else f"float64 {how}"


def _compared_how(method: str) -> str:
    """Return how a document says that an output was compared, in words."""
    if found := re.fullmatch(r"freivalds with (\d+) random vectors", method):
        vectors = found[1]
        return f"by {vectors} random vectors (Freivalds)"
    if found := re.fullmatch(r"(\d+) of (\d+) (rows|samples)", method):
        some, total, what = found.groups()
        return f"in {some} of {total} rows" if what == "rows" else f"in {some} of {total} samples"
    return "in every element" if method == "full" else method


def check_words(check: Verification) -> str:
    """Return what one check found."""
    what = checked_against(check.method)
    if check.ok and check.not_compared:
        return (
            f"Verified against {what}: {error_words(check)}. "
            f"NOT VERIFIED: {listed(check.not_compared)}, as nothing says what is right there."
        )
    if check.ok:
        return f"Verified against {what}: {error_words(check)}."
    return f"WRONG RESULT against {what}: {error_words(check)}."


def unverified_words(results: Sequence[RunResult]) -> str | None:
    """Return of which results nobody knows whether they are right; None where all were verified."""
    checks = [r.verification for r in results]
    left = dict.fromkeys(name for c in checks if c is not None for name in c.not_compared)
    missing = sum(c is None or bool(c.not_compared) for c in checks)
    if not missing:
        return None
    reasons = {r.not_verified for r in results if r.verification is None}
    if missing == len(results) and None not in reasons and len(reasons) == 1 and not left:
        return f"Not verified: {reasons.pop()}."
    if not left or None in checks:
        return plural(
            missing,
            "{number} of {total} is not verified, or not all of its outputs.",
            "{number} of {total} are not verified, or not all of their outputs.",
            total=len(results),
        )
    return f"Nothing says what {listed(left)} should be: not verified."


def checks_words(results: Sequence[RunResult]) -> list[str]:
    """Return what the checks of several runs found: which lack one, and the worst of them."""
    checks = [r.verification for r in results if r.verification is not None]
    worst = max(checks, key=lambda c: c.max_rel_error / c.tolerance, default=None)
    left = unverified_words(results)
    if worst is None:
        return [] if left is None else [left]
    if left is None:
        return [f"All verified; the one nearest its tolerance: {check_words(worst)}"]
    return [left, check_words(worst)]
