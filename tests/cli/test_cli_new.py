"""CUDA files of one's own on the command line: described, begun, run with their host code."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpuexplorer.cli import main
from gpuexplorer.cli import watch as watching
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.search.versions import Version, Versions
from gpuexplorer.workloads.kernel_answers import Answers
from gpuexplorer.workloads.loader import keep_manifest
from gpuexplorer.workloads.workload import Workload
from tests.support.cli import assert_one_sentence, cli_command, cli_environment, run_cli
from tests.support.own_kernels import TEMPLATES, TEXTBOOK, WITH_CPU


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


def test_a_template_runs_as_the_instance_that_is_launched(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "sums.cu").write_text(TEMPLATES, encoding="utf-8")
    done = run_cli(
        "run", "sums.cu", "--reference", "sum(in)", "--seconds", "0.05", "--json", "run.json",
        cwd=tmp_path, environment=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = json.loads((tmp_path / "run.json").read_bytes())
    assert run["verification"]["ok"] and run["config"]["size"] == {"n": 5000}
    assert run["config"]["variant"] == "blockSum_float_128"
    other = ("--variant", "blockSum<float, 64>", "--size", "4097", "--seconds", "0.05")
    done = run_cli("run", "sums.cu", *other, cwd=tmp_path, environment=environment)
    assert done.returncode == 0 and "verified" in done.stdout, done.stderr


def test_a_function_for_the_cpu_says_what_is_right_and_is_timed_as_well(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "mm.cu").write_text(WITH_CPU, encoding="utf-8")
    common = ("run", "mm.cu", "--seconds", "0.05")
    done = run_cli(
        *common, "--reference", "matrixMulCPU", "--json", "run.json", cwd=tmp_path,
        environment=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "run.json").read_bytes())["verification"] == {
        "ok": True, "tolerance": 1e-4, "method": "full, variant matrixMulCPU",
        "max_rel_error": pytest.approx(0, abs=1e-5), "rms_rel_error": pytest.approx(0, abs=1e-5),
        "not_compared": [],
    }  # fmt: skip
    assert "against matrixMulCPU's results in every element" in " ".join(done.stdout.split())
    done = run_cli(*common, "--variant", "forgetful", cwd=tmp_path, environment=environment)
    assert done.returncode == 1 and "forgetful in fp32 is wrong" in done.stderr
    done = run_cli(*common, "--variant", "matrixMulCPU", cwd=tmp_path, environment=environment)
    assert done.returncode == 0, done.stderr
    assert "Not verified: the other variants are verified against it." in done.stdout


CHECK = """\
import numpy as np

def product(A, B, N, scale=1.0):
    assert A.dtype == np.float64 and A.shape == (N, N)
    A[:] *= scale  # its own copy
    return A @ B

def torn(A):
    raise ValueError("what went wrong")

def narrow(A):
    return A[0]
"""


def test_a_python_function_says_what_is_right_once_it_is_agreed_to(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    environment["GPUEXPLORER_CONFIG_DIR"] = str(tmp_path / "config")
    (tmp_path / "mine.cu").write_text(TEXTBOOK, encoding="utf-8")
    (tmp_path / "my check.py").write_text(CHECK, encoding="utf-8")
    common = ("run", "mine.cu", "--size", "64", "--seconds", "0.05")
    done = run_cli(
        *common, "--reference", "my check.py:product", cwd=tmp_path, environment=environment
    )
    assert done.returncode == 2 and "agree with --trust" in done.stderr
    assert "my check.py is a program, and nobody agreed to run it" in done.stderr
    done = run_cli(*common, "--trust", "--json", "run.json", cwd=tmp_path, environment=environment)
    assert done.returncode == 0, done.stderr
    check = json.loads((tmp_path / "run.json").read_bytes())["verification"]
    assert check["ok"] and check["method"] == "full, function my check.py:product"
    words = " ".join(done.stdout.split())
    assert "(against function product() of my check.py, in every element)" in words
    manifest = (tmp_path / "mine.toml").read_text(encoding="utf-8")
    for function, said in (
        ("torn", "my check.py:9: ValueError: what went wrong (while calling torn())"),
        ("narrow", "narrow() gives the shape (64,) for 'C', which has (64, 64)"),
    ):
        (tmp_path / "mine.toml").write_text(manifest.replace("product", function), encoding="utf-8")
        done = run_cli(*common, cwd=tmp_path, environment=environment)
        assert said in " ".join(done.stderr.split())


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


def test_answers_that_do_not_fit_are_not_kept_and_others_can_be_given(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "mine.cu").write_text(TEXTBOOK, encoding="utf-8")
    common = ("run", "mine.cu", "--size", "64", "--seconds", "0.05", "--reference")
    done = run_cli(*common, "sum(A @ B, 0)", cwd=tmp_path, environment=environment)
    assert done.returncode == 2 and "gives the shape (64,)" in done.stderr
    assert "mine.toml is not kept" in done.stderr
    assert not (tmp_path / "mine.toml").exists()
    done = run_cli(*common, "A @ B", cwd=tmp_path, environment=environment)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "mine.toml").exists()


TWO_OUTPUTS = """\
__global__ void both(const float* A, const float* B, float* sum, float* difference, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { sum[i] = A[i] + B[i]; difference[i] = B[i] - A[i]; }
}
"""


def test_an_output_of_which_nobody_says_what_it_should_be_is_named_beside_every_figure(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "two.cu").write_text(TWO_OUTPUTS, encoding="utf-8")
    common = ("run", "two.cu", "--size", "64", "--seconds", "0.05")
    done = run_cli(
        *common, "--reference", "sum=A + B", "--reference", "difference=none", "--json",
        "run.json", cwd=tmp_path, environment=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    check = json.loads((tmp_path / "run.json").read_bytes())["verification"]
    assert check["ok"] and check["not_compared"] == ["difference"]
    assert "verified except difference" in " ".join(done.stdout.split())
    swept = ("sweep", "two.cu", "--block-x", "32,64", "--seconds", "0.05")
    done = run_cli(*swept, cwd=tmp_path, environment=environment)
    assert "Nothing says what difference should be: not verified." in done.stdout
    for words, runs in (("not verified", 3), ("verified", 0)):
        searched = ("history", "--search", words, "--json")
        done = run_cli(*searched, cwd=tmp_path, environment=environment)
        assert len(json.loads(done.stdout)["runs"]) == runs, done.stdout
    (tmp_path / "two.toml").unlink()
    both = ("--reference", "sum=A + B", "--reference", "difference=B - A")
    done = run_cli(*common, *both, cwd=tmp_path, environment=environment)
    assert "verified " in done.stdout and "except" not in done.stdout


def test_what_threads_ask_for_is_counted_where_no_manifest_says_it(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "columns.cu").write_text(
        "__global__ void plusOne(const float *A, float *B, int n) {\n"
        "  int row = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  int col = blockIdx.y * blockDim.y + threadIdx.y;\n"
        "  if (row < n && col < n) B[row * n + col] = A[row * n + col] + 1.0f;\n}\n",
        encoding="utf-8",
    )
    done = run_cli(
        "run", "columns.cu", "--size", "64", "--block", "32x4", "--seconds", "0.05",
        "--reference", "A + 1", "--json", "run.json", cwd=tmp_path, environment=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    traffic = json.loads((tmp_path / "run.json").read_bytes())["traffic"]
    asked = [(t["read_B"], t["write_B"]) for t in traffic if t["source"] == "counted"]
    assert asked == [(64 * 64 * 4, 64 * 64 * 4)]
    said = " ".join(done.stdout.split())
    assert "1 × the bytes needed · counted from the source, run on the CPU device" in said
    assert "Line 4 fetches 32 sectors of 32 B for 128 B a request" in said
    assert "swap x and y in its index" in said


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
        (TEXTBOOK.encode("utf-16"), "not UTF-8 text; save it as UTF-8"),
        (TEXTBOOK.encode("utf-16-le"), "not UTF-8 text; save it as UTF-8"),
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


def test_each_version_that_is_saved_is_measured_beside_the_one_before(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    source = tmp_path / "mine.cu"
    source.write_text(WITH_CPU, encoding="utf-8")
    process = subprocess.Popen(
        cli_command("run", "mine.cu", "--reference", "A @ B", "--watch"), cwd=tmp_path,
        env=cli_environment(**environment), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True, bufsize=1,
    )  # fmt: skip
    assert process.stdout is not None

    def until(words: str) -> str:
        """Read on to a line with these words; the test's own limit ends what never comes."""
        assert process.stdout is not None
        return next(line for line in process.stdout if words in line)

    assert "verified" in until("version 1")
    torn = WITH_CPU.replace("float sum = 0.0f", "float summ = 0.0f")
    source.write_text(torn, encoding="utf-8")
    until("version 2 did not run")
    assert "mine.cu:26: use of undeclared identifier 'sum'" in until("error")
    again = source.with_suffix(".new")
    again.write_text(WITH_CPU.replace("0.0f", "0"), encoding="utf-8")
    again.replace(source)  # as editors save
    third = until("version 3")
    assert "verified" in third and "version 1" in third
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=60)
    assert (process.returncode, rest) == (0, "measured 2 versions\n")


def test_what_is_saved_while_the_engine_starts_is_the_next_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "mine.cu"
    source.write_text(WITH_CPU, encoding="utf-8")
    keep_manifest(source, Answers(unchecked=True))
    taken: list[str] = []

    @contextmanager
    def open_session(_: object) -> Iterator[object]:
        source.write_text(f"{WITH_CPU}// saved meanwhile\n", encoding="utf-8")
        yield SimpleNamespace(devices=DeviceList)

    def take(self: Versions, _: object, workload: Workload, *__: object) -> Version:
        taken.append(workload.source.files["mine.cu"])
        if len(taken) > 1:
            raise KeyboardInterrupt
        return Version(1, workload, "2026-01-01T00:00:00.000+00:00", error=WorkFailed("no"))

    monkeypatch.setattr(watching, "open_session", open_session)
    monkeypatch.setattr(Versions, "take", take)
    assert main(["run", str(source), "--watch"]) == 0
    assert [text.endswith("meanwhile\n") for text in taken] == [False, True]


def test_of_two_files_of_one_name_the_one_that_is_not_meant_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        source = tmp_path / place / "mine.cu"
        source.write_text(WITH_CPU, encoding="utf-8")
        keep_manifest(source, Answers(unchecked=True))
    monkeypatch.chdir(tmp_path)
    both = ["--kernels", "one/mine.cu", "--kernels", "two/mine.cu"]
    words = ["analyze", "mine", "--arch", "sm_80"]
    wrong = ["compare", "no", "other", "--workload", "mine"]
    for command in (words, ["workloads"], ["workloads", "mine"], wrong):
        assert main([*command, *both]) == (2 if command is wrong else 0)
        said = capsys.readouterr().err
        assert "warning: one/mine.cu is named 'mine', too, and two/mine.cu is used" in said
    assert main([*words, "--kernels", "one/mine.cu", "--kernels", "one/mine.cu"]) == 0
    assert "warning" not in capsys.readouterr().err


def test_watching_is_for_files_of_ones_own(tmp_path: Path, environment: dict[str, str]) -> None:
    done = run_cli("run", "matmul", "--watch", cwd=tmp_path, environment=environment)
    assert "comes with GPU Explorer" in assert_one_sentence(done, 2)
    done = run_cli("run", "matmul", "--watch", "--json", cwd=tmp_path, environment=environment)
    assert "--json is for a single run" in assert_one_sentence(done, 2)
