"""DRAM bytes of one launch from counted rates, and their ratio to the least, on known runs."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuexplorer.analysis.measured_traffic import dram_of_one_launch, measured, ratio_words
from gpuexplorer.analysis.timeline import Timeline
from gpuexplorer.core.result import Traffic
from gpuexplorer.core.sample import Reading

BEGIN_NS = 10_000_000_000
BYTES = 2.5e8


def run(seconds: float = 4.0, launch_s: float = 1e-3, busy: float = 0.9) -> tuple[Timeline, float]:
    """Launches in batches of ten; return also how many there are a second."""
    each_ns = int(10 * launch_s / busy * 1e9)
    batches = int(seconds * 1e9 / each_ns) + 2
    starts = BEGIN_NS + each_ns * np.arange(batches, dtype=np.int64)
    counts = np.full(batches, 10, dtype=np.int64)
    return Timeline(starts, counts, np.full(batches, 10 * launch_s)), 10 / (each_ns * 1e-9)


def counted(rate: float, timeline: Timeline, shares: tuple[float, ...] = ()) -> list[Reading]:
    """Readings from before the run until after it; outside of it something else moves bytes.

    ``shares`` are those of reads and writes, where both are told apart.
    """
    made = []
    read, write = (share * rate for share in shares) if shares else (None, None)
    for step in range(-5, int((timeline.end_ns - BEGIN_NS) / 0.105e9) + 5):
        t_ns = BEGIN_NS + int(step * 0.105e9)
        inside = step >= 1 and t_ns <= timeline.end_ns
        made.append(
            Reading(
                t_ns=t_ns,
                source="nvml",
                interval_s=0.105,
                dram_B_per_s=rate if inside else 7e12,
                dram_read_B_per_s=read,
                dram_write_B_per_s=write,
                sources={"dram_B_per_s": "gpm"},
            )
        )
    return made


def test_bytes_over_the_run_are_divided_by_its_launches() -> None:
    timeline, per_s = run()
    found = dram_of_one_launch(counted(BYTES * per_s, timeline), timeline)
    assert isinstance(found, Traffic)
    assert found.kind == "dram"
    assert found.source == "gpm"
    assert found.read_B is None
    assert found.write_B is None
    assert found.combined_B == pytest.approx(BYTES, rel=0.01)
    assert found.total_B == found.combined_B


@settings(deadline=None)
@given(launch_s=st.floats(1e-5, 0.1), busy=st.floats(0.55, 1.0))
def test_rests_between_launches_do_not_matter(launch_s: float, busy: float) -> None:
    timeline, per_s = run(4.0, launch_s, busy)
    found = dram_of_one_launch(counted(BYTES * per_s, timeline), timeline)
    assert isinstance(found, Traffic)
    assert found.total_B == pytest.approx(BYTES, rel=0.02)


def test_reads_and_writes_are_kept_apart_where_they_were_counted_apart() -> None:
    timeline, per_s = run()
    made = counted(3 * BYTES * per_s, timeline, (2 / 3, 1 / 3))
    found = dram_of_one_launch(made, timeline)
    assert isinstance(found, Traffic)
    assert found.read_B == pytest.approx(2 * BYTES, rel=0.01)
    assert found.write_B == pytest.approx(BYTES, rel=0.01)
    assert found.combined_B is None


def test_of_two_sources_that_take_turns_one_is_gone_by() -> None:
    timeline, per_s = run()
    gpm = counted(7 * BYTES * per_s, timeline)
    cupti = [
        msgspec.structs.replace(r, sources={"dram_B_per_s": "cupti"})
        for r in counted(2 * BYTES * per_s, timeline, (0.5, 0.5))
    ]
    turns = [
        other if step % 3 else r for step, (r, other) in enumerate(zip(cupti, gpm, strict=True))
    ]
    found = dram_of_one_launch(turns, timeline)
    assert isinstance(found, Traffic)
    assert found.source == "cupti"
    assert found.read_B == pytest.approx(BYTES, rel=0.02)


def test_otherwise_the_reason_is_said() -> None:
    timeline, _ = run()
    short, _ = run(0.5)
    idle, _ = run(busy=0.1)
    closed = {"dram_B_per_s": "GPM: not permitted"}
    bare = [Reading(t_ns=1, source="nvml")]
    reasons = {
        "not permitted": dram_of_one_launch(bare, timeline, missing=closed),
        "no counter of DRAM": dram_of_one_launch([Reading(t_ns=1, source="cpu")], timeline),
        "was not read": dram_of_one_launch([], timeline),
        "needs 1 s, counted 0.": dram_of_one_launch(counted(1e12, short), short),
        "launches filled only 10 %": dram_of_one_launch(counted(1e12, idle), idle),
        "100 MB are moved between launches": dram_of_one_launch(
            counted(1e12, timeline), timeline, untimed_B=1e8, compulsory_B=1e9
        ),
    }
    for words, reason in reasons.items():
        assert isinstance(reason, str), words
        assert words in reason
    little = dram_of_one_launch(counted(1e12, timeline), timeline, untimed_B=4.0, compulsory_B=1e9)
    assert isinstance(little, Traffic)


def traffic(kind: str, read_B: float | None, write_B: float | None, **more: object) -> Traffic:
    return Traffic(kind=kind, read_B=read_B, write_B=write_B, **more)  # type: ignore[arg-type]


LEAST = traffic("compulsory", 800.0, 400.0, source="model")


@pytest.mark.parametrize(
    ("counted_", "words"),
    [
        (traffic("dram", 7200.0, 400.0, source="ncu"), "the kernel reads each byte 9 times"),
        (traffic("dram", 810.0, 400.0, source="cupti"), "the kernel reads each byte once"),
        (traffic("dram", 80.0, 0.0, source="ncu"), "the kernel reads 10 % of the least from DRAM"),
        (
            traffic("dram", None, None, combined_B=1800.0, source="gpm"),
            "the kernel moves each byte 1.5 times",
        ),
    ],
)
def test_the_ratio_in_words(counted_: Traffic, words: str) -> None:
    said = ratio_words([LEAST, traffic("requested", 9e9, 1.0, source="model"), counted_])
    assert said is not None
    assert said.startswith(words)


def test_no_ratio_without_both() -> None:
    assert ratio_words([LEAST]) is None
    assert ratio_words([traffic("dram", 1.0, 1.0, source="ncu")]) is None


def test_ncus_exact_bytes_stand_before_a_counters() -> None:
    gpm = traffic("dram", None, None, combined_B=1.0, source="gpm")
    ncu = traffic("dram", 1.0, 1.0, source="ncu")
    assert measured([LEAST, gpm, ncu]) is ncu
    assert measured([gpm, LEAST]) is gpm
    assert measured([LEAST]) is None
