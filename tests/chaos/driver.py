"""A run of many faults: which strikes when follows from a seed."""

from __future__ import annotations

import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.chaos.faults import Fault


class Subject(Protocol):
    """What faults strike: the terminal, the API, the store or the window, in a world."""

    faults: tuple[Fault, ...]
    last: list[str]

    def step(self, fault: Fault, chance: random.Random) -> list[str]:
        """Do a step of a user with one fault; return what is wrong afterwards."""

    def close(self) -> None:
        """End everything."""


@dataclass
class Report:
    """What came of a run: faults by kind, and a sentence for each failure.

    ``kinds`` are those that there were to choose from.
    """

    kinds: set[str] = field(default_factory=set)
    faults: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """Return it in plain values."""
        return {
            "faults": sum(self.faults.values()),
            "by_kind": dict(sorted(self.faults.items())),
            "failures": self.failures,
        }


def drive(
    only: str,
    make: Callable[[], Subject],
    *,
    seed: int,
    faults: int,
    minutes: float | None = None,
    first: int = 0,
    slow: bool = False,
    names: tuple[str, ...] = (),
) -> Report:
    """Strike with so many faults, or until the time is over; a failure begins a fresh world.

    The fault and the step of each number follow from the seed and the number alone.
    """
    report = Report()
    ends = time.monotonic() + (minutes * 60 if minutes is not None else float("inf"))
    subject = make()
    kinds = [f for f in subject.faults if (slow or not f.slow) and (not names or f.name in names)]
    report.kinds = {fault.name for fault in kinds}
    try:
        for number in range(first, first + faults):
            if time.monotonic() > ends:
                break
            chance = random.Random(f"{seed} {only} {number}")
            fault = kinds[number % len(kinds)]
            began = time.monotonic()
            try:
                wrong = subject.step(fault, chance)
            except Exception:  # noqa: BLE001 - a fault may break the driver, which is a finding too
                wrong = [traceback.format_exc()]
            report.faults[fault.name] += 1
            if wrong:
                failure = {
                    "number": number,
                    "fault": fault.name,
                    "wrong": wrong,
                    "last": list(subject.last),
                    "again": again(only, seed, number, names, slow=slow),
                    "took_s": round(time.monotonic() - began, 1),
                }
                report.failures.append(failure)
                print(f"{only} {number}: {fault.name}: {wrong}\n  again: {failure['again']}",
                      file=sys.stderr, flush=True)  # fmt: skip
                subject.close()
                subject = make()
    finally:
        subject.close()
    return report


def again(only: str, seed: int, number: int, names: tuple[str, ...], *, slow: bool) -> str:
    """Return the command that strikes with one fault again."""
    chosen = "".join(f" --fault '{name}'" for name in names)
    return (
        f"python -m tests.chaos --seed {seed} --only {only} --first {max(0, number - 3)} "
        f"--faults {min(number, 3) + 1}{' --slow' if slow else ''}{chosen}"
    )
