"""CUDA files of one's own on the command line: described, begun, run with their host code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import assert_one_sentence, run_cli
from tests.workloads.test_kernel_file import TEXTBOOK


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Data of their own."""
    return {"GPUEXPLORER_DATA_DIR": str(tmp_path / "data")}


def test_a_textbook_file_runs_with_its_host_code_and_is_verified(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    source = tmp_path / "my product.cu"
    source.write_bytes(TEXTBOOK.replace("\n", "\r\n").encode())
    done = run_cli(
        "run", source.name, "--size", "N=100", "--block", "16x16", "--reference", "A @ B",
        "--seconds", "0.1", "--json", "run.json", cwd=tmp_path, environment=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "wrote my product.toml, which says what the kernel computes" in done.stderr
    run = json.loads((tmp_path / "run.json").read_bytes())
    assert run["verification"]["ok"] and run["config"]["size"] == {"N": 100}
    assert run["config"]["workload"] == "my-product" and run["config"]["block"] == [16, 16, 1]
    assert source.read_bytes().count(b"\r\n") == TEXTBOOK.count("\n")
    done = run_cli(
        "compare", "matrixMul:16x16", "tiled:16x16", "--workload", source.name, "--size", "64",
        "--rounds", "2", cwd=tmp_path, environment=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "tiled" in done.stdout
    done = run_cli("run", source.name, "--reference", "none", cwd=tmp_path, environment=environment)
    assert "there is a manifest already" in assert_one_sentence(done, 2)
    done = run_cli(
        "run", source.name, "--variant", "tiled", "--block", "8x8", cwd=tmp_path,
        environment=environment,
    )  # fmt: skip
    assert "takes 16 threads along x for granted" in assert_one_sentence(done, 2)


def test_what_a_wrong_reference_says_is_a_wrong_result_and_none_is_not_verified(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "mine.cu").write_text(TEXTBOOK, encoding="utf-8")
    common = ("run", "mine.cu", "--size", "64", "--seconds", "0.05")
    done = run_cli(*common, cwd=tmp_path, environment=environment)
    assert "or --reference none" in assert_one_sentence(done, 2)
    done = run_cli(*common, "--reference", "B @ A", cwd=tmp_path, environment=environment)
    assert done.returncode == 1 and "is wrong: relative error" in done.stderr
    (tmp_path / "mine.toml").unlink()
    done = run_cli(*common, "--reference", "none", cwd=tmp_path, environment=environment)
    assert done.returncode == 0, done.stderr
    assert "Not verified: its manifest does not say what a right result is." in done.stdout


def test_new_begins_a_file_that_runs_at_once(tmp_path: Path, environment: dict[str, str]) -> None:
    done = run_cli("new", "first.cu", cwd=tmp_path, environment=environment)
    assert done.returncode == 0, done.stderr
    assert "Measure it: gpuexplorer run first.cu" in done.stdout
    done = run_cli(
        "run", "first.cu", "--size", "4099", "--seconds", "0.05", cwd=tmp_path,
        environment=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "verified" in done.stdout
    for words, said in (
        (("new", "first.py"), "not a CUDA file"),
        (("new", "second.cu", "--reference", "x"), "there is no such file"),
        (("new", "first.cu", "--out", "y"), "says nothing of what a right result is"),
        (("new", "first.cu", "--reference", "x", "--reference", "none"), "beside another one"),
        (("new", "first.cu", "--reference", "y=x", "--scalar", "a"), "is not NAME=VALUE"),
        (("new", "first.cu", "--reference", "y=x", "--scalar", "a=b"), "--scalar"),
    ):
        done = run_cli(*words, cwd=tmp_path, environment=environment)
        assert said in assert_one_sentence(done, 2)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x7fELF\x02\x01\x01\x00\xff\xfe", "not UTF-8 text"),
        (TEXTBOOK.encode("utf-16"), "not UTF-8 text"),
        (b"// nothing\n", "no __global__ function here"),
        (b"x" * ((1 << 20) + 1), "not a kernel source"),
    ],
)
def test_a_file_that_is_no_source_is_one_sentence(
    data: bytes, words: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "odd.cu").write_bytes(data)
    done = run_cli("run", "odd.cu", "--reference", "none", cwd=tmp_path, environment=environment)
    assert words in assert_one_sentence(done, 2)
    assert not (tmp_path / "odd.toml").exists()
