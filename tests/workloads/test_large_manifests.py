"""A manifest of thousands of parts is read in time that grows with its length, and no faster."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable

import pytest

from gpuexplorer.core.errors import InputError
from gpuexplorer.workloads.workload import Workload, WorkloadSource

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
entry = "copy"
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
