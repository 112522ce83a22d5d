"""One program at a time works on a group: who is there keeps others off, who is gone does not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from gpuexplorer.history.holder import SILENT_S, Holder, holder_of, without_holder
from gpuexplorer.history.store import Store

HOLDS = """
import sys
from gpuexplorer.history.holder import Holder
from gpuexplorer.history.store import Store
with Store.open(sys.argv[1]) as store:
    assert store.hold_group(sys.argv[2], Holder.here()) is None
print("held", flush=True)
sys.stdin.read()
"""


def ago(seconds: float) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()


def test_the_first_keeps_the_others_off_until_it_lets_go(store: Store) -> None:
    group = store.begin_group("sweep", {"asked": 1})
    first, second = Holder.here(), Holder.here()
    assert store.hold_group(group, first) is None
    assert store.hold_group(group, second) == first
    later = first.seen()
    assert store.hold_group(group, later) is None  # a sign of life
    assert holder_of(store.group(group).document) == later
    assert without_holder(store.group(group).document) == {"asked": 1}
    store.change_group(group, document={"asked": 1})
    assert store.hold_group(group, second) is None


def test_a_process_that_was_killed_is_taken_over_from(store_url: str) -> None:
    with Store.open(store_url) as store:
        group = store.begin_group("sweep", {})
        other = subprocess.Popen(
            [sys.executable, "-c", HOLDS, store_url, group],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            assert other.stdout is not None and other.stdout.readline() == "held\n"
            found = store.hold_group(group, Holder.here())
            assert found is not None
            assert f"process {other.pid} on " in found.words
            other.kill()
            other.wait()
            assert store.hold_group(group, Holder.here()) is None
        finally:
            other.kill()
            other.communicate()


@pytest.mark.parametrize(
    "elsewhere",
    [
        lambda one: msgspec.structs.replace(one, host="another-machine"),
        lambda one: msgspec.structs.replace(one, process="of another version"),
    ],
)
def test_who_cannot_be_looked_at_is_there_as_long_as_it_gives_signs(
    elsewhere: Callable[[Holder], Holder],
) -> None:
    here = Holder.here()
    assert here.can_be_looked_at and here.is_there
    other = elsewhere(here)
    assert not other.can_be_looked_at and other.is_there
    silent = msgspec.structs.replace(other, seen_utc=ago(SILENT_S + 5))
    assert not silent.is_there
    assert silent.seen().is_there
    ahead = msgspec.structs.replace(other, seen_utc=ago(-SILENT_S - 5))
    assert not ahead.is_there  # a clock that is wrong holds nothing for ever
    assert msgspec.structs.replace(other, seen_utc="long ago").is_there


@pytest.mark.parametrize("document", [None, 3, [], {}, {"holder": 3}, {"holder": {"token": "a"}}])
def test_a_document_of_nobody_is_held_by_nobody(document: object) -> None:
    assert holder_of(document) is None
