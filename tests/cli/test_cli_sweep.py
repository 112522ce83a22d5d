"""``gpuexplorer sweep`` as a real process: documents, skipped points, resuming, being killed."""

from __future__ import annotations

import csv
import json
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from gpuexplorer.core.sweep import read_sweep
from gpuexplorer.history.store import Query, Store
from tests.support.cli import assert_one_sentence, cli_command, cli_environment, run_cli
from tests.support.sweep_kill import sweep_with_kills

BLOCKS = ("--block-x", "1:64:*4", "--block-y", "1,4,64", "--size", "32", "--samples", "5")
HISTORY = "GPUEXPLORER_HISTORY_URL"


def sweep(folder: Path, *arguments: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {HISTORY: str(folder / "history.sqlite")}
    done = run_cli("sweep", *arguments, cwd=folder, environment=environment)
    assert done.returncode == code, done.stderr
    return done


def test_every_combination_is_in_the_files(tmp_path: Path) -> None:
    done = sweep(tmp_path, "matmul", *BLOCKS, "--json", "-", "--csv", "a.csv", "--plot", "a.svg")
    document: dict[str, Any] = json.loads(done.stdout)
    assert document["schema"] == "gpuexplorer/sweep/1"
    assert document["axes"] == {"block.x": [1, 4, 16, 64], "block.y": [1, 4, 64]}
    assert len(document["runs"]) == 12
    for entry in document["runs"]:
        x, y = entry["values"]["block.x"], entry["values"]["block.y"]
        assert entry["config"]["block"] == [x, y, 1]
        if x * y > 1024:
            assert "1024" in entry["skipped"]
        else:
            assert entry["skipped"] is None
            assert entry["timing"]["samples"] == len(entry["samples_s"]) == 5
            assert entry["timing"]["stopped_by"] == "samples"
            assert entry["verification"]["ok"]
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(int(r["block_x"]), int(r["block_y"])) for r in rows] == [
        (e["values"]["block.x"], e["values"]["block.y"]) for e in document["runs"]
    ]
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")
    assert "12 configurations, 1 cannot run, 11 to measure" in done.stderr
    assert read_sweep(done.stdout.encode()).points == 12
    with Store.open(tmp_path / "history.sqlite") as store:
        (group,) = store.groups("sweep")
        assert (group.runs, group.finished, group.id) == (11, True, document["id"])


def test_the_summary_says_what_is_fastest_and_what_was_skipped(tmp_path: Path) -> None:
    done = sweep(tmp_path, "matmul", *BLOCKS, "--no-history")
    assert "the fastest of 11" in done.stdout
    assert "1 × block 64×64 has 4096 threads" in done.stdout
    assert not (tmp_path / "history.sqlite").exists()
    sizes = sweep(tmp_path, "matmul", "--size", "16,32", "--samples", "5", "--no-history")
    assert "the fastest of each size, of 2" in sizes.stdout


def test_a_dry_run_measures_nothing(tmp_path: Path) -> None:
    done = sweep(tmp_path, "matmul", *BLOCKS, "--dry-run", "--json", "plan.json")
    assert "11 to measure, time: at most" in done.stderr
    assert not (tmp_path / "history.sqlite").exists()
    assert not (tmp_path / "plan.json").exists()
    long = sweep(tmp_path, "matmul", *BLOCKS, "--dry-run", "--yes")
    assert "11 to measure, time: not known yet" in long.stderr
    sweep(tmp_path, "matmul", *BLOCKS)
    again = sweep(tmp_path, "matmul", *BLOCKS, "--dry-run", "--resume")
    assert "11 done before, 0 to measure" in again.stderr


BAD_KERNELS = """
#define CAT(a, b) a##b
__global__ void careful(const real *A, real *B, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#if MODE == 2
    this does not compile;
#endif
#if MODE == 3
    if (i < N) B[i] = A[i] * 2 + (i == 5);
#elif MODE == 4
    if (i == 0) *(volatile int *)(N - N + 8) = 1;
#else
    if (i < N) B[i] = A[i] * 2;
#endif
}
"""


def test_what_fails_is_skipped_with_its_reason_and_the_sweep_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "careful"
    folder.mkdir()
    (folder / "careful.cu").write_text(BAD_KERNELS, encoding="utf-8")
    (folder / "workload.toml").write_text(MANIFEST, encoding="utf-8")
    arguments = ("careful", "--kernels", tmp_path, "--tunable", "MODE=1:5", "--block", "64,128")
    done = sweep(tmp_path, *arguments, "--samples", "5", "--json", "-", code=1)
    said: dict[int, set[str | None]] = {}
    for entry in json.loads(done.stdout)["runs"]:
        said.setdefault(entry["values"]["tunable.MODE"], set()).add(entry["skipped"])
    assert said[1] == said[5] == {None}
    assert all("does not compile: careful.cu:" in str(reason) for reason in said[2])
    assert all("is wrong: relative error" in str(reason) for reason in said[3])
    # An OpenCL driver may hang where it handles the fault, which then counts as a hang.
    lost = ("the engine died", "did not end within")
    assert all(any(words in str(reason) for words in lost) for reason in said[4]), said[4]
    again = sweep(tmp_path, *arguments, "--samples", "5", "--resume", "--json", "-", code=1)
    assert "10 done before, 0 to measure" in again.stderr
    assert json.loads(again.stdout)["runs"] == json.loads(done.stdout)["runs"]


def test_a_wrong_result_is_a_failure_of_the_sweep_also_when_it_was_found_before(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "careful"
    folder.mkdir()
    (folder / "careful.cu").write_text(BAD_KERNELS, encoding="utf-8")
    (folder / "workload.toml").write_text(MANIFEST, encoding="utf-8")
    arguments = ("careful", "--kernels", tmp_path, "--tunable", "MODE=1,3", "--samples", "3")
    done = sweep(tmp_path, *arguments, "--json", "a.json", code=1)
    assert "gpuexplorer: 1 configuration gave a wrong result" in done.stderr
    assert "the fastest of 1" in done.stdout
    entries = json.loads((tmp_path / "a.json").read_text())["runs"]
    assert [entry.get("why") for entry in entries] == [None, "wrong"]
    again = sweep(tmp_path, *arguments, "--resume", code=1)
    assert "2 done before, 0 to measure" in again.stderr
    assert "gpuexplorer: 1 configuration gave a wrong result" in again.stderr
    refused = sweep(tmp_path, "careful", "--kernels", tmp_path, "--tunable", "MODE=1,2",
                    "--samples", "3")  # fmt: skip
    assert "does not compile" in refused.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX's")
def test_what_a_killed_engine_loses_is_measured_when_the_sweep_is_gone_on_with(
    tmp_path: Path,
) -> None:
    asked = ("matmul", "--size", "16,32,48", "--seconds", "1.5", "--threads", "1")
    command = cli_command("sweep", *asked)
    store_path = tmp_path / "history.sqlite"
    for _ in range(5):  # an engine that is hit while it builds loses nothing
        for earlier in tmp_path.glob("history.sqlite*"):
            earlier.unlink()
        with subprocess.Popen(
            command, cwd=tmp_path, env=cli_environment(**{HISTORY: str(store_path)}),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            while process.poll() is None and not _stored(store_path):
                with suppress(subprocess.TimeoutExpired):
                    process.wait(0.02)
            engines = psutil.Process(process.pid).children(recursive=True)
            measures_s = _computed_s(engines) + 0.7  # building takes less, measuring twice as long
            while process.poll() is None and _computed_s(engines) < measures_s:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(0.02)
            for engine in engines:
                engine.kill()
            _, said = process.communicate(timeout=60)
        if process.returncode:
            break
    assert process.returncode == 1, said
    assert "1 configuration was lost because the engine was ended; continue with: " in said
    again = sweep(tmp_path, *asked, "--resume")
    assert "2 done before, 1 to measure" in again.stderr
    with Store.open_to_read(store_path) as store:
        keys = [store.get(row.id).config.key for row in store.find(Query())]
        assert len(keys) == len(set(keys)) == 3
        assert [group.finished for group in store.groups("sweep")] == [True]


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_what_found_memory_short_is_measured_when_the_sweep_is_gone_on_with(tmp_path: Path) -> None:
    import resource

    arguments = ("vector_add", "--variant", "numpy", "--size", "4096,40000000", "--samples", "2")
    limited = subprocess.run(
        cli_command("sweep", *arguments), cwd=tmp_path, capture_output=True, text=True,
        env=cli_environment(**{HISTORY: str(tmp_path / "history.sqlite")}), timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (600 << 20, 600 << 20)),
    )  # fmt: skip
    assert limited.returncode == 1, limited.stderr
    assert "gpuexplorer: memory was short for 1 configuration; continue with: " in limited.stderr
    again = sweep(tmp_path, *arguments, "--resume")
    assert "1 done before, 1 to measure" in again.stderr


MANIFEST = """
format = 1
name = "careful"
title = "Careful"
summary = "Made in a test."

[sizes.N]
max = 1048576
default = 1000

[precisions]
fp32 = { tolerance = 1e-6 }

[arrays]
A = { shape = ["N"], role = "in" }
B = { shape = ["N"], role = "out" }

[work]
flops = "N"
read_bytes = "N * itemsize"
write_bytes = "N * itemsize"

[reference]
outputs = { B = "2 * A" }

[variants.only]
title = "Only"
teaches = "Nothing."

[variants.only.tunables.MODE]
values = [1, 2, 3, 4, 5]

[[variants.only.launch]]
source = "careful.cu"
entry = "careful"
block = [64]
grid = ["ceil_div(N, block_x)"]
args = ["A", "B", "N"]
"""


def test_when_all_fail_the_command_fails(tmp_path: Path) -> None:
    folder = tmp_path / "careful"
    folder.mkdir()
    (folder / "careful.cu").write_text(BAD_KERNELS, encoding="utf-8")
    (folder / "workload.toml").write_text(MANIFEST, encoding="utf-8")
    done = sweep(
        tmp_path, "careful", "--kernels", tmp_path, "--tunable", "MODE=2", "--block", "64,128",
        "--no-history", code=1,
    )  # fmt: skip
    assert "none of the 2 configurations ran: the kernel does not compile" in done.stderr


def test_an_interrupt_keeps_what_was_done_and_says_how_to_go_on(tmp_path: Path) -> None:
    command = cli_command(
        "sweep", "matmul", "--block-x", "1:32", "--block-y", "1:32", "--size", "64",
        "--samples", "5", "--json", "part.json",
    )  # fmt: skip
    store_path = tmp_path / "history.sqlite"
    process = subprocess.Popen(
        command, cwd=tmp_path, env=cli_environment(**{HISTORY: str(store_path)}),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    while process.poll() is None and _stored(store_path) < 5:
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    document = read_sweep((tmp_path / "part.json").read_bytes())
    assert 5 <= len(document.measured) < 1024
    assert _stored(store_path) == len(document.measured)
    assert f"stopped with {len(document.measured)} of 1\u202f024 configurations done" in said
    assert "continue with: gpuexplorer sweep matmul --block-x 1:32" in said
    assert said.rstrip().endswith("--json part.json --resume")


def _computed_s(processes: Sequence[psutil.Process]) -> float:
    """Return how long processes that run have used a processor."""
    used_s = 0.0
    for process in processes:
        with suppress(psutil.Error):  # it has just ended
            used_s += process.cpu_times().user
    return used_s


def _stored(path: Path) -> int:
    if not path.exists():
        return 0
    with Store.open_to_read(path) as store:
        return store.count(Query())


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX's")
def test_killed_and_resumed_every_configuration_is_stored_once(tmp_path: Path) -> None:
    found = sweep_with_kills(tmp_path, 200, 3, random.Random(3))
    assert found["missing"] == found["measured_again_after_stored"] == 0, found
    assert found["stored_once"] == 200
    assert len(found["kills"]) == 3
    assert found["sweeps_in_the_store"] == 1


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("matmul",), 2, "nothing to sweep"),
        (("matmul", "--size", "64"), 2, "nothing to sweep"),
        (("matmul", "--block-x", "8:4:*2"), 2, "--block-x: range '8:4:*2' ends before it begins"),
        (("matmul", "--block-x", "0,1"), 2, "--block-x: '0,1' holds 0"),
        (("matmul", "--block", "16x"), 2, "--block: '16x' is no block"),
        (("matmul", "--tunable", "TILE"), 2, "names no tunable"),
        (("matmul", "--size", "64,128", "--size", "32"), 2, "is given twice"),
        (("matmul", "--block-x", "8,16", "--block", "8x8,4x4"), 2, "as a whole and by"),
        (("matmul", "--variant", "naive,nave"), 2, "did you mean 'naive'"),
        (("matmul", "--tunable", "TILE=8,16"), 2, "no variant of this sweep has a tunable 'TILE'"),
        (("matmul", "--precision", "fp32,fp12"), 2, "no precision 'fp12'"),
        (("matmul", "--block-x", "2048,4096"), 2, "none of the 2 configurations can run"),
        (("matmul", "--size", "64,128", "--device", "cuda:9"), 3, "cuda:9"),
        (("matmull", "--size", "64,128"), 2, "did you mean 'matmul'"),
        (("matmul", "--size", "64,128", "--csv", "no/such/a.csv"), 2, "no such folder"),
        (("matmul", "--size", "64,128", "--plot", "a.gif"), 2, "not a chart format"),
        (("matmul", "--size", "64,128", "--resume"), 2, "from the history; leave --no-history out"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    arguments: tuple[str, ...], code: int, said: str, tmp_path: Path
) -> None:
    done = run_cli("sweep", *arguments, "--no-history", cwd=tmp_path)
    assert said in assert_one_sentence(done, code)
