"""Quantities read as an engineer would write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.core.units import (
    count,
    listed,
    percent,
    plural,
    quantity,
    ratio,
    span,
    speed,
    speed_than,
)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.000412, "s", "412 µs"),
        (5.2e12, "FLOP/s", "5.20 TFLOP/s"),
        (0.99996e-3, "s", "1.00 ms"),
        (999.96, "B", "1.00 kB"),
        (0.0, "s", "0.00 s"),
        (1.0, "s", "1.00 s"),
        (-2.5e-6, "s", "-2.50 µs"),
        (None, "s", "–"),
        (float("nan"), "s", "–"),
    ],
)
def test_quantity(value: float | None, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


@given(st.floats(1e-11, 1e15))
def test_a_quantity_is_never_off_by_more_than_its_digits(value: float) -> None:
    text = quantity(value, "s")
    number, unit = text.split()
    factor = {"p": 1e-12, "n": 1e-9, "µ": 1e-6, "m": 1e-3, "": 1, "k": 1e3, "M": 1e6, "G": 1e9,
              "T": 1e12, "P": 1e15}[unit[:-1]]  # fmt: skip
    assert float(number) * factor == pytest.approx(value, rel=6e-3)
    assert 1 <= float(number) < 1000


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.16667, "0.167 FLOP/B"),
        (0.99999, "1.00 FLOP/B"),
        (2.5, "2.50 FLOP/B"),
        (85.33, "85.3 FLOP/B"),
        (2731.2, "2730 FLOP/B"),
        (0.0, "0.00 FLOP/B"),
        (None, "–"),
    ],
)
def test_a_ratio_has_no_prefix(value: float | None, text: str) -> None:
    assert ratio(value, "FLOP/B") == text


def test_percent_and_count() -> None:
    assert percent(0.003) == "0.3 %"
    assert percent(0.999) == percent(1.0) == "100 %"
    assert percent(3.42) == "342 %"
    assert percent(None) == "–"
    assert count(1234567) == "1\u202f234\u202f567"


def test_a_phrase_goes_with_its_number_and_names_what_else_it_says() -> None:
    phrases = "{number} run of {place}", "{number} runs of {place}"
    said = [plural(number, *phrases, place="{here}") for number in (0, 1, 2, 1234)]
    assert said == [
        "0 runs of {here}",
        "1 run of {here}",
        "2 runs of {here}",
        "1\u202f234 runs of {here}",
    ]


def test_names_are_listed_as_a_sentence_has_them() -> None:
    assert [listed("abc"[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert listed(["fp16", "bf16"], "{names} or {last}") == "fp16 or bf16"


def test_speeds_have_one_form_whichever_is_faster() -> None:
    assert speed(0.5, 0.45, 0.56) == "2.00× faster (1.79–2.22)"
    assert speed(1.04, 1.01, 1.07) == "1.040× slower (1.010–1.070)"
    assert speed(87.17) == "87.2× slower"
    assert speed(1.0001) == "as fast"
    assert speed(None) == "–"
    assert speed_than(0.5, "b") == "2.00× faster than b"
    assert speed_than(1.0, "b") == "as fast as b"


def test_where_the_interval_holds_1_a_speed_cannot_be_told() -> None:
    assert speed(1.018, 0.947, 1.46) == "can't tell (0.947–1.46)"
    assert speed(1.0, 0.99, 1.02) == "can't tell (0.990–1.020)"
    assert speed(0.98, 0.7, 1.05) == "can't tell (0.952–1.43)"
    assert speed(1.001, 0.998, 1.004) == "as fast (0.998–1.004)"
    assert speed_than(1.018, "b", 0.947, 1.46) == "can't tell from b (0.947–1.46)"
    assert speed_than(1.001, "b", 0.998, 1.004) == "as fast (0.998–1.004) as b"


def test_a_verdict_by_another_tolerance_goes_before_the_usual_one() -> None:
    assert speed(1.01, 0.98, 1.03, "same") == "as fast (0.980–1.030)"
    assert speed(1.002, 1.001, 1.003, "slower") == "1.002× slower (1.001–1.003)"
    assert speed_than(1.001, "b", 0.998, 1.004, "can't tell") == "can't tell from b (0.998–1.004)"


@given(st.floats(0.01, 100), st.floats(1, 2))
def test_a_speed_turned_around_has_the_same_factor(ratio: float, spread: float) -> None:
    there, back = speed(ratio), speed(1 / ratio)
    shown, turned = (float(w.split("×")[0]) if "×" in w else 1.0 for w in (there, back))
    assert shown == pytest.approx(turned, rel=0.011)
    assert ("faster" in there) + ("faster" in back) == ("×" in there and "×" in back)
    whole = speed(ratio, ratio / spread, ratio * spread)
    low, high = (float(end) for end in whole.partition("(")[2].rstrip(")").split("–"))
    assert low <= shown * 1.011 and shown <= high * 1.011
    if low < 0.99 and high > 1.01:
        assert whole.startswith("can't tell (")


def test_a_span_has_one_prefix() -> None:
    assert span(5.1e-3, 14.9e-3, "s") == "5.10–14.9 ms"
    assert span(850e-6, 1.25e-3, "s") == "0.850–1.25 ms"
    assert span(0.0, 2e-6, "s").endswith("–2.00 µs")
