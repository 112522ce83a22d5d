"""The command line under faults: each step is one command in a process of its own."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.faults import FAULTS, Fault, Heal, Scene, wait_until
from tests.chaos.ledger import Ledger
from tests.chaos.left import left_behind
from tests.chaos.outcome import Outcome, said_wrong
from tests.chaos.world import World
from tests.support.cli import cli_command

LIMIT_S = 60.0
SLOW_LIMIT_S = 330.0
"""A command that takes longer hangs; the second, where only a stage's deadline ends it."""
START_S = 20.0
MOMENT_S = 0.9
"""A fault strikes within so long after the engine is there, or the command has begun."""
KNOBS = ("--size", "1024", "--block", "64", "--device", "cpu")
SWEPT = ("--size", "1024,2048", "--block-x", "32,64", "--device", "cpu", "--samples", "3")
RUN_POINTS, SWEEP_POINTS = 1, 4


@dataclass(frozen=True)
class Command:
    """One command: its words, the files it is to write, and how many runs it may add."""

    words: tuple[str, ...]
    files: tuple[str, ...] = ()
    may_add: int = 0
    measures: bool = False
    then: Callable[[Ledger], None] = field(default=lambda ledger: None)
    """What the ledger takes in when the command has ended well."""


def _measuring(chance: random.Random) -> Command:
    which = chance.randrange(6)
    if which <= 1:
        files = ("run.json", *chance.choice(((), ("run.csv",), ("run.png",))))
        words = ["run", "vector_add", *KNOBS, "--seconds", "0.1", "--json", files[0]]
        for name in files[1:]:
            words += ["--csv" if name.endswith("csv") else "--plot", name]
        return Command(tuple(words), files, RUN_POINTS, measures=True)
    if which <= 3:
        resume = ("--resume",) if chance.random() < 0.6 else ()
        words_ = ("sweep", "vector_add", *SWEPT, "--json", "sweep.json", *resume)
        return Command(words_, ("sweep.json",), SWEEP_POINTS, measures=True)
    if which == 4:
        return Command(
            ("compare", "direct:32", "direct:64", "--workload", "vector_add", "--size", "1024",
             "--rounds", "3", "--json", "compare.json"),
            ("compare.json",), 2, measures=True,
        )  # fmt: skip
    return Command(
        ("tune", "vector_add", "--size", "1024", "--budget", "4", "--samples", "3",
         "--json", "tune.json"),
        ("tune.json",), 40, measures=True,
    )  # fmt: skip


def _looking(chance: random.Random, ledger: Ledger, world: World) -> Command:
    listed = ledger.listed()
    if not listed:
        return Command(("history",))
    run_id = chance.choice(listed)
    which = chance.randrange(7)
    if which == 0:
        return Command(("history", "--json", "list.json"), ("list.json",))
    if which == 1:
        on = not ledger.runs[run_id].starred

        def star(ledger: Ledger) -> None:
            ledger.runs[run_id].starred = on

        return Command(("history", "star" if on else "unstar", run_id), then=star)
    if which == 2:

        def delete(ledger: Ledger) -> None:
            ledger.runs[run_id].deleted = True

        return Command(("history", "delete", run_id), then=delete)
    if which == 3:

        def undelete(ledger: Ledger) -> None:
            if gone:
                ledger.runs[gone[-1]].deleted = False

        gone = [i for i, kept in ledger.runs.items() if kept.deleted]
        if len(gone) != 1:  # which of several is the latest, the store knows alone
            return Command(("history", "show", run_id))
        return Command(("history", "undelete"), then=undelete)
    if which == 4:
        suffix = chance.choice(("json", "csv", "nvbench.json", "html"))
        files = (f"out.{suffix}", f"out.{suffix}-bin")
        return Command(("export", run_id, files[0]), files)
    if which == 5:
        return Command(("history", "tag", run_id, "chaos"))
    source = world.root / "imported.json"
    if not source.exists():
        return Command(("report", run_id, "run.html"), ("run.html",))
    return Command(("import", str(source)), may_add=RUN_POINTS)


@dataclass
class Terminal:
    """Runs commands in a world, one fault each, and judges what came of it."""

    world: World = field(default_factory=World)
    ledger: Ledger = field(default_factory=Ledger)
    last: list[str] = field(default_factory=list)
    faults: tuple[Fault, ...] = FAULTS

    def close(self) -> None:
        """End the world."""
        self.world.close()

    def step(self, fault: Fault, chance: random.Random) -> list[str]:
        """Run one command with one fault; return what is wrong afterwards."""
        engine_only = not fault.by_world
        if engine_only or chance.random() < 0.6:
            command = _measuring(chance)
        else:
            command = _looking(chance, self.ledger, self.world)
        self.last = [*self.last[-4:], f"{fault.name}: gpuexplorer {' '.join(command.words)}"]
        outcome = self._run(command, fault, chance)
        wrong = said_wrong(outcome, fault)
        if outcome.code == 0:
            command.then(self.ledger)
        self._note_kept(command, outcome)
        wrong += left_behind(self.world, set(command.files))
        sure = outcome.code == 0
        wrong += self.ledger.check(
            self.world,
            may_add=0 if sure and "not kept" not in outcome.said and not _quiet(command)
            else command.may_add,
            torn=fault.name == "power cut",
            marks=sure or command.measures,
        )  # fmt: skip
        for path in self.world.work.iterdir():
            if path.name == "run.json" and outcome.code == 0:
                path.rename(self.world.root / "imported.json")
            elif path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        return wrong

    def _run(self, command: Command, fault: Fault, chance: random.Random) -> Outcome:
        environment = self.world.environment(relay=fault.name.startswith("frame"))
        heals: list[Heal] = []
        scene = Scene(self.world, 0, chance)
        if fault.early and (heal := fault.strike(scene)) is not None:
            heals.append(heal)
        process = subprocess.Popen(
            cli_command(*command.words), cwd=self.world.work, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, text=True,
        )  # fmt: skip
        began = time.monotonic()
        scene = Scene(self.world, process.pid, chance)
        if not fault.early:
            if command.measures and (not fault.by_world or chance.random() < 0.7):
                wait_until(lambda: bool(self.world.engines()) or process.poll() is not None,
                           START_S)  # fmt: skip
            moment_s = chance.uniform(0.0, MOMENT_S)
            wait_until(lambda: process.poll() is not None, moment_s)
            if (heal := fault.strike(scene)) is not None:
                heals.append(heal)
        try:
            out, said = process.communicate(timeout=SLOW_LIMIT_S if fault.slow else LIMIT_S)
            hung = False
        except subprocess.TimeoutExpired:
            self.world.end_all()
            out, said = process.communicate()
            hung = True
        for heal in heals:
            heal()
        unobeyed = self.world.forget_orders()
        took_s = time.monotonic() - began
        return Outcome(
            process.returncode, out, said, hung, took_s, missed=unobeyed,
            may_say=max(1, len(command.files)),
        )  # fmt: skip

    def _note_kept(self, command: Command, outcome: Outcome) -> None:
        """Take in what the command said it kept: the runs of its document."""
        if outcome.code not in (0, 1, 130) or "not kept" in outcome.said:
            return
        for name in command.files[:1]:
            path = self.world.work / name
            if not command.measures or command.words[0] == "tune" or not path.exists():
                continue
            for run in _runs_of(json.loads(path.read_bytes())):
                self.ledger.keep(run["id"], len(run["samples_s"]))


def _quiet(command: Command) -> bool:
    """Whether a command keeps runs whose ids its document does not list one by one."""
    return command.words[0] in ("tune", "import")


def _runs_of(document: Any) -> list[dict[str, Any]]:
    """Return the documents of runs in one of the command line's."""
    if "samples_s" in document:
        return [document]
    parts: Sequence[Any] = document.get("runs") or document.get("contestants") or ()
    runs = [part.get("run", part) for part in parts]  # a sweep's row is a run, with its values
    return [run for run in runs if run and run.get("samples_s")]
