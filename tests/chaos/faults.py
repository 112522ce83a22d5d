"""The faults: what each does to the program under test and to its engine.

Whoever adds one adds a function to ``FAULTS``; it returns what takes it back, or None.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.world import World

Heal = Callable[[], None]
FEW_DESCRIPTORS = 3
STOPPED_S = 0.6
HELD_S = (0.3, 2.0)
BUSY_FOR_LONG_S = 7.0
"""Longer than any program waits for a store that another one holds."""
ROOM_B = (0, 20_000)


@dataclass(frozen=True)
class Scene:
    """What a fault finds: a world, the program under test, and chance."""

    world: World
    pid: int
    chance: random.Random


@dataclass(frozen=True)
class Fault:
    """One kind of fault.

    ``by_world`` says that the engine has nothing to do with it; ``ends`` that the program under
    test is ended by it; ``harmless`` that nobody may notice; ``early`` that it strikes before the
    program starts.
    """

    name: str
    strike: Callable[[Scene], Heal | None]
    by_world: bool = False
    ends: bool = False
    harmless: bool = False
    early: bool = False
    slow: bool = False
    """Whether it takes ten seconds and more until the program goes on."""


def _to_engine(number: int) -> Callable[[Scene], Heal | None]:
    def strike(scene: Scene) -> None:
        for pid in scene.world.engines():
            with suppress(OSError):
                os.kill(pid, number)

    return strike


def _stop(scene: Scene) -> Heal:
    engines = scene.world.engines()

    def go_on() -> None:
        for pid in engines:
            with suppress(OSError):
                os.kill(pid, signal.SIGCONT)

    for pid in engines:
        with suppress(OSError):
            os.kill(pid, signal.SIGSTOP)
    return go_on


def _pause(scene: Scene) -> None:
    go_on = _stop(scene)
    timer = threading.Timer(scene.chance.uniform(0.05, STOPPED_S), go_on)
    timer.daemon = True
    timer.start()


def _memory(scene: Scene) -> None:
    """Let the engine have no more memory than it has."""
    for pid in scene.world.engines():
        with suppress(OSError, StopIteration):
            text = Path(f"/proc/{pid}/status").read_text()
            size = next(line for line in text.splitlines() if line.startswith("VmSize"))
            has_B = int(size.split()[1]) * 1024
            resource.prlimit(pid, resource.RLIMIT_AS, (has_B + (1 << 16), resource.RLIM_INFINITY))


def _order(name: str, text: str) -> Callable[[Scene], Heal | None]:
    def strike(scene: Scene) -> None:
        scene.world.order(name, text)

    return strike


def _delay(scene: Scene) -> None:
    scene.world.order("frames", f"delay {scene.chance.uniform(0.05, 0.5):.2f}")


def _clock(scene: Scene) -> Heal:
    scene.world.order("clock", str(-scene.chance.choice((5, 3600, 86_400 * 400))))
    return lambda: (scene.world.root / "clock").unlink(missing_ok=True)


def _limited(pid: int, kind: int, most: int) -> Heal:
    with suppress(OSError):
        before = resource.prlimit(pid, kind)
        resource.prlimit(pid, kind, (min(most, before[1] if before[1] >= 0 else most), before[1]))

    def lift() -> None:
        with suppress(OSError, UnboundLocalError):
            resource.prlimit(pid, kind, before)

    return lift


def _disk_full(scene: Scene) -> Heal:
    """Let no file grow beyond what the store's have, or little more."""
    sizes = [p.stat().st_size for p in scene.world.data.glob("history.sqlite*")]
    room_B = scene.chance.randint(*ROOM_B)
    return _limited(scene.pid, resource.RLIMIT_FSIZE, max([0, *sizes]) + room_B)


def _descriptors(scene: Scene) -> Heal:
    with suppress(OSError):
        used = max(map(int, os.listdir(f"/proc/{scene.pid}/fd")), default=0)
        return _limited(scene.pid, resource.RLIMIT_NOFILE, used + 1 + FEW_DESCRIPTORS)
    return lambda: None


def _held(scene: Scene, seconds: float) -> Heal:
    """Hold the store as another program that writes for so long."""
    connection = sqlite3.connect(
        scene.world.store, timeout=5.0, isolation_level=None, check_same_thread=False
    )
    done, lock = threading.Event(), threading.Lock()
    with suppress(sqlite3.OperationalError):
        connection.execute("BEGIN EXCLUSIVE")

    def let_go() -> None:
        done.wait(seconds)
        with lock, suppress(sqlite3.Error):
            connection.close()

    thread = threading.Thread(target=let_go, name="holder", daemon=True)
    thread.start()

    def heal() -> None:
        done.set()
        thread.join()

    return heal


def _locked(scene: Scene) -> Heal:
    return _held(scene, scene.chance.uniform(*HELD_S))


def _locked_long(scene: Scene) -> Heal:
    return _held(scene, BUSY_FOR_LONG_S)


def _to_program(number: int) -> Callable[[Scene], Heal | None]:
    def strike(scene: Scene) -> None:
        with suppress(OSError):
            os.kill(scene.pid, number)

    return strike


def _power(scene: Scene) -> None:
    scene.world.end_all()
    tear(scene.world.store, scene.chance)


def tear(store: Path, chance: random.Random) -> None:
    """Leave of the store's log what a power cut may: it ends anywhere, its last page half written.

    What SQLite has not synchronised, the system writes whenever it likes.
    """
    log = store.with_name(store.name + "-wal")
    index = store.with_name(store.name + "-shm")
    index.unlink(missing_ok=True)  # memory of the machine
    if not log.exists() or not (size_B := log.stat().st_size):
        return
    with log.open("r+b") as stream:
        if chance.random() < 0.5:
            stream.truncate(chance.randrange(size_B + 1))
        else:
            at = max(0, size_B - chance.choice((512, 4096, 4120, 8240)))
            stream.seek(at)
            stream.write(bytes(min(512, size_B - at)))
            stream.seek(chance.randrange(at, size_B))
            stream.write(chance.randbytes(64))
            stream.truncate(size_B)


FAULTS = (
    Fault("engine killed", _to_engine(signal.SIGKILL)),
    Fault("engine segfault", _to_engine(signal.SIGSEGV)),
    Fault("engine aborted", _to_engine(signal.SIGABRT)),
    Fault("engine paused", _pause, harmless=True),
    Fault("engine stopped", _stop, slow=True),
    Fault("context poisoned", _order("poison", "1")),
    Fault("out of memory", _memory),
    Fault("frame cut", _order("frames", "cut")),
    Fault("frame garbled", _order("frames", "garble")),
    Fault("frame endless", _order("frames", "length")),
    Fault("frame late", _delay, harmless=True),
    Fault("clock set back", _clock, by_world=True, harmless=True, early=True),
    Fault("disk full", _disk_full, by_world=True),
    Fault("descriptors used up", _descriptors, by_world=True),
    Fault("store locked", _locked, by_world=True, harmless=True, early=True),
    Fault("store locked for long", _locked_long, by_world=True, early=True, slow=True),
    Fault("program killed", _to_program(signal.SIGKILL), by_world=True, ends=True),
    Fault("interrupted", _to_program(signal.SIGINT), by_world=True, ends=True),
    Fault("power cut", _power, by_world=True, ends=True),
)
BY_NAME = {fault.name: fault for fault in FAULTS}


def wait_until(condition: Callable[[], bool], limit_s: float) -> bool:
    """Wait for a condition; return whether it came true in time."""
    limit = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > limit:
            return False
        time.sleep(0.01)
    return True
