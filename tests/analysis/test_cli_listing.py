"""``gpuexplorer analyze --sass`` and ``--diff`` as processes."""

from __future__ import annotations

import csv
from pathlib import Path

import msgspec
import pytest

from gpuexplorer.analysis.listing import Listings
from tests.support.cli import assert_one_sentence, run_cli
from tests.support.kernels import ARTICLE_KERNEL


@pytest.fixture
def article(tmp_path: Path) -> Path:
    path = tmp_path / "article.cu"
    path.write_text(ARTICLE_KERNEL, encoding="utf-8")
    return path


def test_instructions_stand_below_their_source_lines(article: Path) -> None:
    done = run_cli(
        "analyze", article.name, "--sass", "--arch", "A100", "--csv", "i.csv", "--json", "i.json",
        cwd=article.parent,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = msgspec.json.decode((article.parent / "i.json").read_bytes(), type=Listings)
    assert document.schema == "gpuexplorer/listing/1"
    (kernel,) = document.kernels
    assert (kernel.name, kernel.arch) == ("matrixMul", "sm_80")
    lines = done.stdout.splitlines()
    assert f"{kernel.registers_per_thread} registers a thread" in lines[1]
    assert any(line.startswith("At most ") and "alive at once" in line for line in lines)
    source = ARTICLE_KERNEL.splitlines()
    summing = next(n for n, text in enumerate(source, 1) if "+=" in text)
    at = next(i for i, line in enumerate(lines) if line.startswith(f"{summing:>5}  "))
    assert source[summing - 1].strip() in lines[at]
    listed = []
    for line in lines[at + 1 :]:
        if not line:
            break
        listed.append(line)
    assert any("LDG.E" in line and "global load" in line for line in listed)
    with (article.parent / "i.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(kernel.sass)
    assert {row["file"] for row in rows} == {"article.cu"}
    assert [int(row["offset_B"]) for row in rows] == [one.offset for one in kernel.sass]


def test_two_architectures_and_two_variants_are_compared(article: Path) -> None:
    done = run_cli("analyze", article.name, "--diff", "sm_80", "sm_90", cwd=article.parent)
    assert done.returncode == 0, done.stderr
    head = next(line for line in done.stdout.splitlines() if "difference" in line)
    assert head.split() == ["sm_80", "sm_90", "difference"]
    assert "registers alive at most" in done.stdout
    assert "Lines of the source with other instructions" in done.stdout
    done = run_cli(
        "analyze", "transpose", "--diff", "naive", "tiled", "--arch", "sm_75", "--json",
        cwd=article.parent,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    kernels = msgspec.json.decode(done.stdout.encode(), type=Listings).kernels
    assert [k.subject for k in kernels] == ["transpose naive", "transpose tiled"]
    assert {k.arch for k in kernels} == {"sm_75"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["article.cu", "--sass", "--plot", "o.svg"], "--plot is about the occupancy"),
        (["article.cu", "--sass", "--block", "32"], "--block is about the occupancy"),
        (["article.cu", "--csv", "f.csv"], "--csv is a table of instructions"),
        (["article.cu", "--diff", "naive", "tiled"], "does not name two architectures"),
        (["matmul", "--diff", "sm_80", "sm_90", "--arch", "sm_75"], "leave out --arch"),
        (["matmul", "--diff", "naive", "tiled", "--variant", "naive"], "leave out --variant"),
        (["matmul", "--diff", "naive", "nothing"], "no variant 'nothing'"),
        (["article.cu", "--sass", "--size", "N=3"], "--size belongs to a workload"),
    ],
)
def test_errors_are_one_sentence(article: Path, arguments: list[str], words: str) -> None:
    done = run_cli("analyze", *arguments, cwd=article.parent)
    assert words in assert_one_sentence(done, 2)


def test_without_nvdisasm_it_says_what_to_install(article: Path, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    info = hidden / "nvidia_cuda_nvdisasm-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: nvidia-cuda-nvdisasm\nVersion: 0\n", encoding="utf-8")
    done = run_cli(
        "analyze", article.name, "--sass", cwd=article.parent,
        environment={
            "PYTHONPATH": str(hidden), "PATH": str(hidden), "CUDA_PATH": "", "CUDA_HOME": "",
            "GPUEXPLORER_CACHE_DIR": str(tmp_path / "cache"),
        },
    )  # fmt: skip
    assert "pip install 'nvidia-cuda-nvdisasm'" in assert_one_sentence(done, 3)
