"""What studies say: effects, errors, figures and findings, in words."""

from __future__ import annotations

from gpuexplorer.core.comparison import Comparison
from gpuexplorer.core.studies import (
    Measured,
    PrecisionStudy,
    SpeedupStudy,
    Study,
    SwitchesStudy,
)
from gpuexplorer.core.units import percent, quantity, ratio


def duration(seconds: float) -> str:
    """Return a duration as one says it: ``about 40 s``, ``about 4 min``."""
    if seconds < 1.5:
        return "about 1 s"
    if seconds < 100:
        return f"about {seconds:.0f} s"
    if seconds < 6000:
        return f"about {seconds / 60:.0f} min"
    return f"about {seconds / 3600:.1f} h"


def finding(study: Study) -> str:
    """Return the finding in a sentence or two; empty while there is none."""
    if isinstance(study, PrecisionStudy):
        return _precision_finding(study)
    if isinstance(study, SwitchesStudy):
        return _switches_finding(study)
    return _speedup_finding(study)


def _precision_finding(study: PrecisionStudy) -> str:
    able = [p for p in study.points if p.measured is not None and p.front and not p.measured.wrong]
    if not able:
        return f"{_number(len(study.runs), 'precision')} measured." if study.runs else ""
    best = min(able, key=lambda p: p.measured.time_s if p.measured else 0.0)
    words = f"Fastest within the tolerance: {best.precision}"
    if best.against is not None and study.reference is not None:
        words += f", {times_as_fast(best.against)} {study.reference}"
    error = study.error(best)
    return f"{words}, error {error_words(error)}." if error is not None else f"{words}."


def _switches_finding(study: SwitchesStudy) -> str:
    if study.baseline is None:
        return ""
    kept = [added.title for added in study.added if added.kept]
    if study.total is not None and kept:
        return f"{' + '.join(kept)}: {times_as_fast(study.total)} the baseline."
    if study.stopped_by == "done":
        return "No switch is sure to make it faster here."
    done = sum(one.measured is not None for one in study.alone)
    return f"{_number(done, 'switch')} measured beside the baseline." if done else ""


def _speedup_finding(study: SpeedupStudy) -> str:
    found = [b.words for b in (study.break_even, study.break_even_with) if b is not None]
    return " ".join(found) if any(p.speedup for p in study.points) else ""


def _number(number: int, what: str) -> str:
    plural = "es" if what.endswith("ch") else "s"
    return f"{number} {what}{'' if number == 1 else plural}"


def times_as_fast(ratio_of_times: Comparison) -> str:
    """Return a ratio of times as a speed, such as ``2.1× as fast as``."""
    return f"{ratio(1 / ratio_of_times.ratio, '', 3).strip()}× as fast as"


def effect_words(effect: Comparison | None) -> str:
    """Return what a change did to the time, such as ``−12 %``; ``?`` for too few rounds."""
    if effect is None:
        return "?"
    change = effect.ratio - 1
    sign = "−" if change < 0 else "+"
    return "±0 %" if effect.verdict == "same" else f"{sign}{percent(abs(change))}"


def interval_words(effect: Comparison | None) -> str:
    """Return a ratio of times with its interval and verdict, in a line."""
    if effect is None:
        return "Too few rounds for an interval."
    low, high = (ratio(v, "", 4).strip() for v in (effect.ci95_low, effect.ci95_high))
    middle = ratio(effect.ratio, "", 4).strip()
    return f"{middle} times the time, 95 % interval {low} to {high}: {effect.verdict}"


def error_words(error: float | None) -> str:
    """Return a relative error, such as ``3.1e-04``; ``0`` for none at all."""
    if error is None:
        return "–"
    return f"{error:.1e}" if error else "0"


def figures_words(measured: Measured) -> list[str]:
    """Return what one run came to, a line each."""
    lines = [f"{_time(measured)} a launch"]
    if measured.flop_per_s:
        lines[0] += f", {quantity(measured.flop_per_s, 'FLOP/s')}"
    if measured.rms_rel_error is not None or measured.max_rel_error is not None:
        parts = []
        if measured.rms_rel_error is not None:
            parts.append(f"{error_words(measured.rms_rel_error)} as a whole")
        if measured.max_rel_error is not None:
            parts.append(f"{error_words(measured.max_rel_error)} at the most")
        lines.append(f"Error against float64: {', '.join(parts)}")
    if measured.wrong:
        lines.append(f"Further from float64 than the tolerance of {measured.tolerance:.0e}.")
    if measured.memory_B is not None:
        lines.append(f"Memory at its peak: {quantity(measured.memory_B, 'B')}")
    if measured.suspect:
        lines.append(f"SUSPECT: {measured.suspect}.")
    return lines


def _time(measured: Measured) -> str:
    text = quantity(measured.time_s, "s")
    low, high = measured.ci95_low_s, measured.ci95_high_s
    if low is None or high is None or measured.time_s <= 0:
        return text
    return f"{text} ± {percent((high - low) / 2 / measured.time_s)}"
