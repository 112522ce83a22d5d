"""How a command ended, and whether what it said is what it should say."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from tests.chaos.faults import Fault

NOISE = (
    "Traceback", "Exception ignored", "Exception in thread", "ResourceWarning", "QThread",
    "internal error", "Fatal Python error", "DeprecationWarning",
)  # fmt: skip
INTERRUPTED = 130
ERROR = "gpuexplorer: error: "
OTHER = ("lost because", "not kept", "gave a wrong result")
"""What else says that something went wrong."""


@dataclass(frozen=True)
class Outcome:
    """A command's end: its exit code, what it wrote, and whether it had to be ended."""

    code: int
    out: str
    said: str
    hung: bool
    took_s: float
    missed: bool = False
    """Whether the fault found nothing to strike."""
    may_say: int = 1
    """Sentences there may be: one for each file that was asked for."""


def said_wrong(outcome: Outcome, fault: Fault) -> list[str]:
    """Return what is wrong with how a command ended and what it said."""
    wrong = []
    lines = outcome.said.splitlines()
    errors = [line for line in lines if line.startswith(ERROR)]
    others = [line for line in lines if any(words in line for words in OTHER)]
    if outcome.hung:
        wrong.append(f"it did not end within {outcome.took_s:.0f} s")
    wrong += [f"it said {line!r}" for line in lines if any(word in line for word in NOISE)]
    if fault.ends:
        ends = {0, INTERRUPTED if fault.name == "interrupted" else -signal.SIGKILL}
        if fault.name == "interrupted" and not outcome.out + outcome.said:
            ends.add(-signal.SIGINT)  # before Python itself was there
        if outcome.code not in ends:
            wrong.append(f"it ended with {outcome.code}: {outcome.said[-300:]!r}")
        if errors:
            wrong.append(f"it said {errors} of what a user did")
        return wrong
    if outcome.code < 0:
        wrong.append(f"it died of signal {-outcome.code}")
    elif outcome.code == 0 and errors:
        wrong.append(f"it ended with 0 and said {errors}")
    elif outcome.code and not errors and not others:
        wrong.append(f"it ended with {outcome.code} without a word: {outcome.said[-300:]!r}")
    if len(errors) > outcome.may_say:
        wrong.append(f"it said {len(errors)} sentences: {errors}")
    if fault.harmless and outcome.code:
        wrong.append(f"it ended with {outcome.code} for nothing: {(errors + others)[:2]}")
    return wrong
