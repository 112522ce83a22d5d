"""A program that writes into the store as it is told, and says when each write has returned."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.history.store import Store
from tests.chaos.puppet import Strings
from tests.support.prepared import prepared
from tests.support.results import made_result

SAMPLES, CHUNK = 200, 100
MADE = made_result(SAMPLES)


def do(store: Store, one: dict[str, Any]) -> None:
    """Do one thing with the store."""
    name, run_id = one["do"], one.get("id", "")
    if name == "add":
        store.add(msgspec.structs.replace(MADE, id=run_id))
    elif name == "group":
        runs = [msgspec.structs.replace(MADE, id=each) for each in one["ids"]]
        store.add_group("comparison", {"made": "by chance"}, runs)
    elif name == "begin":
        record = RunRecord(prepared())
        record.id = run_id
        store.begin(record)
    elif name == "append":
        store.append(run_id, np.arange(CHUNK, dtype=np.float64))
    elif name == "star":
        store.star(run_id, one["on"])
    elif name == "tag":
        store.tag(run_id, "chaos")
    elif name == "delete":
        store.delete(run_id)
    elif name == "purge":
        store.purge()


def main() -> None:
    """Answer every order with the number of its write, or with a sentence."""
    strings = Strings()
    strings.answer(ready=True)
    store: Store | None = None
    reader: sqlite3.Connection | None = None
    while (told := strings.read()) is not None:
        for one in told:
            try:
                if store is None:
                    store = Store.open(Path(one["store"]), busy_s=0.2)
                if reader is None:
                    reader = _reader(one["store"])
                do(store, one)
                strings.answer(generation=_number(reader))
            except (ExplorerError, OSError, sqlite3.Error) as error:
                strings.answer(error=str(error))
    if reader is not None:
        reader.close()
    if store is not None:
        store.close()


def _reader(place: str) -> sqlite3.Connection:
    """Return a connection with all its files open: there may be no descriptor left later."""
    reader = sqlite3.connect(place, timeout=5.0)
    try:
        _number(reader)
    except sqlite3.Error:
        reader.close()
        raise
    return reader


def _number(reader: sqlite3.Connection) -> int:
    """Return the store's own number of its last write.

    That of ``Store.generation`` leaves out samples that this program has added itself.
    """
    (found,) = reader.execute("select generation from gpuexplorer_store").fetchone()
    return int(found)


if __name__ == "__main__":
    main()
