"""The window under faults: one window lives through many of them."""

from __future__ import annotations

import random
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.history.store import Store as History
from tests.chaos.display import Display
from tests.chaos.faults import FAULTS, Fault, Heal, Scene, wait_until
from tests.chaos.ledger import Ledger
from tests.chaos.left import left_behind
from tests.chaos.puppet import Gone, Hung, Puppet
from tests.chaos.world import World

ANSWER_S = 8.0
"""A window that does not answer for so long hangs; an action may wait three seconds itself."""
DEATH_S = 3.0
SETTLED_S = 40.0
SLOW_SETTLED_S = 330.0
CLOSED_S = 25.0
MOMENT_S = 0.5
LOOK_S = 0.1
LIVE_LOSS_S = 1.0
"""What a live run may lose."""
SLACK_S = 1.0
"""What a busy machine may take to write it."""
WRONG = ("bad", "warning", "status")
"""Kinds of sentences that say that something went wrong: of a banner, and of the status line."""
MOST_NOTICES = 2
"""One sentence for the fault, and one for what it made of what was going on."""
EVERY_CLOSE = 12
"""Every so many steps the window is closed in order and opened again."""
X_GONE = "X server gone"
TOLD = ("engine killed", "engine segfault", "engine aborted")
"""Faults of which a window with an engine must say something."""
BLOCKS = ([16, 1, 1], [32, 1, 1], [64, 1, 1], [128, 1, 1], [256, 1, 1])
SIZES = (1024, 2048, 4096)


@dataclass
class Window:
    """Actions in a window, one fault each, and what came of it."""

    world: World = field(default_factory=World)
    ledger: Ledger = field(default_factory=Ledger)
    last: list[str] = field(default_factory=list)
    faults: tuple[Fault, ...] = (*FAULTS, Fault(X_GONE, lambda scene: None, by_world=True,
                                                ends=True))  # fmt: skip
    _display: Display | None = None
    _puppet: Puppet | None = None
    _steps: int = 0
    _seen: list[tuple[float, str, int]] = field(default_factory=list)
    """When a live run was seen with how many samples."""
    _ended: dict[str, int] = field(default_factory=dict)
    """Runs of this window that are over and stored, with their samples."""
    _said: list[tuple[str, str]] = field(default_factory=list)
    """What was said since the fault, with its kind."""
    _complaints: list[str] = field(default_factory=list)

    def close(self) -> None:
        """End the world."""
        self.world.close()
        if self._display is not None:
            self._display.end()
        self._display = self._puppet = None

    # ---- a step

    def step(self, fault: Fault, chance: random.Random) -> list[str]:
        """Do something in the window with one fault; return what is wrong afterwards."""
        puppet = self._running()
        self._steps += 1
        action = self._action(chance)
        self.last = [*self.last[-4:], f"{fault.name}: {action}"]
        scene = Scene(self.world, puppet.pid, chance)
        heals: list[Heal] = []
        struck = False
        try:
            if not fault.ends:
                self._state(puppet)
            puppet.ask(**action, limit_s=ANSWER_S)
            self._watch(puppet, chance.uniform(0.0, MOMENT_S if not fault.ends else 4.0))
            was = self._state(puppet)
            self._said.clear()
            engines = self.world.engines()
            struck = True
            if fault.name == X_GONE:
                assert self._display is not None
                self._display.end()
            elif (heal := fault.strike(scene)) is not None:
                heals.append(heal)
            if not fault.ends:
                self._watch(puppet, chance.uniform(0.0, MOMENT_S))
        except Gone:
            if not (struck and fault.ends):
                return self._gone(puppet, fault, heals, ["the window ended by itself"])
        except Hung:
            return self._gone(puppet, fault, heals, [f"it did not answer within {ANSWER_S:.0f} s"])
        if fault.ends:
            return self._gone(puppet, fault, heals, [])
        if not fault.slow:
            for heal in heals:
                heal()
        must_say = fault.name in TOLD and was["engine"] == "ready" and bool(engines)
        if must_say:  # an engine may survive a signal that is meant for what it did
            must_say = wait_until(lambda: not set(engines) & set(self.world.engines()), DEATH_S)
        wrong = self._settle(puppet, fault, chance, must_say=must_say)
        for heal in heals:
            heal()
        self.world.forget_orders()
        wrong += [f"it said {line!r}" for line in puppet.said()]
        if self._steps % EVERY_CLOSE == 0 and not wrong:
            wrong += self._close_in_order(puppet)
        return wrong

    def _running(self) -> Puppet:
        if self._display is None or not self._display.alive:
            self._display = Display()
        if self._puppet is None:
            self._puppet = Puppet(
                "tests.chaos.puppet_window", self.world.work,
                self.world.environment(
                    relay=True, DISPLAY=self._display.name, QT_QPA_PLATFORM="xcb"
                ),
                self.world.root / "said",
            )  # fmt: skip
            self._seen, self._ended, self._said, self._complaints = [], {}, [], []
            self._first(self._puppet)
        return self._puppet

    def _first(self, puppet: Puppet) -> None:
        """Begin with something small."""
        limit = time.monotonic() + SETTLED_S
        while self._state(puppet)["engine"] != "ready" and time.monotonic() < limit:
            time.sleep(LOOK_S)
        puppet.ask("knob", ANSWER_S, name="variant", value="vector_add")
        puppet.ask("knob", ANSWER_S, name="size", value=1024)
        puppet.ask("live", ANSWER_S, on=True)

    def _action(self, chance: random.Random) -> dict[str, Any]:
        row = chance.randrange(6)
        work = self.world.work
        session, run = str(work / "session.gpux"), f"run.{chance.choice(('json', 'csv', 'png'))}"
        return chance.choice((
            {"do": "knob", "name": "block", "value": chance.choice(BLOCKS)},
            {"do": "knob", "name": "block", "value": chance.choice(BLOCKS)},
            {"do": "knob", "name": "size", "value": chance.choice(SIZES)},
            {"do": "knob", "name": "undo", "value": None},
            {"do": "live", "on": True}, {"do": "live", "on": False},
            {"do": "pin"}, {"do": "unpin"}, {"do": "sweep"}, {"do": "sweep"}, {"do": "tune"},
            {"do": "compare"}, {"do": "block_map"}, {"do": "study"}, {"do": "pause"},
            {"do": "stop"},
            {"do": "export", "path": str(work / run)},
            {"do": "save", "path": session}, {"do": "open", "path": session}, {"do": "back"},
            {"do": "mark", "wanted": chance.choice(("star", "delete", "ghost", "restore")),
             "row": row},
            {"do": "mark", "wanted": "undo", "row": row},
            {"do": "tab", "number": chance.randrange(12)}, {"do": "restart"},
        ))  # fmt: skip

    # ---- looking

    def _state(self, puppet: Puppet) -> dict[str, Any]:
        state = puppet.ask("state", ANSWER_S)
        self._said += map(tuple, state["notices"])
        self._complaints += state["complaints"]
        if state["run"] and state["samples"] and not state["over"]:
            self._seen.append((time.monotonic(), state["run"], state["samples"]))
        stored = set(state["stored"])
        if not state["waiting"] and not state["trouble"]:
            self._ended |= {i: n for i, n in state["ended"].items() if i in stored}
        return state

    @property
    def _heard(self) -> list[str]:
        """The sentences since the fault that something went wrong, each once."""
        return list(dict.fromkeys(text for kind, text in self._said if kind in ("bad", "warning")))

    def _watch(self, puppet: Puppet, seconds: float) -> None:
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            self._state(puppet)
            time.sleep(LOOK_S)

    def _settle(
        self, puppet: Puppet, fault: Fault, chance: random.Random, *, must_say: bool
    ) -> list[str]:
        """Wait until the window is as it was before the fault; judge what it said of it."""
        limit = time.monotonic() + (SLOW_SETTLED_S if fault.slow else SETTLED_S)
        stopped = False
        try:
            while True:
                state = self._state(puppet)
                quiet = not state["job"] and not state["writing"] and not state["waiting"]
                told = not must_say or any(kind in WRONG for kind, _ in self._said)
                if state["engine"] == "ready" and quiet and not state["trouble"] and told:
                    break
                if state["engine"] == "lost":
                    puppet.ask("again", ANSWER_S)
                elif state["job"] and not stopped and time.monotonic() > limit - SETTLED_S + 5:
                    stopped = True
                    puppet.ask("stop", ANSWER_S)
                if time.monotonic() > limit:
                    what = "it did not recover" if told else "nothing was said of it"
                    return [f"{what}: {_short(state)}"]
                time.sleep(LOOK_S)
        except Gone:
            return self._gone(puppet, fault, [], ["the window ended by itself"])
        except Hung:
            return self._gone(puppet, fault, [], [f"it did not answer within {ANSWER_S:.0f} s"])
        if not state["live"] and chance.random() < 0.7:
            puppet.ask("live", ANSWER_S, on=True)
        wrong = [f"it complained: {words}" for words in self._complaints]
        self._complaints = []
        bad = self._heard
        if len(bad) > MOST_NOTICES:
            wrong.append(f"it said {len(bad)} sentences: {bad}")
        wrong += [f"it said {text!r}" for text in bad if "Traceback" in text or "\n" in text]
        if any("Something in the window went wrong" in text for text in bad):
            wrong.append(f"an error in the window: {bad}")
        return wrong

    # ---- ends

    def _close_in_order(self, puppet: Puppet) -> list[str]:
        """Close the window as a user does; everything it showed is in the store then."""
        try:
            state = self._state(puppet)
            expected = dict(self._ended)
            if state["run"] and not state["over"]:
                expected.setdefault(state["run"], state["samples"])
        except (Gone, Hung):
            return self._gone(puppet, FAULTS[0], [], ["it was gone before it was closed"])
        code = puppet.end(CLOSED_S)
        wrong = [] if code == 0 else [f"it closed with {code}"]
        wrong += [f"it said {line!r}" for line in puppet.said()]
        self._puppet = None
        wrong += left_behind(self.world, _written(self.world))
        return wrong + self._check(expected, torn=False)

    def _gone(self, puppet: Puppet, fault: Fault, heals: list[Heal], wrong: list[str]) -> list[str]:
        """Judge what a window left that is gone."""
        died = time.monotonic()
        if not puppet.wait_gone(CLOSED_S):
            wrong = [*wrong, "it did not end"]
            self.world.end_all()
            puppet.wait_gone(CLOSED_S)
        for heal in heals:
            heal()
        self.world.forget_orders()
        self._puppet = None
        said = puppet.said()
        if fault.name not in (X_GONE, "power cut", "program killed"):
            wrong = wrong + [f"it said {line!r}" for line in said]
        elif fault.name == X_GONE and (len(said) != 1 or puppet.process.poll() != 1):
            wrong = [*wrong, f"it ended with {puppet.process.poll()} and said {said}"]
        expected = dict(self._ended) if fault.name != "power cut" else {}
        if fault.name != "power cut":
            for at, run_id, samples in self._seen:
                if at < died - LIVE_LOSS_S - SLACK_S:
                    expected[run_id] = max(samples, expected.get(run_id, 0))
        wrong += [
            words
            for words in left_behind(self.world, _written(self.world))
            if "folder for temporary" not in words and "beside the files" not in words
        ]  # nobody is left who could remove them
        for path in [*self.world.work.glob("*.part"), *self.world.tmp.iterdir()]:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
        return wrong + self._check(expected, torn=fault.name == "power cut")

    def _check(self, expected: dict[str, int], *, torn: bool) -> list[str]:
        """Hold the store against what the window showed."""
        wrong = []
        if self.world.store.exists():
            try:
                with History.open(self.world.store) as store:
                    for run_id, samples in expected.items():
                        with suppress(ExplorerError):
                            found = store.row(run_id).samples
                            if found < samples:
                                wrong.append(f"{run_id} has {found} samples of {samples} seen")
                            self.ledger.keep(run_id, found)
                            continue
                        wrong.append(f"{run_id} with {samples} samples is missing")
            except ExplorerError as error:
                return [f"the store cannot be opened: {error}"]
        return wrong + self.ledger.check(self.world, may_add=1 << 30, torn=torn, marks=False)


def _written(world: World) -> set[str]:
    return {path.name for path in world.work.iterdir() if path.suffix != ".part"}


def _short(state: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in state.items() if k not in ("ended", "stored", "complaints")}
