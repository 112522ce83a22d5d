"""The Python API under faults: one script makes call after call in one process."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.faults import FAULTS, Fault, Heal, Scene, wait_until
from tests.chaos.ledger import Ledger
from tests.chaos.left import left_behind
from tests.chaos.puppet import Gone, Hung, Puppet
from tests.chaos.world import World

LIMIT_S = 60.0
SLOW_LIMIT_S = 330.0
"""The second, where only a stage's deadline ends a call."""
START_S = 20.0
MOMENT_S = 0.8
CALLS = ("devices", "run", "run", "sweep", "sweep", "tune", "compare")
MAY_ADD = {"sweep": 4, "tune": 20}
KEEPING = ("sweep", "tune")


@dataclass
class Api:
    """Calls in a world, one fault each, and what came of it."""

    world: World = field(default_factory=World)
    ledger: Ledger = field(default_factory=Ledger)
    last: list[str] = field(default_factory=list)
    faults: tuple[Fault, ...] = FAULTS
    _script: Puppet | None = None

    def close(self) -> None:
        """End the world."""
        self.world.close()
        self._script = None

    def step(self, fault: Fault, chance: random.Random) -> list[str]:
        """Make one call with one fault; return what is wrong afterwards."""
        call = chance.choice(KEEPING) if fault.by_world else chance.choice(CALLS)
        words = {"resume": chance.random() < 0.6} if call == "sweep" else {}
        self.last = [*self.last[-4:], f"{fault.name}: {call}({words})"]
        script = self._running()
        answer, hung = self._call(script, call, words, fault, chance)
        wrong = [f"{call} did not return"] if hung else []
        if hung:
            self.world.end_all()
        elif answer is not None:
            wrong += _answer_wrong(answer, fault)
        elif not fault.ends:
            wrong.append(f"the script ended with {script.process.poll()}")
        wrong += [f"it said {line!r}" for line in script.said() if answer is not None]
        if answer is None and script.wait_gone(START_S):
            self._script = None
        kept = answer is not None and "runs" in answer and not answer.get("warned")
        if answer is not None and kept:
            for run_id, samples in answer["runs"]:
                self.ledger.keep(run_id, samples)
        goes_on = {script.pid} if self._script is not None else None
        wrong += left_behind(self.world, set(), but=goes_on)
        wrong += self.ledger.check(
            self.world,
            may_add=0 if kept and call == "sweep" else MAY_ADD.get(call, 0),
            torn=fault.name == "power cut",
        )
        return wrong

    def _running(self) -> Puppet:
        if self._script is None or not self._script.alive:
            self._script = Puppet(
                "tests.chaos.puppet_api", self.world.work, self.world.environment(relay=True),
                self.world.root / "said",
            )  # fmt: skip
        return self._script

    def _call(
        self, script: Puppet, call: str, words: dict[str, Any], fault: Fault, chance: random.Random
    ) -> tuple[dict[str, Any] | None, bool]:
        """Return the answer, None for a script that ended; and whether it hung."""
        scene = Scene(self.world, script.pid, chance)
        heals: list[Heal] = []
        if fault.early and (heal := fault.strike(scene)) is not None:
            heals.append(heal)
        script.tell(call, **words)
        if not fault.early:
            wait_until(lambda: bool(self.world.engines()) or not script.alive, START_S)
            moment_s = chance.uniform(0.0, MOMENT_S)
            wait_until(lambda: not self.world.engines(), moment_s)
            if (heal := fault.strike(scene)) is not None:
                heals.append(heal)
        answer: dict[str, Any] | None = None
        hung = False
        try:
            answer = script.wait(SLOW_LIMIT_S if fault.slow else LIMIT_S)
        except Gone:
            pass
        except Hung:
            hung = True
        for heal in heals:
            with suppress(OSError):
                heal()
        self.world.forget_orders()
        return answer, hung


def _answer_wrong(answer: dict[str, Any], fault: Fault) -> list[str]:
    """Return what is wrong with how a call ended."""
    if "broken" in answer:
        return [f"it raised {answer['broken']}"]
    if answer.get("interrupted"):
        return [] if fault.name == "interrupted" else ["it was interrupted by nobody"]
    wrong = []
    said = [*([answer["said"]] if "said" in answer else []), *answer.get("warned", ())]
    if len(said) > 1:
        wrong.append(f"it said {len(said)} sentences: {said}")
    if fault.harmless and said:
        wrong.append(f"it said {said} for nothing")
    wrong += [f"it said {words!r}" for words in said if "\n" in words or len(words) < 10]
    return wrong
