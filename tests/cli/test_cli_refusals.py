"""Everything that cannot be is one sentence with the right exit code, and leaves no file behind."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.support.cli import assert_one_sentence, run_cli
from tests.support.kernels import (
    BROKEN_BODY,
    MATMUL_MANIFEST,
    VECTOR_MANIFEST,
    WRONG_BODY,
    write_folder,
    write_vector,
)

OUTPUTS = ("--json", "out.json", "--csv", "out.csv", "--plot", "out.png")


def refuse(cwd: Path, exit_code: int, *arguments: str | Path) -> str:
    """Run with every output asked for; nothing may be written."""
    before = set(os.listdir(cwd))
    done = run_cli("run", *arguments, *OUTPUTS, "--seconds", "0.1", cwd=cwd)
    assert set(os.listdir(cwd)) == before
    return assert_one_sentence(done, exit_code)


@pytest.mark.parametrize(
    ("arguments", "exit_code", "said"),
    [
        (["matmull"], 2, "no workload 'matmull'; did you mean 'matmul'?"),
        (["matmul", "--variant", "naiv"], 2, "no variant 'naiv'; did you mean 'naive'?"),
        (["matmul", "--precision", "fp33"], 2, "no precision 'fp33'; did you mean"),
        (["matmul", "--device", "gpu:9"], 2, "no device 'gpu:9'"),
        (["matmul", "--device", "cpu", "--ncu"], 3, "Nsight Compute looks into NVIDIA GPUs alone"),
        (["matmul", "--device", "opencl:99"], 2, "no device 'opencl:99'"),
        (["matmul", "--block", "0x5"], 2, "block 0×5 has a dimension below 1"),
        (["matmul", "--block", "axb"], 2, "'axb' is not one to three whole numbers"),
        (["matmul", "--size", "0"], 2, "out of range; choose"),
        (["matmul", "--size", "M=5"], 2, "no size 'M'"),
        (["matmul", "--set", "TILES=8"], 2, "no tunable 'TILES'"),
        (["matmul", "--fill", "norml"], 2, "did you mean 'normal'?"),
        (["matmul", "--block", "4x4x4"], 2, "2-dimensional"),
        (["matmul", "--python", "no-such-python"], 3, "is no engine, no command and no path"),
        (
            ["matmul", "--python", ""],
            3,
            "'' is no engine, no command and no path; there is built-in",
        ),
        (["matmul", "--fill", ""], 2, "no input distribution ''"),
        (["matmul", "--variant", ""], 2, "no variant ''"),
        (["matmul", "--threads", "99999"], 2, "99999 CPU threads are not to be had here; use 1"),
    ],
)
def test_a_request_that_cannot_be(
    arguments: list[str], exit_code: int, said: str, tmp_path: Path
) -> None:
    assert said in refuse(tmp_path, exit_code, *arguments)


def test_more_threads_than_the_device_allows(tmp_path: Path) -> None:
    sentence = refuse(tmp_path, 2, "matmul", "--block", "33x33", "--variant", "naive")
    assert "33×33" in sentence
    assert "1089 threads" in sentence
    assert "1024" in sentence


def test_a_size_that_cannot_fit_is_refused_before_anything_is_allocated(tmp_path: Path) -> None:
    manifest = MATMUL_MANIFEST.format(name="huge").replace("max = 4096", "max = 8388608")
    folder = write_folder(
        tmp_path / "huge",
        manifest,
        "__global__ void matrixMul(float *A, float *B, float *C, int N) {}",
    )
    sentence = refuse(tmp_path, 2, "huge", "--kernels", folder, "--size", "524288")
    assert "this size needs 6.60 TB of memory, and " in sentence
    assert " has " in sentence


def test_malformed_toml(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "bad", "format = 1\nname = \n", "")
    sentence = refuse(tmp_path, 2, "bad", "--kernels", folder)
    assert f"{folder / 'workload.toml'}: not valid TOML" in sentence
    assert "line 2" in sentence


def test_an_unknown_manifest_key(tmp_path: Path) -> None:
    manifest = VECTOR_MANIFEST.format(name="bad").replace('title = "Plain"', 'titel = "Plain"')
    folder = write_folder(tmp_path / "bad", manifest, "")
    sentence = refuse(tmp_path, 2, "bad", "--kernels", folder)
    assert "unknown key 'variants.plain.titel'; did you mean 'title'?" in sentence


@pytest.mark.parametrize(
    "formula",
    [
        "__import__('os').system('touch owned')",
        "().__class__",
        "open(N)",
        "N.__class__",
        "[N for N in (1,)]",
        "(lambda: N)()",
        "10**10**10",
    ],
)
def test_a_formula_that_tries_to_do_more_than_count(formula: str, tmp_path: Path) -> None:
    manifest = VECTOR_MANIFEST.format(name="bad").replace('flops = "N"', f'flops = "{formula}"')
    folder = write_folder(tmp_path / "bad", manifest, "__global__ void twice() {}")
    assert "formula" in refuse(tmp_path, 2, "bad", "--kernels", folder)
    assert not (tmp_path / "owned").exists()


def test_a_kernel_that_does_not_compile_quotes_the_users_file_and_line(tmp_path: Path) -> None:
    folder = write_vector(tmp_path, BROKEN_BODY)
    done = run_cli("run", "vector", "--kernels", folder, *OUTPUTS, cwd=tmp_path)
    first, *detail = done.stderr.splitlines()
    assert done.returncode == 1
    assert first.startswith("gpuexplorer: error: ")
    assert "Traceback" not in done.stderr
    told = [line for line in detail if "nothing_of_that_name" in line]
    assert told
    assert "kernel.cu:4" in told[0] or "kernel.cu(4)" in told[0]
    assert os.listdir(tmp_path) == ["vector"]


def test_a_kernel_whose_result_is_wrong(tmp_path: Path) -> None:
    folder = write_vector(tmp_path, WRONG_BODY)
    sentence = refuse(tmp_path, 1, "vector", "--kernels", folder)
    assert "wrong" in sentence
    assert "allowed" in sentence


@pytest.mark.parametrize("option", ["--json", "--csv", "--plot"])
def test_a_missing_folder_is_told_before_the_work(option: str, tmp_path: Path) -> None:
    done = run_cli("run", "matmul", option, "missing/out.png", cwd=tmp_path)
    sentence = assert_one_sentence(done, 2)
    assert "cannot write missing/out.png: there is no such folder" in sentence
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="file-size limits are POSIX")
def test_a_full_disk_leaves_what_stood_there(tmp_path: Path) -> None:
    import resource

    names = ("a.csv", "a.png", "a.json")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))

    for name in names:
        (tmp_path / name).write_text("before")
    done = run_cli(
        "run", "matmul", "--size", "64", "--seconds", "0.1", "--csv", "a.csv", "--plot", "a.png",
        "--json", "a.json", cwd=tmp_path, before=limit,
        environment={"GPUEXPLORER_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    for name in names:
        assert f"gpuexplorer: error: cannot write {name}: " in done.stderr
        assert (tmp_path / name).read_text() == "before"
    assert not list(tmp_path.glob(".*.part"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("json", [True, False])
def test_a_full_standard_output_is_one_sentence(json: bool, tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = run_cli(
            "run", "matmul", "--size", "64", "--seconds", "0.05", *(["--json"] if json else []),
            cwd=tmp_path, stdout=full.fileno(),
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == (
        "gpuexplorer: error: cannot write standard output: the disk is full; "
        "free some space or choose another folder\n"
    )
