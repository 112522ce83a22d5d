"""Two devices over sizes, on a machine whose break-even is known."""

from __future__ import annotations

from typing import Any

import pytest

from gpuexplorer.analysis.curves import crossing
from gpuexplorer.core import language
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList, Unavailable
from gpuexplorer.core.errors import CannotRunHere, InputError, WorkFailed
from gpuexplorer.core.studies import Speedup
from gpuexplorer.engine.errors import LongRun
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.studies.over_sizes import default_sizes
from gpuexplorer.studies.running import How
from gpuexplorer.studies.speedup import SpeedupLab, break_even
from tests.support.studies import (
    SHIPPED,
    StudyMachine,
    asked,
    cpu,
    devices,
    gpu,
    torch_cpu,
)

MATMUL = SHIPPED["matmul"]
HOW = How(rounds=8, seconds=0.08, seed=1)
SIZES = [16, 32, 64, 128, 256]


def launch_s(config: RunConfig) -> float:
    """The first takes N²/64 µs, the second 64 µs whatever N is, and four times that with copies."""
    n = config.size["N"]
    if config.device == "opencl:0":
        return n * n / 64 * 1e-6
    return 64e-6 * (4 if config.include_transfers else 1)


def lab(listed: DeviceList | None = None, **more: Any) -> SpeedupLab:
    said: dict[str, Any] = {"sizes": SIZES, **more}
    return SpeedupLab(asked("matmul"), MATMUL, listed or devices(cpu(), gpu()), HOW, **said)


def test_times_and_speedups_are_the_machines_with_and_without_transfers() -> None:
    study = lab().run(StudyMachine(launch_s, noise=1e-4))
    assert (study.first.device, study.second.device) == ("opencl:0", "cuda:0")
    assert study.first.variant == study.second.variant == "naive"
    assert [point.value for point in study.points] == SIZES
    for point in study.points:
        n = point.value
        assert point.speedup is not None and point.speedup_with is not None
        assert point.speedup.factor == pytest.approx((n / 64) ** 2, rel=0.005)
        assert point.speedup_with.factor == pytest.approx((n / 128) ** 2, rel=0.005)
        low, high = point.speedup.ci95_low, point.speedup.ci95_high
        assert low is not None and high is not None and low <= point.speedup.factor <= high
        with_copies = study.run(point.second_with)
        assert with_copies is not None and with_copies.config.include_transfers
        plain = study.run(point.second)
        assert plain is not None and not plain.config.include_transfers


def test_cold_caches_have_no_figure_with_transfers() -> None:
    """The copies leave the arrays in the caches, whatever was emptied before."""
    study = SpeedupLab(
        asked("matmul", cache="cold"), MATMUL, devices(cpu(), gpu()), HOW, sizes=[64, 128]
    ).run(StudyMachine(launch_s, noise=1e-4))
    for point in study.points:
        assert point.speedup is not None and point.speedup_with is None
        assert point.second_with is None
        assert "cold caches and included transfers" in point.skipped["second_with"]
    assert all(run.config.cache == "cold" for run in study.runs)


def test_the_break_even_is_where_the_machine_has_it() -> None:
    study = lab(sizes=[16, 40, 100, 250]).run(StudyMachine(launch_s, noise=1e-4))
    assert study.break_even is not None and study.break_even_with is not None
    assert study.break_even.size == pytest.approx(64, rel=0.01)
    assert study.break_even_with.size == pytest.approx(128, rel=0.01)
    assert study.break_even.words.startswith("Without transfers, cuda:0 is faster from N ≈ 64")
    low, high = study.break_even.low, study.break_even.high
    assert low is not None and high is not None and low <= 64.5 and high >= 63.5


@pytest.mark.parametrize(
    ("factors", "size", "words"),
    [
        ([0.25, 4.0], 20.0, "is faster from N ≈ 20 on"),
        ([0.25, 0.5], None, "lies above N = 40"),
        ([2.0, 4.0], None, "lies below N = 10"),
        ([2.0, 0.5], None, "there is no size from which on it stays faster"),
        ([4.0], None, "one size does not tell"),
        ([], None, "No size was measured on both"),
    ],
)
def test_break_even_in_words(factors: list[float], size: float | None, words: str) -> None:
    points = [
        (n, Speedup(factor=f, ci95_low=0.98 * f, ci95_high=1.02 * f))
        for n, f in zip((10, 40), factors, strict=False)
    ]
    found = break_even(points, "N", "cuda:0", "with transfers")
    assert found.size == (pytest.approx(size) if size else None)
    assert words in found.words and "with transfers" in found.words.lower()


def test_the_last_crossing_counts_and_the_others_are_told() -> None:
    found = break_even(around([(f, 0.01) for f in (0.5, 2.0, 0.5, 2.0)]), "N", "B", "without")
    assert found.size == pytest.approx(10 * 2**2.5)
    assert "change places 2 times" in found.words


def test_exactly_as_fast_counts_as_not_faster() -> None:
    assert crossing([(10.0, 1.0), (20.0, 2.0)]) == pytest.approx(10.0)
    assert crossing([(10.0, 0.5), (20.0, 1.0)]) is None


def test_the_interval_of_a_break_even_is_where_the_speedups_intervals_cross() -> None:
    points = [
        (10, Speedup(factor=0.5, ci95_low=0.25, ci95_high=1.0, pairs=8)),
        (40, Speedup(factor=2.0, ci95_low=1.0, ci95_high=4.0, pairs=8)),
        (160, Speedup(factor=8.0, ci95_low=4.0, ci95_high=16.0, pairs=8)),
    ]
    found = break_even(points, "N", "B", "without transfers")
    assert found.size == pytest.approx(20) and found.low == pytest.approx(10)
    assert found.high == pytest.approx(40)
    also = break_even(points, "N", "torch:cpu", "with transfers")
    language.use("zh_CN")
    try:
        assert language.tr(f"{found.words} {also.words}") == (
            "不含传输时，从 N ≈ 20（10–40）起 B 更快。"
            "含传输时，从 N ≈ 20（10–40）起 torch:cpu 更快。"
        )
    finally:
        language.use(language.ENGLISH)


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (1.1, "With transfers, whether B is faster cannot be told at N = 10 and 40."),
        (2.0, "With transfers, whether B is faster cannot be told at N = 10; at the others it is "
              "faster."),
    ],
)  # fmt: skip
def test_a_side_that_the_intervals_leave_open_is_not_claimed(last: float, words: str) -> None:
    factors = [(10, 1.05), (40, last)]
    points = [(n, Speedup(factor=f, ci95_low=0.8 * f, ci95_high=1.3 * f)) for n, f in factors]
    assert break_even(points, "N", "B", "with transfers").words == words


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ([(0.99, 0.1), (1.01, 0.1)], "cannot be told at N = 10 and 20."),
        ([(1.05, 0.1), (0.97, 0.1)], "cannot be told at N = 10 and 20."),
        ([(0.5, 0.01), (1.02, 0.1)], "cannot be told at N = 20; at the others it is slower."),
        ([(0.99, 0.1), (2.0, 0.01)], "cannot be told at N = 10; at the others it is faster."),
        ([(1.02, 0.1), (0.5, 0.01)], "cannot be told at N = 10; at the others it is slower."),
        ([(0.5, 0.01), (2.0, 0.01), (1.02, 0.1)],
         "cannot be told at N = 40; it is faster at N = 20."),
    ],
)  # fmt: skip
def test_no_break_even_is_claimed_that_the_intervals_leave_open(
    known: list[tuple[float, float]], words: str
) -> None:
    found = break_even(around(known), "N", "B", "with transfers")
    assert (found.size, found.low, found.high) == (None, None, None)
    assert found.words == f"With transfers, whether B is faster {words}"


@pytest.mark.parametrize(
    ("factors", "words"),
    [
        ([1.001, 1.002], "cannot be told at N = 10 and 40."),
        ([0.2, 5.0], "cannot be told at N = 10 and 40."),
        ([5.0], "cannot be told at N = 10."),
    ],
)
def test_without_an_interval_it_cannot_be_told(factors: list[float], words: str) -> None:
    points = [(n, Speedup(factor=f)) for n, f in zip((10, 40), factors, strict=False)]
    found = break_even(points, "N", "B", "with transfers")
    assert found.size is None
    assert found.words == f"With transfers, whether B is faster {words}"


SAME, FASTER, SLOWER, OPEN = (1.001, 0.001), (2.0, 0.01), (0.5, 0.01), (1.02, 0.1)


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ([SAME], "B is as fast at N = 10."),
        ([SAME, SAME], "B is as fast at N = 10 and 20."),
        ([SLOWER, SAME], "B is as fast at N = 20; at the others it is slower."),
        ([SAME, FASTER], "B is as fast at N = 10; at the others it is faster."),
        ([SAME, OPEN], "whether B is faster cannot be told at N = 20; it is as fast at N = 10."),
        ([SLOWER, SAME, OPEN], "whether B is faster cannot be told at N = 40; it is as fast at "
                               "N = 20; at the others it is slower."),
        ([SLOWER, FASTER, SAME], "B is faster at some sizes, not at the largest, N = 40; it is as "
                                 "fast at N = 40; there is no size from which on it stays faster."),
    ],
)  # fmt: skip
def test_as_fast_is_told_as_such(known: list[tuple[float, float]], words: str) -> None:
    found = break_even(around(known), "N", "B", "with transfers")
    assert found.size is None and found.words == f"With transfers, {words}"


def test_what_is_unclear_in_between_is_neither_a_change_nor_the_end() -> None:
    unclear = [(1.02, 0.1), (0.97, 0.1)]
    found = break_even(around([(0.5, 0.01), *unclear, (4.0, 0.01)]), "N", "B", "with transfers")
    assert found.size is not None and found.low is not None and found.high is not None
    assert 10 < found.low < 20 and 40 < found.size < found.high < 80
    assert "change places" not in found.words
    turned = break_even(around([(2.0, 0.01), *unclear, (0.5, 0.01)]), "N", "B", "with transfers")
    assert turned.size is None and "at some sizes, not at the largest, N = 80" in turned.words


def around(known: list[tuple[float, float]]) -> list[tuple[int, Speedup]]:
    """Return speed-ups at 10, 20, 40, ... by factor and half of the interval."""
    return [
        (10 << i, Speedup(factor=f, ci95_low=f - half, ci95_high=f + half, pairs=8))
        for i, (f, half) in enumerate(known)
    ]


def test_without_a_gpu_it_says_so_with_the_reason() -> None:
    listed = DeviceList(
        devices=(cpu(),),
        unavailable=(Unavailable(backend="cuda", reason="no NVIDIA driver", remedy="install it"),),
    )
    with pytest.raises(CannotRunHere, match=r"no GPU here.*no NVIDIA driver") as caught:
        lab(listed)
    assert "--devices" in str(caught.value)


def test_any_two_devices_can_be_named_and_each_gets_a_variant_it_runs() -> None:
    listed = devices(cpu(), torch_cpu())
    study = lab(listed, names=["opencl:0", "torch:cpu"], sizes=[16, 32]).run(StudyMachine(launch_s))
    assert study.first.label == "opencl:0 (naive)" and study.second.label == "torch:cpu (torch)"
    chosen = SpeedupLab(
        asked("matmul", variant="tiled", block=(8, 8)), MATMUL, listed, HOW,
        names=["opencl:0", "torch:cpu"], sizes=[16],
    ).document()  # fmt: skip
    assert chosen.first.variant == "tiled" and chosen.second.variant == "torch"


def test_names_and_sizes_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="3 devices"):
        lab(names=["opencl:0", "cuda:0", "cuda:0"])
    with pytest.raises(InputError, match="both are"):
        lab(names=["opencl:0", "opencl:0"])
    with pytest.raises(InputError, match="no size 'M'"):
        lab(symbol="M")
    with pytest.raises(InputError, match="out of range"):
        lab(sizes=[16, 10**9])
    with pytest.raises(InputError, match="no variant 'naiv'"):
        SpeedupLab(asked("matmul", variant="naiv"), MATMUL, devices(cpu(), gpu()), HOW)
    with pytest.raises(InputError, match="no precision 'fp31'"):
        SpeedupLab(asked("matmul", precision="fp31"), MATMUL, devices(cpu(), gpu()), HOW)


def test_a_size_that_takes_too_long_has_its_reason_and_the_others_their_figures() -> None:
    def fails(config: RunConfig) -> LongRun | None:
        slow = config.device == "opencl:0" and config.size["N"] == 256
        return LongRun(30.0) if slow else None

    study = lab().run(StudyMachine(launch_s, fails=fails))
    last = study.points[-1]
    assert last.first is None and last.second is not None and last.speedup is None
    assert "30 s" in last.skipped["first"]
    assert study.break_even_with is not None
    assert study.break_even_with.size is None
    assert "is as fast at N = 128; at the others it is slower" in study.break_even_with.words


def test_what_drops_out_at_a_size_is_kept_with_the_rounds_it_has() -> None:
    runs = 0

    def fails(config: RunConfig) -> WorkFailed | None:
        nonlocal runs
        if config.device != "opencl:0" or config.size["N"] != 256:
            return None
        runs += 1
        return WorkFailed("it broke") if runs == 4 else None

    study = lab().run(StudyMachine(launch_s, fails=fails))
    (one,) = study.dropped
    assert (one.label, one.reason, one.rounds) == ("N = 256 on opencl:0", "it broke", 2)
    run = study.run(one.measured)
    assert run is not None and run.config.size["N"] == 256
    assert study.points[-1].first is None


def test_nothing_on_both_is_an_error() -> None:
    with pytest.raises(WorkFailed, match="no size was measured on both devices: it broke"):
        lab().run(
            StudyMachine(
                launch_s, fails=lambda c: WorkFailed("it broke") if c.device == "cuda:0" else None
            )
        )


def test_stopped_it_has_the_sizes_that_were_done() -> None:
    one = lab()
    per_size = 3 * (1 + HOW.rounds)
    study = one.run(
        StudyMachine(launch_s), lambda s: one.cancel() if s.done == per_size + 4 else None
    )
    assert study.stopped_by == "user"
    assert study.points[0].speedup is not None and study.points[1].speedup is None
    assert study.points[2].skipped["first"] == "it was stopped before"


def test_sizes_double_around_the_default_within_the_range() -> None:
    spec = MATMUL.manifest.sizes["N"]
    assert default_sizes(spec) == (32, 64, 128, 256, 512, 1024, 2048)


def test_a_time_that_cannot_be_true_has_no_speedup_and_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def suspect(record: RunRecord, _: object) -> str | None:
        config = record.prepared.config
        return "it beats the roof" if (config.device, config.size["N"]) == ("cuda:0", 32) else None

    monkeypatch.setattr(RunRecord, "suspect", suspect)
    study = lab(sizes=[16, 32, 64]).run(StudyMachine(launch_s))
    assert study.points[1].speedup is None and study.points[1].second is not None
    assert study.points[2].speedup is not None
    assert any("N = 32 on cuda:0 cannot be true: it beats the roof" in n for n in study.notes)
