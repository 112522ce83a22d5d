"""The one formatter: SI base units in, a short readable quantity out; phrases with a count."""

from __future__ import annotations

import math
from collections.abc import Iterable

from gpuexplorer.core.verdict import Verdict, verdict_of

_PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P"}


def si_scale(value: float) -> tuple[float, str]:
    """Return the factor and the SI prefix that bring ``value`` between 1 and 1000."""
    if value == 0 or not math.isfinite(value):
        return 1.0, ""
    exponent = math.floor(math.log10(abs(value)) / 3 + 1e-12) * 3
    exponent = min(max(exponent, -12), 15)
    return 10.0**-exponent, _PREFIXES[exponent]


def quantity(value: float | None, unit: str, digits: int = 3) -> str:
    """Format ``value``, given in the base ``unit``, with ``digits`` significant digits.

    ``quantity(0.000412, "s")`` is ``"412 µs"``; a value that was not measured is ``"–"``.
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return f"∞ {unit}".strip()
    factor, prefix = si_scale(value)
    scaled = value * factor
    # 999.96 rounds up into the next prefix
    if abs(scaled) > 900 and float(f"{abs(scaled):.{digits}g}") >= 1000:
        factor, prefix = si_scale(math.copysign(1000 / factor, value))
        scaled = value * factor
    whole = len(str(int(abs(scaled)))) if scaled else 1
    text = f"{scaled:.{max(0, digits - whole)}f}"
    return f"{text} {prefix}{unit}".strip()


def span(low: float, high: float, unit: str) -> str:
    """Format two ends with three digits and one prefix, the higher one's: ``5.10–14.9 ms``."""
    factor, prefix = si_scale(high)
    ends = [ratio(end * factor, "").strip() for end in (low, high)]
    return f"{ends[0]}–{ends[1]} {prefix}{unit}".strip()


def ratio(value: float | None, unit: str, digits: int = 3) -> str:
    """Format a ratio of two units, such as FLOP/B, with ``digits`` significant digits.

    No prefix, which could belong to either: ``ratio(0.1667, "FLOP/B")`` is ``"0.167 FLOP/B"``.
    """
    if value is None or math.isnan(value):
        return "–"
    rounded = float(f"{value:.{digits}g}")
    whole = math.floor(math.log10(abs(rounded))) + 1 if rounded and math.isfinite(rounded) else 1
    return f"{rounded:.{max(0, digits - whole)}f} {unit}"


def factor(value: float | None) -> str:
    """Format how many times as much something is, with three digits: ``1.83×``."""
    return "–" if value is None else f"{ratio(value, '', 3).strip()}×"


def _times(value: float) -> str:
    """Format a factor with three digits, or decimals near 1, where they make the difference."""
    if 0.1 <= value < 1.1:  # these are nearly all, and a list of runs says thousands at once
        return f"{value:.3f}"
    return f"{value:.2f}" if 1.1 <= value < 9.99 else ratio(value, "", 3).strip()


def speed(
    times_ratio: float | None,
    low: float | None = None,
    high: float | None = None,
    verdict: Verdict | None = None,
) -> str:
    """Say how fast something is beside another by the ratio of their times, and its interval.

    ``speed(0.5, 0.45, 0.56)`` is ``"2.00× faster (1.79–2.22)"``. An interval that leaves open which
    is faster is ``"can't tell (0.947–1.46)"``, and one within the tolerance of 1 ``"as fast"``, as
    is what takes as long to the digits shown where there is no interval. ``verdict`` is what is
    known to follow from the interval, by another tolerance for instance.
    """
    if times_ratio is None or times_ratio <= 0 or not math.isfinite(times_ratio):
        return "–"
    words = _times(1 / times_ratio if times_ratio < 1 else times_ratio)
    how = f"{words}× faster" if times_ratio < 1 else f"{words}× slower"
    if low is None or high is None:
        return "as fast" if words == _times(1.0) else how
    verdict = verdict or verdict_of(times_ratio, low, high)
    interval = speed_interval(times_ratio, low, high)
    if verdict == "can't tell":
        return f"can't tell ({interval})"
    return f"as fast ({interval})" if verdict == "same" else f"{how} ({interval})"


def speed_interval(times_ratio: float, low: float, high: float) -> str:
    """Return the interval of what ``speed`` says, such as ``1.79–2.22``."""
    ends = [low, high]
    if times_ratio < 1:
        ends = [1 / end if end > 0 else math.inf for end in (high, low)]
    return f"{_times(ends[0])}–{_times(ends[1])}"


def speed_than(
    times_ratio: float | None,
    other: str,
    low: float | None = None,
    high: float | None = None,
    verdict: Verdict | None = None,
) -> str:
    """Return ``2.00× faster than OTHER``, or ``as fast as OTHER``, with the interval if given.

    What the interval leaves open is ``can't tell from OTHER (0.947–1.46)``.
    """
    words = speed(times_ratio, low, high, verdict)
    if words == "as fast":
        return f"as fast as {other}"
    interval = words.partition("(")[2].removesuffix(")")
    if words.startswith("as fast "):
        return f"as fast ({interval}) as {other}"
    if words.startswith("can't tell "):
        return f"can't tell from {other} ({interval})"
    return f"{words} than {other}"


def percent(fraction: float | None, digits: int = 2) -> str:
    """Format a fraction as a percentage with ``digits`` significant digits."""
    if fraction is None or math.isnan(fraction):
        return "–"
    value = fraction * 100
    # Above the digits asked for, "g" would turn to 1e+02.
    text = f"{value:.0f}" if abs(value) >= 10 ** (digits - 1) else f"{value:.{digits}g}"
    return f"{text} %"


def count(value: int) -> str:
    """Format a whole number with thin spaces between thousands."""
    return f"{value:,}".replace(",", "\u202f")


def plural(number: int, one: str, many: str, **fields: object) -> str:
    """Return the phrase that goes with ``number``, as gettext's ngettext chooses it.

    ``plural(3, "{number} run", "{number} runs")`` is ``"3 runs"``; ``fields`` are the others that
    the phrases name.
    """
    return (one if number == 1 else many).format(number=count(number), **fields)


def samples_words(samples: int) -> str:
    """Return how many samples there are, in words."""
    return plural(samples, "{number} sample", "{number} samples")


def rounds_words(rounds: int) -> str:
    """Return how many rounds there were, in words."""
    return plural(rounds, "{number} round", "{number} rounds")


def listed(names: Iterable[str], template: str = "{names} and {last}") -> str:
    """Return names as a sentence lists them, such as ``a, b and c``; empty without any."""
    *others, last = list(names) or [""]
    return template.format(names=", ".join(others), last=last) if others else last
