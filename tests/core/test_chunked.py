"""Long series as lists and arrays: bit for bit, whatever their length."""

from __future__ import annotations

import itertools
import sys
import tracemalloc

import msgspec
import numpy as np
import pytest

from gpuexplorer.core.chunked import CHUNK, as_array, as_list, encode
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.engine.batches import CHUNK as SORTED
from gpuexplorer.engine.batches import Batches


@pytest.mark.parametrize("length", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5])
def test_there_and_back(length: int) -> None:
    values = np.random.default_rng(length).random(length)
    assert as_list(values) == values.tolist()
    assert np.array_equal(as_array(as_list(values)), values)
    assert as_array([]).dtype == np.float64


@pytest.mark.parametrize("length", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5])
def test_an_array_in_a_document_reads_as_its_list(length: int) -> None:
    values = np.random.default_rng(length).random(length)
    assert encode({"samples_s": values}) == msgspec.json.encode({"samples_s": values.tolist()})


def test_an_array_in_a_document_is_never_a_list_as_a_whole() -> None:
    long = np.random.default_rng(1).random(30 * CHUNK)
    tracemalloc.start()
    document = encode(long)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    as_objects = len(long) * (sys.getsizeof(0.5) + 8)
    assert peak < 2 * len(document) + as_objects / 2


def test_a_document_holds_no_other_array() -> None:
    for odd in (np.zeros((2, 2)), np.zeros(3, np.int32), object()):
        with pytest.raises(TypeError, match="a document cannot hold"):
            encode([odd])


@pytest.mark.parametrize("total", [1, SORTED, 2 * SORTED + 7])
@pytest.mark.parametrize("most", [5, 3000, 2 * SORTED])
def test_the_median_of_every_batch_is_its_own(total: int, most: int) -> None:
    chance = np.random.default_rng(total + most)
    counts: list[int] = []
    while sum(counts) < total:
        counts.append(min(int(chance.integers(1, most + 1)), total - sum(counts)))
    values = chance.random(total)
    batch = SampleBatch(
        seconds=values.tobytes(), counts=tuple(counts), starts_ns=tuple(range(len(counts)))
    )
    starts = np.cumsum([0, *counts])
    expected = [float(np.median(values[a:b])) for a, b in itertools.pairwise(starts)]
    assert Batches([batch], []).medians_s.tolist() == expected
