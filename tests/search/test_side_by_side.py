"""Engines side by side: who measures, who rests, and how words name them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
import pytest

import gpuexplorer
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import CannotRunHere, InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.engine.interpreters import CONFIG_VARIABLE, Interpreters
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.search import side_by_side
from gpuexplorer.search.compare import Comparing, ContestantConfig
from gpuexplorer.search.contestants import (
    ContestantRequest,
    command_words,
    contestants_of,
    labels,
    read_words,
    split_engine,
    words_of,
)
from gpuexplorer.search.side_by_side import SideBySide
from gpuexplorer.workloads.loader import load
from tests.support.prepared import prepared
from tests.support.pythons import make_python, pretend
from tests.support.results import made_config, made_result

MATMUL = load()["matmul"]


@pytest.fixture(autouse=True)
def engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two engines by name."""
    monkeypatch.setenv(CONFIG_VARIABLE, str(tmp_path / "settings"))
    monkeypatch.setenv("GPUEXPLORER_DATA_DIR", str(tmp_path / "data"))
    for name in ("old", "new"):
        Interpreters().add(name, str(pretend(tmp_path / name, ":")))
    return tmp_path


class Seat:
    """An engine that takes a known time, and notes whose turn it was."""

    def __init__(self, name: str | None, launch_s: float, turns: list[str | None]) -> None:
        self.name, self.launch_s, self._turns = name, launch_s, turns
        self.pid: int | None = hash(name) % 1000
        self.closed = False

    def devices(self) -> DeviceList:
        return DeviceList()

    def close(self) -> None:
        self.closed = True

    def measure(self, config: RunConfig, *_: object, **__: object) -> RunRecord:
        self._turns.append(self.name)
        start = prepared()
        record = RunRecord(
            msgspec.structs.replace(
                start,
                config=config,
                environment=msgspec.structs.replace(start.environment, engine=self.name),
            )
        )
        seconds = np.full(20, self.launch_s)
        record.add(SampleBatch(seconds=seconds.tobytes(), counts=(20,), starts_ns=(0,)))
        record.end("time")
        return record


def test_each_is_measured_in_its_own_engine_once_the_others_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns: list[str | None] = []
    waited: list[list[int]] = []
    seats: dict[str | None, Seat] = {}

    def wait(pids: object) -> bool:
        waited.append(list(pids))  # type: ignore[call-overload]
        return True

    def open_seat(engine: str | None) -> Seat:
        seats[engine] = Seat(engine, {"old": 2e-3, "new": 1e-3, None: 3e-3}[engine], turns)
        return seats[engine]

    monkeypatch.setattr(side_by_side, "wait_until_idle", wait)
    config = prepared().config
    contestants = [ContestantConfig(str(e), config, MATMUL, None, e) for e in ("old", "new", None)]
    with SideBySide(open_seat) as sides:
        comparing = Comparing(contestants, seed=4, rounds=8)
        comparing.measure([sides.measures(e.engine) for e in contestants])
        result = comparing.result()
        assert not any(seat.closed for seat in seats.values())
    assert all(seat.closed for seat in seats.values())
    assert sides.restless == []
    for start in range(0, len(turns), 3):
        assert sorted(map(str, turns[start : start + 3])) == ["None", "new", "old"]
    assert len({tuple(turns[i : i + 3]) for i in range(0, len(turns), 3)}) > 1, "chance decides"
    changes = sum(a != b for a, b in pairwise(turns))
    assert len(waited) >= changes
    pids = {seat.pid for seat in seats.values()}
    assert {len(pids & set(w)) for w in waited[3:]} == {2}
    assert [c.run.environment.engine for c in result.contestants] == ["old", "new", None]
    assert [c.ratio for c in result.others] == pytest.approx([0.5, 1.5])
    assert [c.verdict for c in result.others] == ["faster", "slower"]


def test_one_that_never_rests_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_by_side, "wait_until_idle", lambda pids: False)
    with SideBySide(lambda engine: Seat(engine, 1e-3, [])) as sides:
        for engine in ("old", "new", "old"):
            sides.take_turn(engine)
    assert sides.restless == ["old", "new"]


def test_an_engine_that_does_not_start_is_named_and_the_others_end() -> None:
    opened: list[Seat] = []

    def open_seat(engine: str | None) -> Seat:
        seat = Seat(engine, 1e-3, [])
        if engine == "new":
            raise CannotRunHere("it died")
        opened.append(seat)
        return seat

    with (
        pytest.raises(CannotRunHere, match="engine 'new': it died"),
        SideBySide(open_seat) as sides,
    ):
        sides.devices("old")
        sides.devices("new")
    assert [seat.closed for seat in opened] == [True]


# ---- words


def read(
    *words: str | RunResult, engine: str | None = None, workload: str = "matmul"
) -> list[ContestantRequest]:
    def stored(run: str, _: str | None) -> RunResult:
        return STORED[run]

    return read_words(words, RunRequest(workload=workload), (), stored, engine=engine)


def of_engine(engine: str | None) -> RunResult:
    result = made_result()
    environment = msgspec.structs.replace(result.environment, engine=engine)
    return msgspec.structs.replace(result, environment=environment)


STORED = {"abcdef": of_engine("old"), "012345": of_engine(None), "ffffff": of_engine("gone")}


def test_a_word_names_its_engine() -> None:
    wanted = read("naive:16x16,engine=old", "naive", "engine=new", "engine=new,tiled,TILE=16")
    assert [one.engine for one in wanted] == ["old", None, "new", "new"]
    short = read("naive:16x16@old", "naive", "@new", "tiled@new,TILE=16")
    assert [(one.engine, one.request) for one in short] == [
        (one.engine, one.request) for one in wanted
    ]
    assert [one.request.variant for one in wanted] == ["naive", "naive", "naive", "tiled"]
    assert wanted[0].request.block == (16, 16)
    assert split_engine("naive") == ("naive", None)


def test_the_option_holds_for_every_word_that_says_nothing() -> None:
    wanted = read("naive,engine=old", "naive", "abcdef", engine="new")
    assert [one.engine for one in wanted] == ["old", "new", "new"]


def test_a_stored_run_is_measured_where_it_was_if_that_is_still_there() -> None:
    wanted = read("abcdef", "abcdef,engine=new", "run=012345,engine=old", "012345", "ffffff")
    assert [one.engine for one in wanted] == ["old", "new", "old", None, None]
    like_the_first = read("abcdef", "naive", workload="")
    assert [one.engine for one in like_the_first] == ["old", "old"]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("naive,engine=nothing", "'nothing' is no engine"),
        ("naive,engine=", "'engine' has no value"),
        ("naive,engine=old,engine=new", "says 'engine' twice"),
        ("naive,engin=old", "did you mean 'engine'"),
    ],
)
def test_a_word_that_names_no_engine_is_refused(word: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(word, "naive")


def test_the_same_configuration_in_two_engines_is_told_apart() -> None:
    config = made_config()
    assert labels([config, config], engines=["old", None]) == ["naive · old", "naive · built-in"]
    assert labels([config, config], engines=["old", "old"]) == [
        "naive · block 16×16 (1)", "naive · block 16×16 (2)",
    ]  # fmt: skip
    other = made_config(block=(32, 8, 1))
    assert labels([config, other], engines=["old", "/home/me/envs/tf/bin/python"]) == [
        "naive · block 16×16 · old", "naive · block 32×8 · envs/tf",
    ]  # fmt: skip


def test_commands_name_engines_where_there_is_another() -> None:
    config = made_config()
    assert words_of(config, "matmul", "old").endswith(",engine=old")
    plain = command_words([config, config], [None, None])
    assert not any("engine" in word for word in plain)
    mixed = command_words([config, config], [None, "old"])
    assert mixed[0].endswith(",engine=built-in")
    assert mixed[1].endswith(",engine=old")
    wanted = read(*mixed[:2])
    assert [one.engine for one in wanted] == ["built-in", "old"]


def test_devices_are_asked_of_each_engine_and_of_no_stored_run() -> None:
    asked: list[str | None] = []

    def devices(engine: str | None) -> DeviceList:
        asked.append(engine)
        kernels = msgspec.structs.replace(prepared().device, runs_kernels=True)
        return DeviceList(devices=(kernels,))

    wanted = read("naive,engine=old", "naive", "naive,engine=new")
    device = prepared().device.id
    for one in wanted:
        one.request.device = device
    contestants = contestants_of(wanted, devices, "default")
    assert asked == ["old", "default", "new"]
    assert [e.engine for e in contestants] == ["old", "default", "new"]
    as_stored = read_words(
        ["abcdef"], RunRequest(workload="matmul"), (), lambda run, _: STORED[run], as_stored=True
    )
    contestants_of(as_stored, devices)
    assert len(asked) == 3


def test_two_pythons_side_by_side_for_real(engines: Path) -> None:
    python = make_python(engines / "env")
    Interpreters().add("env", str(python))
    result = gpuexplorer.compare(
        "numpy,engine=env", "numpy,engine=built-in", workload="matmul", size=64, device="numpy:cpu",
        threads=1, rounds=2,
    )  # fmt: skip
    assert [c.label for c in result.contestants] == ["numpy · env", "numpy · built-in"]
    assert [c.run.environment.engine for c in result.contestants] == ["env", None]
    assert [len(c.turns_s) for c in result.contestants] == [2, 2]
    assert result.interleaved
    assert {c.run.config.threads for c in result.contestants} == {1}
