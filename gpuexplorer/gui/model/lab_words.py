"""What studies find, and how long something takes, in words."""

from __future__ import annotations

from gpuexplorer.charts.studies_words import error_words, times
from gpuexplorer.core.comparison import Comparison
from gpuexplorer.core.studies import PrecisionStudy, SpeedupStudy, Study, SwitchesStudy


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
    return f"{times(1 / ratio_of_times.ratio)} as fast as"
