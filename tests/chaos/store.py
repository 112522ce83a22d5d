"""The store under faults: a program writes, is struck, and what it wrote is looked at.

Each write moves the store's number on by one, so that the number alone says which writes a store
holds: everything up to it, and nothing after it. A power cut may take the latest writes, those that
the system had not brought to the disk yet, and no others.
"""

from __future__ import annotations

import random
import sqlite3
import uuid
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.history.store import Store as History
from tests.chaos.faults import BY_NAME, Fault, Heal, Scene, wait_until
from tests.chaos.left import left_behind
from tests.chaos.puppet import Gone, Hung, Puppet
from tests.chaos.puppet_store import CHUNK, SAMPLES
from tests.chaos.world import World

Run = tuple[int, bool, bool]
"""Its samples, whether it is starred, whether it is deleted."""
State = dict[str, Run]

LIMIT_S = 20.0
WRITES = (1, 12)
MOST_RUNS = 200
"""With more, a new store is begun: every look reads all of them."""
MOMENT_S = 0.06
KINDS = (
    "program killed", "power cut", "store locked", "disk full", "descriptors used up",
    "clock set back",
)  # fmt: skip
READ = """
select id, samples, starred, deleted from gpuexplorer_runs order by seq
"""


@dataclass
class Store:
    """Writes in a world, one fault each."""

    world: World = field(default_factory=World)
    last: list[str] = field(default_factory=list)
    faults: tuple[Fault, ...] = tuple(BY_NAME[name] for name in KINDS)
    _writer: Puppet | None = None
    _states: dict[int, State] = field(default_factory=lambda: {0: {}})
    """The runs after each write, by the store's number then."""
    _live: str | None = None

    def close(self) -> None:
        """End the world."""
        self.world.close()

    def step(self, fault: Fault, chance: random.Random) -> list[str]:
        """Write a few times with one fault meanwhile; return what is wrong afterwards."""
        if self._states and len(max(self._states.items())[1]) > MOST_RUNS:
            self._begin_anew()
        writer = self._running()
        orders: list[dict[str, Any]] = []
        planned = dict(self._state)
        for _ in range(chance.randint(*WRITES)):
            orders.append(self._order(planned, chance))
            planned = after(planned, orders[-1])
        self.last = [*self.last[-4:], f"{fault.name}: {' '.join(o['do'] for o in orders)}"]
        scene = Scene(self.world, writer.pid, chance)
        heals: list[Heal] = []
        if fault.early and self.world.store.exists():
            heals += [heal] if (heal := fault.strike(scene)) is not None else []
        for order in orders:
            writer.tell(**order, store=str(self.world.store))
        if not fault.early:
            moment_s = chance.uniform(0.0, MOMENT_S)
            wait_until(lambda: not writer.alive, moment_s)
            heals += [heal] if (heal := fault.strike(scene)) is not None else []
        wrong = self._answers(writer, orders, fault)
        if fault.ends and not writer.wait_gone(LIMIT_S):
            wrong.append("it did not end")
        for heal in heals:
            heal()
        self.world.forget_orders()
        wrong += [f"it said {line!r}" for line in writer.said()]
        if not writer.alive:
            self._writer, self._live = None, None
        wrong += left_behind(self.world, set(), but={writer.pid} if writer.alive else None)
        return wrong + self._look(fault)

    def _begin_anew(self) -> None:
        self.close()
        self.world, self._states, self._writer, self._live = World(), {0: {}}, None, None

    def _running(self) -> Puppet:
        if self._writer is None:
            self._writer = Puppet(
                "tests.chaos.puppet_store", self.world.work, self.world.environment(),
                self.world.root / "said",
            )  # fmt: skip
        return self._writer

    @property
    def _state(self) -> State:
        return self._states[max(self._states)]

    def _order(self, state: State, chance: random.Random) -> dict[str, Any]:
        fresh = uuid.UUID(int=chance.getrandbits(128)).hex
        known = [i for i in state if i != self._live]
        which = chance.randrange(10)
        if which <= 2 or not known:
            return {"do": "add", "id": fresh}
        if which == 3:
            ids = [uuid.UUID(int=chance.getrandbits(128)).hex for _ in range(chance.randint(1, 5))]
            return {"do": "group", "ids": ids}
        if which <= 5:
            if self._live is None:
                self._live = fresh
                return {"do": "begin", "id": fresh}
            return {"do": "append", "id": self._live}
        run_id = chance.choice(known)
        if which == 6:
            return {"do": "star", "id": run_id, "on": chance.random() < 0.6}
        if which == 7:
            return {"do": "tag", "id": run_id}
        return {"do": "delete", "id": run_id} if which == 8 else {"do": "purge"}

    def _answers(self, writer: Puppet, orders: list[dict[str, Any]], fault: Fault) -> list[str]:
        """Take in which writes returned; return what was said that should not have been."""
        wrong: list[str] = []
        said: set[str] = set()
        for order in orders:
            try:
                answer = writer.wait(LIMIT_S)
            except Gone:
                return wrong if fault.ends else [f"it ended with {writer.process.poll()}"]
            except Hung:
                self.world.end_all()
                return [f"'{order['do']}' did not return"]
            if "generation" in answer:
                self._states[answer["generation"]] = after(self._state, order)
                continue
            said.add(answer["error"])
            if order["do"] == "begin":
                self._live = None
        if fault.name == "clock set back" and said:
            wrong.append(f"it said {sorted(said)} for nothing")
        wrong += [f"it said {words!r}" for words in said if "\n" in words or len(words) < 10]
        return wrong

    def _look(self, fault: Fault) -> list[str]:
        """Hold the store against the state that its number stands for."""
        if not self.world.store.exists():
            return ["the store is gone"] if self._state else []
        ended = self._writer is None
        try:
            if ended:  # finishes the run whose program is gone
                before, _ = self._read()
                with History.open(self.world.store) as store:
                    store.count()
            number, found = self._read()
        except (ExplorerError, sqlite3.Error) as error:
            return [f"the store cannot be read: {error}"]
        number = before if ended else number
        latest = max(self._states)
        wrong = []
        expected = self._states.get(number)
        if number < latest and fault.name != "power cut":
            wrong.append(f"{latest - number} writes that returned are missing")
        elif number > latest + 1:
            wrong.append(f"{number - latest} writes are there that were not asked for")
        if expected is not None and ended:
            expected = {i: run for i, run in expected.items() if run[0]}
        if expected is not None and found != expected:
            differ = sorted(set(found.items()) ^ set(expected.items()))
            wrong.append(f"after write {number} of {latest} it differs: {differ[:4]}")
        with closing(sqlite3.connect(self.world.store)) as raw:
            number_now, _ = self._read()
            whole = raw.execute("PRAGMA integrity_check").fetchall()
        if whole != [("ok",)]:
            wrong.append(f"it is damaged: {whole[:3]}")
        self._states = {number_now: found}
        return wrong

    def _read(self) -> tuple[int, State]:
        """Return the store's number and its runs, as they are now."""
        with closing(sqlite3.connect(self.world.store, timeout=5.0)) as raw:
            raw.execute("BEGIN")
            if not raw.execute("select count(*) from sqlite_schema").fetchone()[0]:
                return 0, {}  # its tables were the first that had no room
            (number,) = raw.execute("select generation from gpuexplorer_store").fetchone()
            rows = raw.execute(READ).fetchall()
        return number, {i: (n, bool(star), bool(gone)) for i, n, star, gone in rows}


def after(state: State, order: dict[str, Any]) -> State:
    """Return the runs after a write."""
    made, name, run_id = dict(state), order["do"], order.get("id", "")
    if name == "add":
        made[run_id] = (SAMPLES, False, False)
    elif name == "group":
        made |= dict.fromkeys(order["ids"], (SAMPLES, False, False))
    elif name == "begin":
        made[run_id] = (0, False, False)
    elif name == "append":
        samples, starred, deleted = made.get(run_id, (0, False, False))
        made[run_id] = (samples + CHUNK, starred, deleted)
    elif name == "star" and run_id in made:
        samples, _, deleted = made[run_id]
        made[run_id] = (samples, order["on"], deleted)
    elif name == "delete" and run_id in made:
        samples, starred, _ = made[run_id]
        made[run_id] = (samples, starred, True)
    elif name == "purge":
        made = {i: run for i, run in made.items() if not run[2]}
    return made
