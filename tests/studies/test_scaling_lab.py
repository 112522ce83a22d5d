"""Time against size: exponents and where they hold, borders of memories, what cannot be run."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.analysis.curves import slopes
from gpuexplorer.charts.render import render
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceLimits
from gpuexplorer.core.errors import InputError, WorkFailed
from gpuexplorer.core.studies import Measured, ids_of, study_json, without_runs
from gpuexplorer.exchange.csv_table import write_sheet
from gpuexplorer.studies import chart_of, decode, kind_of, sheet_of, with_runs
from gpuexplorer.studies.running import How
from gpuexplorer.studies.scaling import (
    WITHIN,
    ScalingLab,
    ScalingPoint,
    growth_of,
    growth_words,
)
from tests.support.lab_studies import scaling_study
from tests.support.problems import made
from tests.support.studies import SHIPPED, StudyMachine, asked, cpu, devices

MATMUL = SHIPPED["matmul"]
HOW = How(rounds=8, seconds=0.08, seed=1)
SIZES = [16, 32, 64, 128, 256, 512]


def launch_s(config: RunConfig) -> float:
    """Naive grows as N³ from the start; tiled costs 1 ms up to N = 64 and grows as N² above."""
    n = config.size["N"]
    return n**3 * 1e-9 if config.variant == "naive" else 1e-3 * max(1.0, n / 64) ** 2


def lab(**more: Any) -> ScalingLab:
    how: dict[str, Any] = {"sizes": SIZES, "variants": ["naive", "tiled"], **more}
    request = msgspec.structs.replace(asked("matmul"), variant=None)
    return ScalingLab(request, MATMUL, devices(cpu(last_level_cache_B=1 << 20)), HOW, **how)


def test_each_variants_exponent_is_the_machines_from_where_it_holds() -> None:
    study = lab().run(StudyMachine(launch_s, noise=1e-4))
    naive, tiled = study.growth
    assert (naive.variant, naive.start, tiled.start) == ("naive", 16, 64)
    for growth, exponent in ((naive, 3.0), (tiled, 2.0)):
        assert growth.exponent == pytest.approx(exponent, abs=0.01)
        assert growth.ci95_low is not None and growth.ci95_high is not None
        assert growth.ci95_low <= exponent <= growth.ci95_high
    assert study.work_exponent == pytest.approx(3.0, abs=0.02)
    assert study.runs and ids_of(study) == {run.id for run in study.runs}
    exponents = f"N^{naive.exponent:.2f} (naive), N^{tiled.exponent:.2f} (tiled)"
    assert kind_of(study).finding(study) == f"Time grows as {exponents}."
    assert naive.words in sheet_of(study).notes and tiled.words in chart_of(study).notes


def test_the_first_size_that_outgrows_the_cache_is_found() -> None:
    (border,) = lab().document().borders.items()
    title, size = border
    assert title == "last-level cache, 1.05 MB"
    assert 3 * 4 * (size - 1) ** 2 <= 1 << 20 < 3 * 4 * size**2
    assert lab(sizes=[16, 32]).document().borders == {}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("N % 8 == 0", 1000),
        ("N % 7 == 3", 1004),
        ("log2(N) == floor(log2(N))", 1024),
        ("sqrt(N) == floor(sqrt(N)) and N < 4000", 1024),
        ("N < 998", None),
    ],
)
def test_a_border_stands_at_the_first_size_that_the_rules_allow(
    rule: str, expected: int | None
) -> None:
    constraint = f'[[constraints]]\nrule = "{rule}"\nbecause = "so it is"\n\n[variants.only]'
    workload = made(("[variants.only]", constraint))
    on = devices(cpu(last_level_cache_B=2 * 4 * 997))  # of two arrays in fp32
    lab = ScalingLab(asked("made"), workload, on, HOW, sizes=[64, 4096])
    assert lab.first_above(2 * 4 * 997) == expected
    assert list(lab.document().borders.values()) == [n for n in (expected,) if n is not None]


def test_where_sizes_are_far_between_the_border_is_at_one_to_be_measured() -> None:
    rule = "log2(N) == floor(log2(N))"
    constraint = f'[[constraints]]\nrule = "{rule}"\nbecause = "so it is"\n\n[variants.only]'
    workload = made(("[variants.only]", constraint))
    sizes = [1 << k for k in range(10, 26)]
    lab = ScalingLab(asked("made"), workload, devices(cpu()), HOW, sizes=sizes)
    assert lab.first_above(2 * 4 * 9_000_000) == 1 << 24


def test_the_first_size_that_outgrows_the_devices_memory_is_found() -> None:
    on = devices(cpu(limits=DeviceLimits(memory_B=1 << 20)))
    lab = ScalingLab(asked("matmul"), MATMUL, on, HOW, sizes=[16, 4096], variants=["naive"])
    ((title, size),) = lab.document().borders.items()
    assert title == "device memory, 1.05 MB"
    assert 3 * 4 * (size - 1) ** 2 <= 1 << 20 < 3 * 4 * size**2


def test_without_variants_all_that_run_are_looked_at() -> None:
    wanted = lab(variants=None)
    names = [growth.variant for growth in wanted.document().growth]
    assert {"naive", "tiled"} <= set(names) and "cublas" not in names
    assert wanted.configurations == len(names) * len(SIZES)
    assert wanted.total == f"{len(names)} variants at 6 sizes, in turns."
    with pytest.raises(InputError, match="no variant 'bogus'"):
        lab(variants=["bogus"])
    with pytest.raises(InputError, match="no size 'Q'"):
        lab(symbol="Q")


def test_a_block_is_of_the_variant_that_is_named_or_the_only_one() -> None:
    def of(*variants: str, **knobs: Any) -> dict[str, Any]:
        on = devices(cpu())
        made = ScalingLab(asked("matmul", **knobs), MATMUL, on, HOW, variants=variants, sizes=[64])
        parts = made.configurations
        assert parts == len(variants)
        return {name: made.config_at(64, name).block for name in variants}

    usual = of("naive", "tiled")
    block = (64, 2, 1)
    assert block not in usual.values()
    assert of("naive", "tiled", variant="tiled", block=block) == {**usual, "tiled": block}
    assert of("naive", block=block) == {"naive": block}
    for knobs in (
        {"block": block},
        {"tunables": {"TILE": 8}},
        {"switches": {"compile": "default"}},
    ):
        with pytest.raises(InputError, match="belongs to one variant, and several are measured"):
            of("naive", "tiled", **knobs)
    assert of("naive", "tiled", switches={"include_transfers": True}) == usual


def test_what_fails_has_its_reason_and_nothing_at_all_is_an_error() -> None:
    def fails(config: RunConfig) -> WorkFailed | None:
        return WorkFailed("out of luck") if config.variant == "tiled" else None

    study = lab().run(StudyMachine(launch_s, fails=fails))
    assert all(point.skipped == {"tiled": "out of luck"} for point in study.points)
    assert "too few sizes" in study.growth[1].words
    with pytest.raises(WorkFailed, match="no size was measured: all broken"):
        lab().run(StudyMachine(launch_s, fails=lambda _: WorkFailed("all broken")))


def test_a_document_survives_files_and_being_apart_from_its_runs(tmp_path: Path) -> None:
    study = scaling_study()
    assert decode(study_json(study)) == study
    assert with_runs(without_runs(study), study.runs) == study
    write_sheet(sheet_of(study), tmp_path / "t.csv")
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert len(lines) == 1 + 2 * len(study.points) and lines[0].startswith("size,variant,arrays_B,")
    render(chart_of(study), tmp_path / "t.svg")
    assert (tmp_path / "t.svg").stat().st_size > 10_000
    marks = {key for line in chart_of(study).rows[0][0].series for key in line.keys}
    assert marks == {run.id for run in study.runs} and marks <= set(sheet_of(study).marks)


@given(
    exponent=st.floats(0.5, 4.0), factor=st.floats(1e-12, 1e-3),
    sizes=st.lists(st.integers(2, 1 << 16), min_size=3, max_size=12, unique=True).map(sorted),
)  # fmt: skip
def test_a_power_is_found_again_whatever_it_is(
    exponent: float, factor: float, sizes: list[int]
) -> None:
    def point(size: int) -> ScalingPoint:
        measured = Measured(run="r", time_s=factor * size**exponent)
        return ScalingPoint(value=size, measured={"a": measured})

    found = growth_of("a", "N", [point(size) for size in sizes])
    assert found.start == sizes[0] and found.exponent == pytest.approx(exponent, rel=1e-6)
    assert found.factor_s == pytest.approx(factor, rel=1e-4)
    times = [factor * size**exponent for size in sizes]
    assert slopes(sizes, times) == pytest.approx([exponent] * (len(sizes) - 1), rel=1e-6)


def test_those_of_which_the_same_is_said_share_a_sentence() -> None:
    def point(size: int) -> ScalingPoint:
        times = {"a": 1e-6 * size, "b": 1e-6, "c": 1e-6}
        measured = {name: Measured(run="r", time_s=time_s) for name, time_s in times.items()}
        return ScalingPoint(value=size, measured=measured)

    points = [point(size) for size in (16, 32, 64)]
    growths = [growth_of(name, "N", points) for name in "abc"]
    first, second = growth_words(growths)
    assert first == "a: time grows as N^1.00 (1.00–1.00) from N = 16 on."
    assert second.startswith("b and c: time grows as N^0.00")
    few = [growth_of(name, "N", points[:2]) for name in "abc"]
    assert growth_words(few) == ["a, b and c: no power of N holds within 10 %: too few sizes."]


def test_a_time_beyond_the_share_is_no_part_of_the_line() -> None:
    times = {16: 4.0, 32: 2.0, 64: 4.0, 128: 8.0, 256: 16.0}
    points = [
        ScalingPoint(value=n, measured={"a": Measured(run="r", time_s=t)}) for n, t in times.items()
    ]
    found = growth_of("a", "N", points)
    assert found.start == 32 and found.exponent == pytest.approx(1.0)
    assert math.exp(math.log1p(WITHIN)) == pytest.approx(1.1)
