"""Spoiled inputs read one after the other: each whole, or refused in one sentence."""

from __future__ import annotations

import collections
import random
import shutil
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.history.importing import import_file
from gpuexplorer.history.store import Query, Store
from tests.support.exchange import Spoil, spoil_bytes

LONGEST_S = 5.0
"""Processor time of one file; the clock on the wall also counts what other programs take."""
LONGEST_SENTENCE = 1000
EMPTY_EVERY = 10
MOST_TROUBLES = 20


def fuzz(name: str, source: Path, spoil: Spoil, count: int, seed: int) -> dict[str, Any]:
    """Import ``count`` spoiled files of one kind; return what came of them."""
    chance = random.Random(f"{seed} {name}")
    original = source.read_bytes()
    outcomes: collections.Counter[str] = collections.Counter()
    troubles: list[dict[str, Any]] = []
    slowest_s = 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / source.name
        samples = source.with_name(source.name + "-bin")
        with Store.open("sqlite://") as store:
            for number in range(count):
                data = spoil(original, chance)
                path.write_bytes(data)
                if samples.is_dir():
                    _spoil_samples(samples, path, chance)
                began = time.process_time()
                trouble = try_one(store, path, outcomes)
                slowest_s = max(slowest_s, time.process_time() - began)
                if trouble is not None:
                    kept = Path(tempfile.gettempdir()) / f"spoiled-{name}-{number}"
                    kept.write_bytes(data)
                    troubles.append({"file": str(kept), "what": trouble})
                if number % EMPTY_EVERY:  # sometimes the next one finds the runs there already
                    store.delete([row.id for row in store.find(limit=1000)])
                    store.purge()
    return {
        "files": count,
        "outcomes": dict(outcomes),
        "slowest_s": round(slowest_s, 3),
        "troubles": troubles[:MOST_TROUBLES],
        "troubles_count": len(troubles),
        "ok": not troubles and slowest_s <= LONGEST_S,
    }


def no_sentence(said: str, longest: int = LONGEST_SENTENCE) -> str | None:
    """Return why what was said is not one sentence; None when it is."""
    if "\n" in said or not 10 < len(said) <= longest:
        return f"not a sentence: {said[:2000]!r}"
    return None


# ---- whatever is read


class Hangs(BaseException):
    """Reading took too long; no handler for ordinary errors may take it for one."""


@contextmanager
def _limited() -> Iterator[None]:
    """Raise Hangs after ``LONGEST_S`` of this process's time, where the system has such a clock."""

    def expired(number: int, frame: FrameType | None) -> None:
        raise Hangs

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGVTALRM, expired)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def fuzz_reader(
    name: str,
    samples: Sequence[bytes],
    spoil: Spoil,
    read: Callable[[bytes], None],
    count: int,
    seed: int,
) -> dict[str, Any]:
    """Have ``read`` take ``count`` spoiled inputs; return what came of them.

    It returns, or raises an ExplorerError in one sentence; anything else must not happen.
    """
    chance = random.Random(f"{seed} {name}")
    outcomes: collections.Counter[str] = collections.Counter()
    troubles: list[dict[str, Any]] = []
    slowest_s = 0.0
    for number in range(count):
        data = spoil(chance.choice(samples), chance)
        began, trouble = time.process_time(), None
        try:
            with _limited():
                read(data)
            outcomes["read"] += 1
        except ExplorerError as error:
            outcomes["refused"] += 1
            trouble = no_sentence(str(error))
        except Hangs:
            outcomes["hung"] += 1
            trouble = f"it took longer than {LONGEST_S:.0f} s"
        except Exception:  # noqa: BLE001 - whatever it is, it must not happen
            outcomes["crashed"] += 1
            trouble = traceback.format_exc()
        slowest_s = max(slowest_s, time.process_time() - began)
        if trouble is not None:
            kept = Path(tempfile.gettempdir()) / f"spoiled-{name}-{seed}-{number}"
            kept.write_bytes(data)
            troubles.append({"file": str(kept), "what": trouble})
    return {
        "files": count,
        "outcomes": dict(outcomes),
        "slowest_s": round(slowest_s, 3),
        "troubles": troubles[:MOST_TROUBLES],
        "troubles_count": len(troubles),
        "ok": not troubles,
    }


# ---- imports


def _spoil_samples(samples: Path, path: Path, chance: random.Random) -> None:
    """Lay a folder of sample files beside the JSON, sometimes spoiled as well."""
    target = path.with_name(path.name + "-bin")
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(samples, target)
    if chance.random() < 0.3:
        for file in target.iterdir():
            file.write_bytes(spoil_bytes(file.read_bytes(), chance))


def try_one(store: Store, path: Path, outcomes: collections.Counter[str]) -> str | None:
    """Import one file; return what happened that must not, None for nothing."""
    before = store.count(Query()), len(store.groups())
    try:
        done = import_file(store, path)
    except ExplorerError as error:
        outcomes["refused"] += 1
        said = str(error)
        if (store.count(Query()), len(store.groups())) != before:
            return f"refused with '{said}', and the store has changed"
        return no_sentence(said, LONGEST_SENTENCE + len(str(path)))
    except BaseException:  # noqa: BLE001 - whatever it is, it must not happen
        outcomes["crashed"] += 1
        return traceback.format_exc()
    outcomes["imported" if done.added else "nothing new"] += 1
    if store.count(Query()) != before[0] + len(done.added):
        return f"{len(done.added)} runs imported, and the store holds others"
    for run in done.added:
        if store.get(run.id).samples_s != run.samples_s:
            return f"the run {run.id} came back with other samples"
    return None
