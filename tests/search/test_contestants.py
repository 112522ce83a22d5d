"""Words for what takes part: every form there is, and a sentence for every wrong one."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import Origin, RunResult
from gpuexplorer.search.contestants import (
    BASELINE,
    command_words,
    contestants_of,
    labels,
    names_run,
    one_number_of_threads,
    read_configuration,
    read_words,
    words_of,
)
from gpuexplorer.workloads.loader import load
from tests.support.results import made_config, made_result

WORKLOADS = load()
BASE = RunRequest(workload="matmul", size={"": 256}, precision="fp32", device="cpu")


def read(word: str, base: RunRequest = BASE) -> RunRequest:
    return read_configuration(word, base, WORKLOADS)[0]


def no_run(run: str, workload: str | None) -> RunResult:
    raise InputError(f"no stored run '{run}'")


@pytest.mark.parametrize(
    ("word", "changes"),
    [
        ("naive", {"variant": "naive"}),
        ("naive:16x16", {"variant": "naive", "block": (16, 16)}),
        ("32x8", {"variant": "naive", "block": (32, 8)}),
        (":32x8", {"variant": "naive", "block": (32, 8)}),
        ("256", {"variant": "naive", "block": (256,)}),
        ("tiled:16x16,TILE=32", {"variant": "tiled", "block": (16, 16), "tunables": {"TILE": 32}}),
        (
            "variant=tiled,block=8x8,precision=fp16,device=opencl:0",
            {"variant": "tiled", "block": (8, 8), "precision": "fp16", "device": "opencl:0"},
        ),
        ("N=512", {"variant": "naive", "size": {"N": 512}}),
        ("size=512", {"variant": "naive", "size": {"N": 512}}),
        ("naive, cache=cold, seed=7", {"variant": "naive", "cache": "cold", "seed": 7}),
        ("transfers=on", {"variant": "naive", "switches": {"include_transfers": True}}),
        ("fill=zeros", {"variant": "naive", "fill": "zeros"}),
    ],
)
def test_a_configuration_is_read(word: str, changes: dict[str, Any]) -> None:
    expected = msgspec.structs.replace(BASE, **({"size": {"N": 256}} | changes))
    assert read(word) == expected


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("naiv:16x16", "did you mean 'naive'"),
        ("naive:16y16", "'16y16' is not a block"),
        ("naive,32", "'32' is not of the form KEY=VALUE"),
        ("naive,TILE=16", "no 'TILE' to set"),
        ("tiled,TYLE=16", "did you mean 'TILE'"),
        ("tiled,TILE=many", "'many' is not a whole number"),
        ("naive,block=", "'block' has no value"),
        ("naive:", "'block' has no value"),
        ("naive:16x16,block=8x8", "says 'block' twice"),
        ("cache=warm", "no cache state 'warm'"),
        ("transfers=maybe", "on or off"),
        ("", "not of the form KEY=VALUE"),
        (",", "not of the form KEY=VALUE"),
        ("=5", "not of the form KEY=VALUE"),
        ("workload=matmull", "did you mean 'matmul'"),
        ("naive,kernels=/nowhere/at/all", "no such folder"),
    ],
)
def test_a_wrong_word_is_one_sentence(word: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        read(word)
    assert sentence in str(caught.value)


@given(st.text(max_size=40))
def test_any_text_is_a_configuration_or_one_sentence(word: str) -> None:
    with suppress(InputError):
        assert read(word).workload in WORKLOADS


def test_another_variant_takes_its_own_tunables_and_its_own_kind_of_block() -> None:
    base = msgspec.structs.replace(BASE, variant="tiled", block=(32, 8, 1), tunables={"TILE": 32})
    assert read("16x16", base).tunables == {"TILE": 32}
    assert read("naive", base).tunables == {}
    assert read("naive", base).block == (32, 8, 1)
    assert read("numpy", base).block is None  # a library chooses for itself


def test_another_workload_starts_from_its_own_defaults() -> None:
    base = msgspec.structs.replace(BASE, variant="tiled", block=(32, 8, 1))
    other = read("workload=vector_add", base)
    assert (other.workload, other.block, other.size) == ("vector_add", None, {})
    assert (other.variant, other.device) == (WORKLOADS["vector_add"].manifest.first_variant, "cpu")


def test_sources_of_another_folder(tmp_path: Path) -> None:
    folder = tmp_path / "before" / "matmul"
    folder.mkdir(parents=True)
    source = Path(WORKLOADS["matmul"].source.origin).parent
    for path in source.iterdir():
        text = path.read_text()
        (folder / path.name).write_text(text.replace("for (", "for  ("))
    request, workload = read_configuration(f"naive,kernels={tmp_path / 'before'}", BASE, WORKLOADS)
    assert workload.sha256 != WORKLOADS["matmul"].sha256
    assert request.variant == "naive"
    config = made_config()
    same = labels([config, config], [workload, WORKLOADS["matmul"]])
    assert "before/matmul" in same[0] and same[0] != same[1]


@pytest.mark.parametrize(
    ("word", "run"),
    [
        ("baseline", BASELINE),
        ("3f9a2c", "3f9a2c"),
        ("run=3f", "3f"),
        ("3f9a2", None),  # too short to be taken for one
        ("naive", None),
        ("256x256", None),
    ],
)
def test_what_names_a_stored_run(word: str, run: str | None) -> None:
    assert names_run(word) == run


def test_what_a_word_leaves_open_is_as_in_the_first_stored_run() -> None:
    stored = made_result(variant="tiled", tunables={"TILE": 8}, block=(8, 8, 1))
    asked: list[tuple[str, str | None]] = []

    def find(run: str, workload: str | None) -> RunResult:
        asked.append((run, workload))
        return stored

    options = RunRequest(workload="", precision="fp16")
    run, words = read_words(["baseline", "32x8"], options, (), find)
    assert asked == [("baseline", None)]
    assert run.stored is stored
    assert run.request.precision == "fp32"  # a stored run is as it was
    assert words.stored is None
    assert (words.request.variant, words.request.tunables) == ("tiled", {"TILE": 8})
    assert (words.request.block, words.request.precision) == ((32, 8), "fp16")


def test_without_a_workload_and_without_a_run_there_is_nothing_to_start_from() -> None:
    with pytest.raises(InputError, match="need a workload"):
        read_words(["naive", "tiled"], RunRequest(workload=""), (), no_run)


def test_a_run_of_a_workload_that_is_not_here() -> None:
    stored = made_result()
    stored = msgspec.structs.replace(
        stored, config=msgspec.structs.replace(stored.config, workload="gone")
    )
    with pytest.raises(InputError, match="no workload 'gone'"):
        read_words(["run=1", "run=2"], RunRequest(workload=""), (), lambda *_: stored)


def test_a_run_of_another_program_takes_part_only_as_it_is_stored() -> None:
    """It has the name of a workload of ours, whose kernel is another one."""
    origin = Origin(program="NVBench", file="bench.json", what="matmul")
    stored = msgspec.structs.replace(made_result(), origin=origin)
    words, shared = ["run=1", "run=2"], RunRequest(workload="")
    with pytest.raises(InputError, match="measured by NVBench, and cannot be measured here again"):
        read_words(words, shared, (), lambda *_: stored)
    assert len(read_words(words, shared, (), lambda *_: stored, as_stored=True)) == 2


def test_as_it_is_stored_a_run_needs_no_workload() -> None:
    stored = made_result()
    stored = msgspec.structs.replace(
        stored, config=msgspec.structs.replace(stored.config, workload="gone")
    )
    wanted = read_words(
        ["run=1", "run=2"], RunRequest(workload=""), (), lambda *_: stored, as_stored=True
    )
    contestants = contestants_of(wanted, DeviceList(devices=(), unavailable=()))
    assert [(e.config, e.workload) for e in contestants] == [(stored.config, None)] * 2


def test_another_variant_for_all_drops_what_was_the_stored_ones() -> None:
    stored = made_result(variant="tiled", tunables={"TILE": 8}, block=(8, 8, 1))
    _, words = read_words(
        ["baseline", "precision=fp16"], RunRequest(workload="", variant="naive"), (),
        lambda *_: stored,
    )  # fmt: skip
    assert (words.request.variant, words.request.tunables) == ("naive", {})
    assert words.request.block is None


def test_labels_say_what_differs() -> None:
    naive, tiled = made_config(), made_config(variant="tiled", tunables={"TILE": 16})
    assert labels([naive, tiled]) == ["naive", "tiled · TILE = 16"]
    wide = made_config(block=(32, 8, 1))
    assert labels([naive, wide]) == ["naive · block 16×16", "naive · block 32×8"]
    assert labels([naive, naive]) == ["naive · block 16×16 (1)", "naive · block 16×16 (2)"]
    assert labels([naive, made_config(cache="cold")]) == ["naive", "naive · cold cache"]
    torch, jax = (made_config(variant=f, device=f"{f}:cpu", block=None) for f in ("torch", "jax"))
    assert labels([torch, jax]) == ["torch", "jax"]  # each framework has its own view of the CPU
    gpu = made_config(variant="jax", device="jax:cuda:0", block=None)
    assert labels([torch, gpu]) == ["torch · torch:cpu", "jax · jax:cuda:0"]


@pytest.mark.parametrize(
    "config",
    [
        made_config(),
        made_config(variant="tiled", tunables={"TILE": 32}, block=(8, 8, 1), precision="fp16"),
        made_config(cache="cold", fill="zeros", seed=3),
        made_config(switches={"include_transfers": True}),
        made_config(variant="numpy", block=None, grid=None, device="numpy:cpu"),
    ],
)
def test_the_word_of_a_configuration_reads_as_it(config: Any) -> None:
    word = words_of(config, "matmul")
    request = read(word, RunRequest(workload="matmul"))
    said = ("variant", "size", "precision", "device", "tunables", "cache", "seed")
    assert all(getattr(request, name) == getattr(config, name) for name in said)
    block = (*request.block, 1, 1)[:3] if request.block else None
    assert block == config.block
    assert (request.fill or "manifest") == config.fill
    assert bool(request.switches) == config.include_transfers


def test_the_arguments_of_a_command() -> None:
    other = msgspec.structs.replace(made_config(), workload="transpose", variant="naive")
    words = command_words([made_config(), other])
    assert words[0] == "naive:16x16,N=512,precision=fp32,device=opencl:0"
    assert "workload=transpose" in words[1]
    assert words[2:] == ["--workload", "matmul", "--threads", "7"]


def test_one_number_of_threads_for_all() -> None:
    def find(run: str, workload: str | None) -> RunResult:
        return made_result(threads={"run=1": 3, "run=2": 3, "run=5": 5}[f"run={run}"])

    def threads(words: list[str], said: int | None = None) -> int | None:
        wanted = read_words(words, RunRequest(workload=""), (), find)
        kept, number = one_number_of_threads(wanted, said)
        assert all(one.request.threads is None for one in kept)
        return number

    assert threads(["run=1", "run=2"]) == 3
    assert threads(["run=1", "run=5"], 2) == 2
    with pytest.raises(InputError, match="run=1 3, run=5 5"):
        threads(["run=1", "run=5"])
