"""The store's thread: what goes wrong is told once, and nothing that was measured is lost."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from msgspec.structs import replace
from pytestqt.qtbot import QtBot

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.gui import store_worker
from gpuexplorer.gui.model.history_pages import Answer, Ask, View
from gpuexplorer.gui.model.keeping import RESCUE_FOLDER
from gpuexplorer.gui.store_worker import StoreWorker, Trouble
from gpuexplorer.history.errors import StoreDamaged, StoreLocked, StoreReadOnly, StoreTooNew
from gpuexplorer.history.model import Query
from gpuexplorer.history.peek import VERSION
from gpuexplorer.history.store import Store
from tests.support import heap
from tests.support.history import made_batch, made_record, numbered_run

RUBBISH = b"this is no database " * 500
Worker = Callable[..., StoreWorker]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.sqlite"


@pytest.fixture
def worker(path: Path, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot) -> Iterator[Worker]:
    """Return a function that starts a store's thread, and waits for a signal; it is ended again."""
    monkeypatch.setattr(store_worker, "RETRY_S", 0.1)
    started: list[StoreWorker] = []

    def start(busy_s: float = 0.05, *, until: str = "") -> StoreWorker:
        made = StoreWorker(lambda: Store.open_to_read(path, busy_s=busy_s))
        started.append(made)
        if not until:
            made.start()
            return made
        with qtbot.waitSignal(getattr(made, until), timeout=10_000):
            made.start()
        return made

    yield start
    for made in started:
        assert made.close()


def troubles(worker: StoreWorker) -> list[Trouble | None]:
    """Return the list that fills with what the worker tells of its troubles."""
    told: list[Trouble | None] = []
    worker.troubled.connect(told.append)
    return told


def stored(path: Path) -> set[str]:
    with Store.open(path) as store:
        return {row.id for row in store.find(limit=1000) if not row.running}


def test_what_is_asked_is_answered(qtbot: QtBot, path: Path, worker: Worker) -> None:
    with Store.open(path) as store:
        store.add_all([numbered_run(i) for i in range(3)])
        store.star(numbered_run(1).id)
    runs = worker()
    answers: list[Answer] = []
    runs.answered.connect(answers.append)
    runs.ask(Ask(View(), None, (0,), (0,)))
    qtbot.waitUntil(lambda: bool(answers))
    assert answers[0].total == 3
    assert [row.id for row in answers[0].pages[0]] == [numbered_run(i).id for i in (2, 1, 0)]
    assert [row.id for row in answers[0].baselines.values()] == [numbered_run(1).id]
    runs.ask(Ask(View(), answers[0].state, (), (0,)))
    qtbot.waitUntil(lambda: len(answers) == 2)
    assert answers[1].total is None and not answers[1].pages


@pytest.mark.skipif(not heap.can_be_asked(), reason="glibc's heap alone can be asked")
def test_a_store_that_rests_holds_no_pages(
    qtbot: QtBot, path: Path, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_worker, "REST_S", 1.0)
    noise = np.random.default_rng(1).random(4000) * 1e-3
    with Store.open(path) as store:
        store.add_all(replace(numbered_run(i), samples_s=noise.tolist()) for i in range(200))
    assert path.stat().st_size > 5_000_000
    runs = worker()
    after_B: list[int] = []

    def read(store: Store) -> None:
        for i in range(200):
            store.get(numbered_run(i).id, listed=False)
        after_B.append(heap.in_hand_B())

    runs.do(read)
    qtbot.waitUntil(lambda: bool(after_B) and runs.rests, timeout=60_000)
    assert after_B[0] - heap.in_hand_B() > 4_000_000


def test_a_store_that_rests_holds_no_compiled_statements(
    qtbot: QtBot, path: Path, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_worker, "REST_S", 1.0)
    runs = worker()
    held: list[int] = []

    def search(store: Store) -> None:
        for words in ("one", "one two", "one two three"):
            store.find(Query(text=words))
        count(store)

    def count(store: Store) -> None:
        held.append(len(cast(Any, store._database.engine)._compiled_cache))

    runs.do(search)
    qtbot.waitUntil(lambda: bool(held) and runs.rests, timeout=60_000)
    runs.do(count)
    qtbot.waitUntil(lambda: len(held) == 2)
    assert held[0] >= 3 > held[1]  # at most the look whether the store has changed


def test_another_programs_run_is_noticed(qtbot: QtBot, path: Path, worker: Worker) -> None:
    runs = worker(until="changed")  # the first look
    with qtbot.waitSignal(runs.changed, timeout=10_000), Store.open(path) as store:
        store.add(numbered_run(1))


def test_what_is_done_and_what_fails_comes_back(qtbot: QtBot, path: Path, worker: Worker) -> None:
    runs = worker()
    outcomes: list[object] = []
    runs.do(lambda store: store.count(), outcomes.append)
    runs.do(lambda store: store.get("none"), outcomes.append)
    runs.do(lambda store: 1 / 0, outcomes.append)
    qtbot.waitUntil(lambda: len(outcomes) == 3)
    assert outcomes[0] == 0
    assert isinstance(outcomes[1], ExplorerError) and "no run 'none'" in str(outcomes[1])
    assert isinstance(outcomes[2], ExplorerError) and "division" in str(outcomes[2])
    assert runs.trouble is None


def test_what_was_asked_for_before_the_end_is_done(path: Path, worker: Worker) -> None:
    runs = worker()
    began, go_on = threading.Event(), threading.Event()

    def long(store: Store) -> None:
        began.set()
        assert go_on.wait(60)

    runs.do(long)
    assert began.wait(60)
    runs.do(lambda store: store.add(numbered_run(1)))
    runs.cancel()
    go_on.set()
    assert runs.close()
    assert stored(path) == {numbered_run(1).id}


def test_a_run_in_hand_is_stored_before_something_is_done_to_it(
    qtbot: QtBot, path: Path, worker: Worker
) -> None:
    runs = worker()
    record = made_record([1e-3] * 4)
    runs.go_on(record, [made_batch([1e-3] * 4)])
    outcomes: list[object] = []
    runs.do(lambda store: store.star(record.id), outcomes.append, needs=[record.id])
    qtbot.waitUntil(lambda: bool(outcomes))
    assert outcomes == [None]
    with Store.open(path) as store:
        (row,) = store.find()
    assert row.starred and row.running


def test_nothing_is_written_while_knobs_move_but_not_for_ever(
    qtbot: QtBot, path: Path, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = worker(until="opened")
    monkeypatch.setattr(store_worker, "HOLD_S", 60.0)
    monkeypatch.setattr(store_worker, "MOST_HELD_S", 0.5)
    began = time.monotonic()
    runs.hold()
    runs.end(numbered_run(1))

    def moves_go_on() -> bool:
        if time.monotonic() < began + 0.5:
            runs.hold()
        return bool(stored(path))

    qtbot.waitUntil(moves_go_on, timeout=10_000)
    assert time.monotonic() - began >= 0.5
    assert stored(path) == {numbered_run(1).id}


def test_a_locked_store_is_told_once_and_gets_its_runs_later(
    qtbot: QtBot, path: Path, worker: Worker
) -> None:
    Store.open(path).close()
    runs = worker()
    told = troubles(runs)
    qtbot.waitUntil(lambda: runs._store is not None)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    run = numbered_run(7)
    runs.end(run)
    qtbot.waitUntil(lambda: bool(told))
    trouble = told[0]
    assert trouble is not None
    assert isinstance(trouble.error, StoreLocked) and trouble.waiting == 1 and trouble.readable
    outcomes: list[object] = []
    runs.do(lambda store: store.count(), outcomes.append)  # reading goes on meanwhile
    qtbot.waitUntil(lambda: outcomes == [0])
    tried = threading.Event()
    real = runs._keeper.write

    def write(*arguments: Any) -> None:
        tried.set()
        real(*arguments)

    runs._keeper.write = write  # type: ignore[method-assign, assignment]
    qtbot.waitUntil(tried.is_set)
    assert len(told) == 1
    other.execute("ROLLBACK")
    other.close()
    qtbot.waitUntil(lambda: told[-1] is None)
    assert stored(path) == {run.id}


def test_what_can_be_read_again_takes_back_that_it_could_not_and_no_more(
    qtbot: QtBot, path: Path
) -> None:
    runs = StoreWorker(lambda: Store.open_to_read(path))
    told = troubles(runs)
    runs._cannot_read(StoreLocked("locked"))
    runs._can_read()
    assert [one and str(one.error) for one in told] == ["locked", None]
    runs._in_trouble(StoreReadOnly("the disk is full"))  # a run that goes on is not written
    runs._can_read()
    assert [one and str(one.error) for one in told] == ["locked", None, "the disk is full"]


def test_a_store_that_can_only_be_read_is_shown_until_it_can_be_written(
    qtbot: QtBot, path: Path, monkeypatch: pytest.MonkeyPatch, qapp: object
) -> None:
    monkeypatch.setattr(store_worker, "RETRY_S", 0.1)
    with Store.open(path) as store:
        store.add(numbered_run(1))
    writable = threading.Event()
    runs = StoreWorker(lambda: Store.open(path, read_only=not writable.is_set()))
    told = troubles(runs)
    runs.start()
    runs.end(numbered_run(2))
    qtbot.waitUntil(lambda: bool(told))
    trouble = told[0]
    assert trouble is not None and isinstance(trouble.error, StoreReadOnly)
    assert trouble.readable and trouble.waiting == 1
    outcomes: list[object] = []
    runs.do(lambda store: store.count(), outcomes.append)
    qtbot.waitUntil(lambda: outcomes == [1])
    writable.set()
    qtbot.waitUntil(lambda: told[-1] is None)
    assert runs.close()
    assert stored(path) == {numbered_run(1).id, numbered_run(2).id}


@pytest.mark.parametrize(
    ("spoil", "mend", "kind"),
    [
        (
            lambda path: path.replace(path.with_name("aside")) and path.write_bytes(RUBBISH),
            lambda path: path.read_bytes() == RUBBISH and path.with_name("aside").replace(path),
            StoreDamaged,
        ),
        (
            lambda path: _set_version(path, 99),
            lambda path: _set_version(path, VERSION),
            StoreTooNew,
        ),
    ],
    ids=["damaged", "newer"],
)
def test_a_store_of_no_use_is_left_alone_and_its_runs_kept_for_later(
    qtbot: QtBot,
    path: Path,
    worker: Worker,
    spoil: Callable[[Path], object],
    mend: Callable[[Path], object],
    kind: type[ExplorerError],
) -> None:
    with Store.open(path) as store:
        store.add(numbered_run(1))
    spoil(path)
    runs = worker()
    told = troubles(runs)
    runs.end(numbered_run(2))
    qtbot.waitUntil(lambda: bool(told))
    trouble = told[0]
    assert trouble is not None and isinstance(trouble.error, kind) and not trouble.readable
    assert trouble.error.remedy
    outcomes: list[object] = []
    runs.do(lambda store: store.count(), outcomes.append)
    qtbot.waitUntil(lambda: bool(outcomes))
    assert isinstance(outcomes[0], kind)
    assert runs.close()
    assert runs.left_behind is None
    assert mend(path)
    assert stored(path) == {numbered_run(1).id}


def test_runs_left_by_a_window_are_in_the_store_of_the_next(
    qtbot: QtBot, path: Path, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUEXPLORER_DATA_DIR", str(path.parent))
    path.write_bytes(RUBBISH)
    first = worker()
    first.end(numbered_run(2))
    assert first.close()
    path.unlink()
    worker(until="opened")
    assert stored(path) == {numbered_run(2).id}
    assert not list((path.parent / RESCUE_FOLDER).glob("*.json"))


def test_a_file_that_is_taken_away_is_made_anew(qtbot: QtBot, path: Path, worker: Worker) -> None:
    runs = worker(until="opened")
    for file in path.parent.glob(path.name + "*"):
        file.unlink()
    qtbot.waitUntil(path.exists, timeout=10_000)
    runs.end(numbered_run(4))
    assert runs.close()
    assert stored(path) == {numbered_run(4).id}


KILLED = """
import sys
from PySide6.QtCore import QCoreApplication, QTimer
from gpuexplorer.gui.store_worker import StoreWorker
from gpuexplorer.history.store import Store
from tests.support import heap
from tests.support.history import made_batch, made_record
application = QCoreApplication([])
runs = StoreWorker(lambda: Store.open(sys.argv[1]))
runs.start()
record = made_record()
def sample():
    batch = made_batch([1e-3] * 10)
    record.add(batch)
    runs.go_on(record, [batch])
    if runs._keeper.held:
        print(record.id, flush=True)
timer = QTimer()
timer.timeout.connect(sample)
timer.start(50)
application.exec()
"""


def test_a_killed_window_leaves_what_it_had_sampled(
    qtbot: QtBot, path: Path, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_worker, "ENDED_S", 0.1)
    root = Path(__file__).resolve().parents[2]
    window = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert window.stdout is not None
    run_id = window.stdout.readline().strip()
    with Store.open(path) as store:
        (row,) = store.find()
    assert (row.id, row.running) == (run_id, True)
    runs = worker()  # another window, which shows it
    answers: list[Answer] = []
    runs.answered.connect(answers.append)
    runs.changed.connect(lambda: runs.ask(Ask(View(), None, (0,), (0,))))
    qtbot.waitUntil(lambda: bool(answers) and answers[-1].pages[0][0].running)
    window.kill()
    window.wait()
    window.stdout.close()
    qtbot.waitUntil(lambda: not answers[-1].pages[0][0].running, timeout=20_000)
    with Store.open(path) as store:
        (row,) = store.find()
        assert (row.id, row.running, row.stopped_by) == (run_id, False, "interrupted")
        assert row.samples >= 10
        assert len(store.get(run_id).samples_s) == row.samples


def _set_version(path: Path, version: int) -> bool:
    with sqlite3.connect(path) as connection:
        done = connection.execute("UPDATE gpuexplorer_store SET version = ?", (version,))
    connection.close()
    return done.rowcount == 1
