"""``gpuexplorer analyze`` as a process: its document, its table, its chart, its errors."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.support.cli import assert_one_sentence, run_cli
from tests.support.kernels import ARTICLE_KERNEL, write_article

DESIGNED = {
    "name", "arch", "registers_per_thread", "static_shared_B", "local_B", "spill_store_B",
    "spill_load_B", "block", "occupancy", "occupancy_limiter", "blocks_per_multiprocessor",
}  # fmt: skip


@pytest.fixture
def article(tmp_path: Path) -> Path:
    path = tmp_path / "article.cu"
    path.write_text(ARTICLE_KERNEL, encoding="utf-8")
    return path


def test_the_document_of_a_file(article: Path) -> None:
    done = run_cli(
        "analyze", article.name, "--arch", "sm_90", "--block", "16x16", "--json",
        cwd=article.parent,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = msgspec.json.decode(done.stdout.encode())
    assert document["schema"] == "gpuexplorer/analysis/1"
    (kernel,) = document["kernels"]
    assert set(kernel) >= DESIGNED
    assert (kernel["name"], kernel["arch"], kernel["block"]) == ("matrixMul", "sm_90", [16, 16, 1])
    assert (kernel["occupancy"], kernel["blocks_per_multiprocessor"]) == (1.0, 8)
    assert len(kernel["curve"]) == 32


def test_the_table_and_the_chart(article: Path) -> None:
    done = run_cli("analyze", article.name, "--arch", "H100", "--plot", "o.svg", cwd=article.parent)
    assert done.returncode == 0, done.stderr
    for words in ("matrixMul", "sm_90", "H100, H200", "registers", "limited by", "1024"):
        assert words in done.stdout
    drawing = (article.parent / "o.svg").read_text(encoding="utf-8")
    for words in ("Occupancy by block size", "threads per block", "limited by threads"):
        assert words in drawing


def test_a_workload_on_several_architectures_at_once(tmp_path: Path) -> None:
    done = run_cli(
        "analyze", "reduction", "--variant", "tree", "--block", "128", "--precision", "fp16",
        "--arch", "a100", "--arch", "sm_120", "--kernels", write_article(tmp_path),
        "--json", "f.json", "--plot", "o.png", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = msgspec.json.decode((tmp_path / "f.json").read_bytes())
    assert [(k["name"], k["arch"]) for k in document["kernels"]] == [
        ("partialSums", "sm_80"), ("finalSum", "sm_80"),
        ("partialSums", "sm_120"), ("finalSum", "sm_120"),
    ]  # fmt: skip
    assert {k["precision"] for k in document["kernels"]} == {"fp16"}
    assert "sm_120" in done.stdout
    assert (tmp_path / "o.png").stat().st_size > 10_000


def test_without_an_architecture_it_is_all_seven(article: Path) -> None:
    done = run_cli("analyze", article.name, "--json", cwd=article.parent)
    kernels = msgspec.json.decode(done.stdout.encode())["kernels"]
    assert [k["arch"] for k in kernels] == [
        "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "exit_code", "words"),
    [
        (["none.cu"], 2, "none.cu"),
        (["article.cu", "--arch", "sm_12"], 2, "does not compile for 'sm_12'"),
        (["article.cu", "--arch", "K80"], 2, "no architecture 'K80'"),
        (["article.cu", "--block", "64x32"], 2, "2048 threads"),
        (["article.cu", "--variant", "naive"], 2, "--variant belongs to a workload"),
        (["article.cu", "--plot", "o.gif"], 2, "o.gif"),
        (["matmul", "--dynamic-shared", "64"], 2, "--dynamic-shared belongs to a file"),
        (["matmal"], 2, "did you mean 'matmul'"),
        (["matmul", "--variant", "torch"], 2, "the model torch.matmul"),
        (["matmul", "--set", "TILE=3", "--variant", "tiled"], 2, "tunable TILE cannot be 3"),
    ],
)
def test_errors_are_one_sentence(
    article: Path, arguments: list[str], exit_code: int, words: str
) -> None:
    done = run_cli("analyze", *arguments, cwd=article.parent)
    assert words in assert_one_sentence(done, exit_code)


def test_a_compile_error_shows_the_users_file_and_line(article: Path) -> None:
    article.write_text("\n__global__ void k() { oops; }\n", encoding="utf-8")
    done = run_cli("analyze", article.name, "--arch", "sm_90", cwd=article.parent)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0].startswith("gpuexplorer: error: the kernel does not compile: article.cu:2: ")
    assert any("article.cu(2): error" in line for line in lines[1:])


def test_without_nvrtc_nothing_here_can_do_it(article: Path, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden" / "cuda"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").touch()  # of a package without bindings
    done = run_cli(
        "analyze", article.name, cwd=article.parent,
        environment={
            "PYTHONPATH": str(hidden.parent), "GPUEXPLORER_CACHE_DIR": str(tmp_path / "cache"),
        },
    )  # fmt: skip
    assert "pip install 'gpuexplorer[nvrtc]'" in assert_one_sentence(done, 3)
