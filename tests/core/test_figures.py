"""Figures with a decimal comma: those with a unit alone, in the window alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.core import language
from gpuexplorer.core.language import in_file, tr
from gpuexplorer.core.language.figures import with_comma
from gpuexplorer.core.units import percent, quantity, span, speed

UNITS = ("s", "B", "B/s", "FLOP/s", "FLOP", "J", "W", "Hz")


@pytest.fixture
def comma() -> Iterator[None]:
    language.use_decimal_comma(True)
    yield
    language.use_decimal_comma(False)


@given(st.floats(1e-12, 1e17), st.sampled_from(UNITS))
def test_every_quantity_has_a_comma_in_place_of_its_point(value: float, unit: str) -> None:
    words = quantity(value, unit)
    assert with_comma(words) == words.replace(".", ",")


@given(st.floats(1e-9, 1e3), st.floats(1, 900))
def test_both_ends_of_an_interval_have_one(low: float, times: float) -> None:
    words = f"A launch took {span(low, low * times, 's')} (95 %), {percent(times / 1e4)} of it."
    body = words.removesuffix(".")
    assert with_comma(words) == body.replace(".", ",") + "."


@pytest.mark.parametrize(
    "words",
    [
        "Python 3.11, CUDA 13.0 and NumPy 2.4.1", "gpuexplorer run matmul --seconds 0.5",
        "sm_90 · H100", "naive.cu", "2026-11-27 21:30", "127.0.0.1:8786", "error 1.4e-06",
        "v0.1 s", "file-1.5 s.csv", "/tmp/0.5 s", "SCALE=1.5 s", "It took long. 5 s more.",
    ],
)  # fmt: skip
def test_what_is_no_figure_with_a_unit_keeps_its_points(words: str) -> None:
    assert with_comma(words) == words


def test_a_ratio_and_its_interval_have_commas() -> None:
    assert with_comma(speed(0.5, 0.45, 0.55)) == speed(0.5, 0.45, 0.55).replace(".", ",")


@pytest.mark.usefixtures("comma")
def test_files_keep_points() -> None:
    assert tr("15.1 ms") == "15,1 ms"
    with in_file():
        assert tr("15.1 ms") == "15.1 ms"
    assert tr("15.1 ms") == "15,1 ms"
