"""What a search for runs means: words of a run, and what a list shows of it in other words.

A date, a time of day, a figure with its unit and what became of a run stand in a list as a reader
wants them and in the store as numbers, so a search turns what was typed into ranges of these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from functools import cache

import msgspec
from msgspec.structs import replace

from gpuexplorer.core.language import current, tr
from gpuexplorer.core.patterns import later
from gpuexplorer.history.documents import searched

DAYS = ("today", "yesterday")
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
IN_MONTHS: tuple[Callable[[int, str], str], ...] = (
    lambda day, clock: f"{day} Jan {clock}",
    lambda day, clock: f"{day} Feb {clock}",
    lambda day, clock: f"{day} Mar {clock}",
    lambda day, clock: f"{day} Apr {clock}",
    lambda day, clock: f"{day} May {clock}",
    lambda day, clock: f"{day} Jun {clock}",
    lambda day, clock: f"{day} Jul {clock}",
    lambda day, clock: f"{day} Aug {clock}",
    lambda day, clock: f"{day} Sep {clock}",
    lambda day, clock: f"{day} Oct {clock}",
    lambda day, clock: f"{day} Nov {clock}",
    lambda day, clock: f"{day} Dec {clock}",
)
"""A time of this year as a list shows it, by its month: a whole phrase in every language."""
FIRST_YEAR = 2020
"""Before the first run of any store."""
DAY_S = 86_400
_MONTH = "|".join(MONTHS).casefold()
_SMALL = {"": 1.0, "m": 1e-3, "μ": 1e-6, "u": 1e-6, "n": 1e-9}
_LARGE = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15}
_FIGURES = {"s": "median_s", "flop/s": "flop_per_s", "b/s": "bandwidth_B_per_s"}
STATES = {
    "✓ verified": "verified", "verified": "verified", "not verified": "not verified",
    "✗ wrong": "wrong", "wrong": "wrong", "⚠ suspect": "suspect", "suspect": "suspect",
    "● running": "running", "running": "running", "ended by a crash": "interrupted",
    "crash": "interrupted", "interrupted": "interrupted", "★": "starred", "starred": "starred",
}  # fmt: skip
"""What became of a run, as a list says it, and its name here."""
_PHRASE = later(
    rf"""(?<!\S)(?:
    (?P<iso>\d{{4}}-\d\d(?:-\d\d)?)
    |(?P<day>\d\d?)\ (?P<month>{_MONTH})
    |(?P<alone>{_MONTH})
    |(?P<near>{"|".join(DAYS)})
    |(?P<clock>\d?\d:\d\d(?::\d\d)?)
    |(?P<number>\d+(?:\.(?P<digits>\d+))?)\ ?(?P<prefix>[nuμmkgtp]?)(?P<unit>s|flop/s|b/s)
    |(?P<state>{"|".join(map(re.escape, sorted(STATES, key=len, reverse=True)))})
    |(?P<word>\S+)
    )(?!\S)""",
    re.VERBOSE,
)

Range = tuple[float, float]


class Term(msgspec.Struct, frozen=True):
    """One thing that a run has to have: its words, or one of the other meanings."""

    words: tuple[str, ...]
    moments: tuple[Range, ...] = ()
    """Stretches of time in seconds since 1970; the end is not part of one."""
    clock: Range | None = None
    """Seconds of a local day."""
    state: str = ""
    """A value of ``STATES``."""
    field: str = ""
    """The figure that lies within ``within``."""
    within: Range = (0.0, 0.0)


def terms_of(text: str, today: date | None = None) -> list[Term]:
    """Return what a text asks for; every term has to hold."""
    plain, today = " ".join(searched(text).split()), today or date.today()
    told = _told()
    for phrase, english in told.items():
        if " " in phrase:  # which begins with a mark, as no word of a run's does
            plain = plain.replace(phrase, english)
    terms = []
    for found in _PHRASE().finditer(plain):
        term = _term(found, today)
        meant = _PHRASE().match(told.get(found[0], ""))
        if meant is not None:  # or the word itself, which a tag or a note may have
            term = replace(_term(meant, today), words=term.words)
        terms.append(term)
    return terms


def _told() -> dict[str, str]:
    """Return what a list says in the language of this process, with the English of it."""
    found = {searched(tr(english)): english for english in (*STATES, *DAYS)} | _days(current())
    return {phrase: english for phrase, english in found.items() if phrase != english}


@cache
def _days(language: str) -> dict[str, str]:
    """Return every day of a year as a list says it in ``language``, with the English of it."""
    clock, found = "00:00", {}
    for shown, month in zip(IN_MONTHS, MONTHS, strict=True):
        for day in range(1, 32):
            phrase = searched(tr(shown(day, clock)).removesuffix(clock).strip())
            found[phrase] = f"{day} {month}".casefold()
    return found


def _term(found: re.Match[str], today: date) -> Term:
    words = tuple(found[0].split())
    if found["iso"]:
        return Term(words, _of_iso(found["iso"]))
    if found["month"] or found["alone"]:
        month = _MONTH.split("|").index(found["month"] or found["alone"]) + 1
        years = range(FIRST_YEAR, today.year + 2)
        spans = [_span(year, month, int(found["day"] or 0)) for year in years]
        return Term(words, tuple(one for one in spans if one is not None))
    if found["near"]:
        day = today if found["near"] == "today" else today - timedelta(days=1)
        return Term(words, _known(_span(day.year, day.month, day.day)))
    if found["clock"]:
        return _of_clock(words, found["clock"])
    if found["unit"]:
        return _of_figure(words, found)
    return Term(words, state=STATES.get(found["state"] or "", ""))


def _of_iso(text: str) -> tuple[Range, ...]:
    year, month, day = (*map(int, text.split("-")), 0)[:3]
    return _known(_span(year, month, day))


def _known(span: Range | None) -> tuple[Range, ...]:
    return () if span is None else (span,)


def _span(year: int, month: int, day: int) -> Range | None:
    """Return the ends of a local day, of a month with 0 as the day; None for one there is not."""
    try:
        begin = datetime(year, month, day or 1)
        end = begin + timedelta(days=1 if day else 31)
        end = end if day else end.replace(day=1)
        return begin.timestamp(), end.timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _of_clock(words: tuple[str, ...], text: str) -> Term:
    hours, minutes, *rest = map(int, text.split(":"))
    begin = hours * 3600 + minutes * 60 + sum(rest)
    return Term(words, clock=(begin, begin + (1 if rest else 60)))


def _of_figure(words: tuple[str, ...], found: re.Match[str]) -> Term:
    """Return the range of a figure that is shown so: half of its last digit to either side.

    In a text it stands as a whole: 1024 and an s somewhere are no 10 s.
    """
    unit, prefix = found["unit"], found["prefix"]
    scale = (_SMALL if unit == "s" else _LARGE).get(prefix)
    if scale is None:
        return Term(words)
    half = 0.5 * 10.0 ** -len(found["digits"] or "")
    value = float(found["number"])
    within = ((value - half) * scale, (value + half) * scale)
    return Term((found[0],), field=_FIGURES[unit], within=within)


def offsets_s(today: date | None = None) -> Sequence[float]:
    """Return how far local clocks are ahead of UTC, in winter and in summer, in seconds."""
    year = (today or date.today()).year
    found = []
    for month in (1, 7):
        ahead = datetime(year, month, 1).astimezone().utcoffset()
        found.append(ahead.total_seconds() if ahead is not None else 0.0)
    return list(dict.fromkeys(found))
