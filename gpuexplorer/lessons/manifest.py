"""The schema of ``lesson.toml``, format 1.

A lesson holds no words: those stand in a ``text.LANGUAGE.md`` beside it, a section for each name
here (see ``lessons.text``). It names what is measured, by words as ``gpuexplorer compare`` takes
them; the figures that are read off the results; and what is claimed of these figures. Every table
is strict: an unknown key is an error.
"""

from __future__ import annotations

from typing import Literal

import msgspec

ClaimKind = Literal["counted", "timed", "card"]
"""``counted``: from the source or the compiled code, the same everywhere. ``timed``: measured
here, and true of the CPU device too. ``card``: true of a GPU, with its source."""
Quantity = Literal[
    "time", "error", "flop_rate", "bandwidth", "copies", "kernel", "blocks", "threads",
    "sectors", "passes", "requests", "shared_requests", "lanes", "read_bytes", "registers",
    "shared_bytes",
    "occupancy",
]  # fmt: skip
Access = Literal["read", "write", "atomic"]
FreeKnob = Literal["variant", "block", "tunables", "precision", "size", "switches"]
RUN_QUANTITIES: tuple[Quantity, ...] = (
    "time", "error", "flop_rate", "bandwidth", "copies", "kernel", "blocks", "threads",
)  # fmt: skip
"""What a run of a comparison or a study tells."""
ACCESS_QUANTITIES: tuple[Quantity, ...] = (
    "sectors", "passes", "requests", "shared_requests", "lanes", "read_bytes", "blocks", "threads",
)  # fmt: skip
"""What the accesses of a warp tell."""
COMPILED_QUANTITIES: tuple[Quantity, ...] = ("registers", "shared_bytes", "occupancy")
"""What a compiled kernel tells."""
UNITS: dict[str, str] = {
    "time": "s", "flop_rate": "FLOP/s", "bandwidth": "B/s", "copies": "s", "kernel": "s",
    "read_bytes": "B", "shared_bytes": "B",
}  # fmt: skip
"""SI units; the others are plain numbers."""
ROUNDS = 6
"""Turns of each configuration: the fewest that tell a ratio's interval by 95 %."""
EXERCISE_ROUNDS = 12
"""Turns of an exercise: so many that two that were disturbed do not decide."""
STUDY_SECONDS = 0.3
"""What a configuration of a study is sampled for, where a lesson does not say otherwise."""


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Bench(_Table, frozen=True, kw_only=True):
    """What words leave open: the knobs for all of a lesson."""

    workload: str
    variant: str | None = None
    size: dict[str, int] = {}
    precision: str | None = None


class Measure(_Table, frozen=True, kw_only=True):
    """One thing to measure, in one of four ways, each of which exists without lessons.

    ``compare``: words in turns, the first as the reference. ``accesses``: words whose accesses the
    CPU device counts. ``compile``: words compiled for ``arch``. ``study``: a study by name, with
    ``variant`` and ``precisions`` or ``variants`` as it takes them; its runs are named by words as
    well.
    """

    compare: list[str] = []
    accesses: list[str] = []
    compile: list[str] = []
    study: str | None = None
    precisions: list[str] = []
    variants: list[str] = []
    sizes: list[int] = []
    arch: str = "sm_90"
    place: list[int] = msgspec.field(default_factory=lambda: [0, 0, 0])
    """Of the block whose accesses are counted, in the grid."""
    last_block: bool = False
    """Whether it is the last block of the grid instead, and its last warp."""
    rounds: int = ROUNDS
    """Turns of each configuration of a comparison or a study."""
    seconds: float = STUDY_SECONDS
    """What each configuration of a study is sampled for, over all its turns."""
    start: str | None = None
    """The word that the knobs are set to; None: the last one."""
    view: str | None = None
    """The title of the window's view that shows it; None: the one of its kind."""

    @property
    def words(self) -> list[str]:
        """The words of what is measured; none for a study."""
        return self.compare or self.accesses or self.compile

    @property
    def kinds(self) -> list[str]:
        """The ways that are named; a lesson has one of them."""
        named = {
            "compare": self.compare, "accesses": self.accesses, "compile": self.compile,
            "study": self.study,
        }  # fmt: skip
        return [name for name, value in named.items() if value]

    @property
    def kind(self) -> str:
        """How it is measured."""
        return self.kinds[0]


class Figure(_Table, frozen=True, kw_only=True):
    """One number read off a measurement: a quantity of a word, or its ratio to another's.

    Several words are added up. ``array`` and ``access`` choose among the accesses.
    """

    measure: str
    quantity: Quantity
    of: str | list[str]
    over: str | list[str] | None = None
    array: str | None = None
    access: Access | None = None


class Range(_Table, frozen=True, kw_only=True):
    """Where a figure is to lie; without an end it is open there."""

    at_least: float | None = None
    at_most: float | None = None


class Choice(Range, frozen=True, kw_only=True):
    """An answer to the question: true where the figure lies in its range."""

    name: str


class Guess(_Table, frozen=True, kw_only=True):
    """The question that comes first: a choice, or a number."""

    figure: str
    choices: list[Choice] = []
    """None: a number is guessed."""


class Claim(Range, frozen=True, kw_only=True):
    """Something that the lesson says, and how it is known."""

    name: str
    kind: ClaimKind
    figure: str | None = None
    """What is checked; a claim of a card has none until a card measured it."""
    source: str | None = None
    """Where a claim of a card is from: a publication, with its address."""


class Ask(Range, frozen=True, kw_only=True):
    """What the user's configuration has to reach: a quantity of it, or its ratio to the start's."""

    quantity: Quantity
    relative: bool = False
    """Whether it is the ratio to the start's."""
    array: str | None = None
    access: Access | None = None


class Exercise(_Table, frozen=True, kw_only=True):
    """The last step: the knobs begin at ``start``, and the app measures what the user made of it.

    ``answer`` is one of the ways to do it, which tests measure. What is not in ``free`` stays as
    it is at the start.
    """

    start: str
    answer: str
    asks: list[Ask]
    free: list[FreeKnob] = msgspec.field(
        default_factory=lambda: list[FreeKnob](("variant", "block", "tunables"))
    )
    rounds: int = EXERCISE_ROUNDS
    arch: str = "sm_90"


class LessonManifest(_Table, frozen=True, kw_only=True):
    """One lesson."""

    format: Literal[1]
    order: int
    minutes: int
    bench: Bench
    measures: dict[str, Measure]
    figures: dict[str, Figure]
    guess: Guess
    claims: list[Claim]
    exercise: Exercise
    help: str | None = None
    """The help page that says more."""
