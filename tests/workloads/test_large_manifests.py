"""A manifest of thousands of parts is read in time that grows with its length, and no faster."""

from __future__ import annotations

import shutil
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import gpuexplorer
from gpuexplorer.core.errors import InputError
from gpuexplorer.workloads.loader import shipped_folder
from gpuexplorer.workloads.workload import Workload, WorkloadSource
from tests.support.own_kernels import TEXTBOOK

HEAD = """format = 1
name = "many"
title = "Many"
summary = "Many of a kind."
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
outputs = { B = "A" }
"""
SIZE = """[sizes.{name}]
title = "Elements"
min = 1
max = 4096
default = 64
"""
VARIANT = """[variants.v{number}]
title = "One of many"
teaches = "Nothing."
[[variants.v{number}.launch]]
source = "copy.cu"
entry = "vector_add"
block = [64]
grid = ["ceil_div(N, block_x)"]
args = ["A", "B", "N"]
"""
TRIES = 3


def manifest(sizes: int, variants: int) -> str:
    names = ["N", *(f"S{number}" for number in range(sizes - 1))]
    return (
        HEAD
        + "".join(SIZE.format(name=name) for name in names)
        + "".join(VARIANT.format(number=number) for number in range(variants))
    )


def load(text: str) -> Workload:
    return Workload(WorkloadSource(manifest=text, files={"copy.cu": ""}))


def least_s(work: Callable[[], object]) -> float:
    """Return the least processor time of a few tries."""
    took = []
    for _ in range(TRIES):
        began = time.process_time()
        work()
        took.append(time.process_time() - began)
    return min(took)


@pytest.mark.parametrize("sizes", [1, 3000])
def test_thousands_of_variants_are_checked_in_a_few_times_what_reading_toml_takes(
    sizes: int,
) -> None:
    text = manifest(sizes, 3000)
    assert len(load(text).manifest.variants) == 3000
    assert least_s(lambda: load(text)) < 6 * least_s(lambda: tomllib.loads(text))


def test_a_wrong_name_among_thousands_is_answered_in_a_readable_sentence() -> None:
    with pytest.raises(InputError) as caught:
        load(manifest(1, 3000)).variant("v29990")
    assert "did you mean 'v2999'?" in str(caught.value)
    assert "and 2900 more" in str(caught.value) and len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ('args = ["A", "B", "N"]', 'args = ["{}"]'),
        ('title = "Elements"', '{} = "Elements"'),
        ('source = "copy.cu"', 'source = "{}"'),
        ("block = [64]", 'block = ["{}"]'),
    ],
)
def test_a_word_of_thousands_of_letters_is_refused_in_a_readable_sentence(
    good: str, bad: str
) -> None:
    text = manifest(1, 1)
    assert good in text
    with pytest.raises(InputError) as caught:
        load(text.replace(good, bad.format("y" * 10_000)))
    assert len(str(caught.value)) < 1000


def test_sources_that_no_message_holds_are_refused_in_one_sentence(tmp_path: Path) -> None:
    """An engine takes messages up to 16 MiB; what was said of larger ones was no error of ours."""
    folder = tmp_path / "vector_add"
    shutil.copytree(shipped_folder() / "vector_add", folder)
    for number in range(18):  # fewer letters than are allowed of bytes
        (folder / f"{number}.cuh").write_text("// " + "核" * 340_000, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        gpuexplorer.run("vector_add", kernels=tmp_path, size=64, device="cpu", seconds=0.01)
    assert str(refused.value) == (
        f"{folder / 'workload.toml'}: its sources are larger than 8 MiB together; "
        "keep only what the kernels need"
    )


def test_a_file_with_all_that_it_includes_is_refused_when_that_is_too_much(tmp_path: Path) -> None:
    names = [f"{number}.cuh" for number in range(18)]
    for name in names:
        (tmp_path / name).write_text("// " + "a" * 1_000_000)
    file = tmp_path / "mine.cu"
    file.write_text("".join(f'#include "{name}"\n' for name in names) + TEXTBOOK)
    file.with_suffix(".toml").write_text("")
    with pytest.raises(InputError, match=r"mine.cu: its sources are larger than 8 MiB together"):
        gpuexplorer.run(str(file), size=64, device="cpu", seconds=0.01, trust=True)
