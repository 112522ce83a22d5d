"""Operators as a chart: the flame chart, the table, and what is left out of them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from gpuexplorer.charts.operators import (
    FAMILY_COLOURS,
    memory_words,
    notes,
    operator_chart,
    row_words,
    short,
)
from gpuexplorer.charts.render import render, svg_text
from gpuexplorer.charts.spec import decode, encode, series
from gpuexplorer.core.operators import FAMILIES, Call, OperatorProfile, family
from tests.support.operators import made_profile


def test_the_flame_chart_has_every_call_in_its_row() -> None:
    profile = made_profile()
    flame = operator_chart(profile).rows[0][0]
    spans = {
        (float(x), float(y), float(z))
        for one in flame.series
        for x, y, z in zip(one.x, one.y, one.z, strict=True)
    }
    begins = [0, 4]  # three levels of the thread, and a gap
    assert spans == {
        (c.start_s, float(begins[c.track] + c.depth), c.duration_s) for c in profile.calls
    }
    assert flame.y.categories[0] == "CPU thread 1"
    assert flame.y.categories[4] == "GPU stream 7"


def test_a_kind_of_work_has_its_colour() -> None:
    flame = operator_chart(made_profile()).rows[0][0]
    colours = {one.name: one.colour for one in flame.series}
    assert colours["matrix products"] == FAMILY_COLOURS["product"]
    assert colours["element by element"] == FAMILY_COLOURS["elementwise"]
    assert len(set(FAMILY_COLOURS.values())) == len(FAMILIES)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("aten::addmm", "product"),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", "attention"),
        ("aten::mkldnn_convolution", "convolution"),
        ("aten::native_batch_norm", "reduction"),
        ("aten::gelu", "elementwise"),
        ("aten::copy_", "memory"),
        ("aten::empty_strided", "memory"),
        ("Optimizer.step#SGD.step", "elementwise"),
        ("cudaLaunchKernel", "other"),
    ],
)
def test_operators_are_told_apart_by_their_names(name: str, kind: str) -> None:
    assert family(name) == kind


def test_the_table_names_the_longest_first() -> None:
    table = operator_chart(made_profile(gpu=False)).rows[1][0]
    assert table.y.categories == ("addmm", "gelu", "linear", "copy_")
    (bars,) = table.series
    assert bars.labels[0] == "449 µs · 56 % · 450 µs in all · 2 calls · +4.10 kB"


def test_with_a_gpu_its_own_times_are_told() -> None:
    row = made_profile().operators[0]
    assert row_words(row).startswith("700 µs · 100 % · 700 µs in all")


def test_what_is_left_out_is_said() -> None:
    profile = msgspec.structs.replace(made_profile(), calls_total=131_072, operators_total=2500)
    said = " ".join(notes(profile))
    assert "the 8 longest of 131\u202f072 calls" in said
    assert "the 4 longest of 2\u202f500 operators" in said
    assert "1.00 ms while it was recorded, 800 µs before" in said


def test_a_call_too_short_to_see_is_not_drawn() -> None:
    profile = msgspec.structs.replace(
        made_profile(gpu=False), calls=(Call(0, 0, 0, 0.0, 4e-4), Call(1, 0, 0, 5e-4, 1e-9))
    )
    chart = operator_chart(profile)
    assert sum(len(one.x) for one in chart.rows[0][0].series) == 1
    said = "1 call shorter than 250 ns is left out of the flame chart; it took 1.00 ns."
    assert chart.notes[-1] == said
    assert said not in notes(profile), "the table has it"


def test_the_time_of_calls_left_out_counts_once() -> None:
    """Those within a call that is left out, too, are part of its time."""
    short, inner, other = 2e-7, 1e-7, 4e-8
    calls = (
        Call(0, 0, 0, 0.0, 4e-4), Call(1, 0, 1, 1e-5, short), Call(2, 0, 2, 1e-5, inner),
        Call(1, 0, 1, 2e-5, short), Call(1, 0, 0, 5e-4, other), Call(3, 1, 0, 1e-5, short),
    )  # fmt: skip
    profile = msgspec.structs.replace(made_profile(), calls=calls)
    assert operator_chart(profile).notes[-1] == (
        "5 calls shorter than 250 ns are left out of the flame chart; they took 640 ns together."
    )
    everything = msgspec.structs.replace(profile, calls=calls[:1])
    assert operator_chart(everything).notes == tuple(notes(everything))


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_it_is_drawn_to_files(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"flame.{suffix}"
    render(operator_chart(made_profile()), path, theme="dark")
    assert path.stat().st_size > 4000


def test_words_stand_in_spans_that_have_room() -> None:
    drawn = operator_chart(made_profile())
    assert decode(encode(drawn)) == drawn
    svg = svg_text(drawn)
    assert "PolyCollection" in svg


def test_an_empty_profile_is_a_chart_all_the_same(tmp_path: Path) -> None:
    empty = msgspec.structs.replace(
        made_profile(), operators=(), operators_total=0, names=(), tracks=(), calls=(),
        calls_total=0,
    )  # fmt: skip
    render(operator_chart(empty), tmp_path / "empty.png")
    assert not empty.on_gpu


def test_spans_need_a_length_each() -> None:
    with pytest.raises(ValueError, match="spans"):
        series("x", "spans", "measured", x=np.arange(3.0), y=np.zeros(3))


def test_words() -> None:
    assert memory_words(-2048.0) == "−2.05 kB"
    assert memory_words(None) == "–"
    assert short("aten::" + "x" * 80, 10) == "xxxxxxxxx…"


def test_a_profile_survives_its_document() -> None:
    profile = made_profile(shapes=True)
    assert msgspec.json.decode(msgspec.json.encode(profile), type=OperatorProfile) == profile
