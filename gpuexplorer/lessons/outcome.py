"""What came of a lesson: its claims, the guess beside the figure, and the exercise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from gpuexplorer.core.units import factor
from gpuexplorer.lessons.lesson import Lesson
from gpuexplorer.lessons.manifest import UNITS, Ask, Choice, Claim
from gpuexplorer.lessons.measured import Measured, Value, figure_words, range_words, unit_of
from gpuexplorer.lessons.measuring import asked_value


def kind_words(lesson: Lesson, claim: Claim) -> str:
    """Return how a claim is known, in words."""
    if claim.kind == "card":
        return "of a card"
    if claim.kind == "counted":
        return "counted"
    figure = lesson.manifest.figures[claim.figure or ""]
    return "measured here" if figure.quantity == "error" else "timed here"


class ClaimOutcome(msgspec.Struct, frozen=True):
    """A claim with its figure here.

    ``holds`` is None where it was not measured, and where the figure lies outside of what is
    claimed but its interval does not.
    """

    claim: Claim
    value: Value | None = None
    holds: bool | None = None
    unit: str | None = None

    @property
    def words(self) -> str:
        """What is known of it here, in a sentence."""
        claim = self.claim
        if claim.kind == "card" and self.value is None:
            cited = claim.source
            return f"Source: {cited}"
        if self.value is None:
            return "Not measured here yet."
        found, wanted = self.value.words, range_words(claim, self.unit)
        if self.holds:
            return f"Here it is {found}, and the lesson says {wanted}: it holds."
        if self.holds is None:
            return f"Here it is {found}, and the lesson says {wanted}: that cannot be told here."
        return f"Here it is {found}, and the lesson says {wanted}: it does not hold here."


def claims_of(lesson: Lesson, measured: Mapping[str, Measured]) -> list[ClaimOutcome]:
    """Return every claim, with what the measurements so far say of it."""
    found = []
    for claim in lesson.manifest.claims:
        figure = lesson.manifest.figures[claim.figure] if claim.figure else None
        value = None
        if figure is not None and figure.measure in measured:
            value = measured[figure.measure].value(figure)
        if value is None or figure is None:
            found.append(ClaimOutcome(claim))
        else:
            holds = value.lies_in(claim) or (None if value.may_lie_in(claim) else False)
            found.append(ClaimOutcome(claim, value, holds, unit_of(figure)))
    return found


class GuessOutcome(msgspec.Struct, frozen=True):
    """The guess beside the figure; ``right`` is None for a number, and while nothing is known."""

    value: Value | None
    right: bool | None
    truth: Choice | None
    """The choice that is true here."""
    guessed: float | None = None


def guess_outcome(
    lesson: Lesson, guess: str | float | None, measured: Mapping[str, Measured]
) -> GuessOutcome:
    """Return how a guess, a choice's name or a number, stands beside what was measured."""
    manifest = lesson.manifest
    figure = manifest.figures[manifest.guess.figure]
    found = measured.get(figure.measure)
    value = found.value(figure) if found is not None else None
    if value is None:
        return GuessOutcome(None, None, None)
    truth = next((one for one in manifest.guess.choices if value.lies_in(one)), None)
    if isinstance(guess, str) and manifest.guess.choices:
        return GuessOutcome(value, truth is not None and truth.name == guess, truth)
    number = float(guess) if isinstance(guess, int | float) else None
    return GuessOutcome(value, None, truth, number)


def guess_words(lesson: Lesson, guess: str | float | None, outcome: GuessOutcome) -> str:
    """Return what came of a guess, in a sentence or two; empty while nothing was measured."""
    if outcome.value is None:
        return ""
    found = outcome.value.words
    if guess is None:
        return f"Measured here: {found}."
    if isinstance(guess, str):
        if outcome.right:
            return f"You guessed right. Measured here: {found}."
        if outcome.truth is None:
            return f"Measured here: {found}, which is none of the answers."
        truth = lesson.text[f"choice {outcome.truth.name}"].rstrip(".。")
        return f"You guessed otherwise. Measured here: {found}. The answer: {truth}."
    figure = lesson.manifest.figures[lesson.manifest.guess.figure]
    guessed = figure_words(float(guess), unit_of(figure))
    return f"You guessed {guessed}. Measured here: {found}."


class AskOutcome(msgspec.Struct, frozen=True):
    """One thing that an exercise asks for, and what came of it."""

    ask: Ask
    value: Value | None
    met: bool

    @property
    def words(self) -> str:
        """It in a sentence."""
        if self.ask.quantity == "time" and self.ask.relative:
            return self._speed_words()
        what, wanted = QUANTITY_WORDS[self.ask.quantity], self._wanted
        if self.value is None:
            return f"{what}: {wanted} is asked for, and it is not known."
        if self.met:
            return f"{what}: {wanted} is asked for, and yours is {self.value.words}: met."
        if self.value.may_lie_in(self.ask):
            return (
                f"{what}: {wanted} is asked for, and yours is {self.value.words}; "
                "noise hides whether that is enough: measure again."
            )
        return f"{what}: {wanted} is asked for, and yours is {self.value.words}: not yet."

    @property
    def _wanted(self) -> str:
        """What is asked for, in words."""
        unit = None if self.ask.relative else UNITS.get(self.ask.quantity, "")
        wanted = range_words(self.ask, unit)
        return f"{wanted} of the start's" if self.ask.relative else wanted

    def _speed_words(self) -> str:
        """It in a sentence, as a speed beside the start's."""
        limit = self.ask.at_most if self.ask.at_most is not None else 1.0
        wanted = factor(1 / limit)
        if self.value is None:
            return f"At least {wanted} as fast as the start is asked for; yours is not known."
        reached = factor(1 / self.value.number)
        if self.met:
            return f"At least {wanted} as fast as the start is asked for; yours is {reached}: met."
        if self.value.lies_in(self.ask):
            return (
                f"At least {wanted} as fast as the start is asked for; yours may be {reached}, "
                "which noise hides: measure again."
            )
        if self.value.may_lie_in(self.ask):
            return (
                f"At least {wanted} as fast as the start is asked for; yours is {reached}, and "
                "noise hides whether that is enough: measure again."
            )
        return f"At least {wanted} as fast as the start is asked for; yours is {reached}: not yet."


QUANTITY_WORDS = {
    "time": "Time", "error": "Error against float64", "flop_rate": "Operations a second",
    "bandwidth": "Bandwidth", "copies": "Time of the copies", "kernel": "Time of the kernel",
    "blocks": "Blocks", "threads": "Threads", "sectors": "Sectors a request",
    "passes": "Passes a request", "requests": "Requests of a warp",
    "shared_requests": "Requests of shared memory", "lanes": "Lanes a request",
    "read_bytes": "Bytes that the threads read", "registers": "Registers a thread",
    "shared_bytes": "Shared memory a block", "occupancy": "Occupancy",
}  # fmt: skip


def asks_of(lesson: Lesson, measured: Measured) -> list[AskOutcome]:
    """Return what came of everything that the exercise asks for."""
    found = []
    for ask in lesson.manifest.exercise.asks:
        value = asked_value(measured, ask)
        met = value is not None and value.lies_in(ask) and is_clear(ask, value)
        found.append(AskOutcome(ask, value, met))
    return found


def is_clear(ask: Ask, value: Value) -> bool:
    """Return whether a ratio to the start's is none of chance: its interval leaves 1 out."""
    if not ask.relative or value.low is None or value.high is None:
        return True
    return not value.low <= 1 <= value.high


def is_solved(asks: Sequence[AskOutcome]) -> bool:
    """Return whether an exercise is done."""
    return bool(asks) and all(one.met for one in asks)
