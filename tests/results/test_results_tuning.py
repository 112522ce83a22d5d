"""A tuning as a table: the finalists of one that ended, the leaders of one that goes on."""

from __future__ import annotations

import msgspec

from gpuexplorer.charts.tuning import tuning_chart
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.sheet import Medium, Sheet
from gpuexplorer.core.tuning import Budget, Evaluation, Finalist, SpaceSummary, Tuning
from gpuexplorer.results.tuning import LEADERS, leaders_sheet, sheet_of
from tests.support.results import made_config


def config(width: int) -> RunConfig:
    return made_config(block=(width, 1, 1))


def tried(number: int, width: int, median_s: float | None) -> Evaluation:
    return Evaluation(
        number=number, config=config(width), outcome="measured" if median_s else "failed",
        median_s=median_s, samples=5, time_s=float(number), reason=None if median_s else "no room",
    )  # fmt: skip


EVALUATIONS = (
    tried(0, 32, 4e-3), tried(1, 64, 2e-3), tried(2, 128, None), tried(3, 256, 1e-3),
    tried(4, 64, 3e-3),
)  # fmt: skip


def finalist(width: int, ratio: float, *, tied: bool) -> Finalist:
    return Finalist(
        config=config(width), median_s=ratio * 1e-3, samples=60, ratio=ratio, pairs=12, tied=tied,
        ci95_low=0.99 * ratio if ratio > 1 else None, ci95_high=1.01 * ratio if ratio > 1 else None,
        verdict=None if ratio == 1 else "same" if tied else "slower",
    )  # fmt: skip


TUNING = Tuning(
    id="t", time_utc="2026-01-01T00:00:00+00:00", workload="matmul", variant="naive",
    size={"N": 64}, precision="fp32", source_sha256="", device=None, threads=None,
    sampler="random", racing=True, seed=0, samples=20, budget=Budget(evaluations=5),
    space=SpaceSummary(axes={}, configurations=8, refused=0), evaluations=EVALUATIONS,
    finalists=(finalist(256, 1.0, tied=True), finalist(64, 1.001, tied=True),
               finalist(512, 4.0, tied=False)),
    best=config(256), chosen=config(64), why="it is the simplest", start=config(512),
    stopped_by="evaluations", search_s=1.0, final_s=1.0,
)  # fmt: skip


def column(sheet: Sheet, name: str) -> list[str]:
    return [row.cells[name].text for row in sheet.rows_on(Medium.WINDOW)]


def test_finalists_stand_by_the_best_and_the_chosen_one_stands_out() -> None:
    sheet = sheet_of(TUNING)
    said = ["", "as fast (0.991–1.011)", "4.00× slower (3.96–4.04)"]
    assert column(sheet, "ratio") == said
    assert column(sheet, "standing") == ["the fastest", "same, chosen", "slower, without tuning"]
    assert [row.role for row in sheet.rows] == ["", "best", ""]
    assert [row.cells["standing"].role for row in sheet.rows] == ["best", "same", "slower"]
    assert sheet.notes[0].startswith("Use ") and "the simplest" in sheet.notes[0]


def test_what_one_gets_without_tuning_is_held_against_the_chosen_one_in_the_same_looks() -> None:
    tuning = msgspec.structs.replace(TUNING, evaluations=(*EVALUATIONS, tried(6, 512, 12e-3)))
    notes = sheet_of(tuning).notes
    assert "which was 4.00× slower in the search." in notes[1], "the chosen one took 3 ms there"
    assert ", 1 failed;" in notes[-1]
    none = sheet_of(msgspec.structs.replace(TUNING, evaluations=())).notes
    assert "which was not measured" in none[1] and "failed" not in none[-1]


def test_leaders_are_the_latest_word_on_each_configuration() -> None:
    sheet = leaders_sheet(EVALUATIONS)
    assert column(sheet, "ratio") == ["", "3.00× slower", "4.00× slower"]
    assert set(column(sheet, "standing")) == {"not decided in turns"}
    many = [tried(n, n + 1, 1e-3 * (n + 1)) for n in range(3 * LEADERS)]
    assert len(leaders_sheet(many).rows) == LEADERS
    assert leaders_sheet(()).rows == ()


def test_a_tuning_that_was_broken_off_shows_its_leaders_and_names_nothing() -> None:
    broken = msgspec.structs.replace(
        TUNING, finalists=(), best=None, chosen=None, why=None, stopped_by="user", final_s=0.0
    )
    sheet = sheet_of(broken)
    assert column(sheet, "standing") == ["not decided in turns"] * 3
    nothing, tried_words = sheet.notes
    assert nothing == "Nothing is named."
    assert tried_words.endswith("configurations in 1.0 s: 3 measured, 0 given up early, 1 failed.")


def test_the_chart_counts_measurements_not_configurations() -> None:
    again = (*EVALUATIONS, tried(5, 64, 2.5e-3))
    ((panel,),) = tuning_chart(again).rows
    numbers = {x for one in panel.series for x in one.x}
    assert max(numbers) > len({e.config.key for e in again})
    assert panel.x.label == "measurements, in order"


def test_each_evaluation_of_a_configuration_leads_to_its_row() -> None:
    sheet = leaders_sheet(EVALUATIONS)
    drawn = {
        key
        for line in tuning_chart(EVALUATIONS).rows
        for panel in line
        for one in panel.series
        for key in one.keys
    }
    for number in {"1", "4"} & drawn:
        row = sheet.row_of(number)
        assert row is not None and row.cells["time"].value == 3e-3
    assert {"1", "4"} <= drawn
    without = sheet_of(msgspec.structs.replace(TUNING, evaluations=()))
    assert without.rows[2].key == config(512).key


def test_a_shorter_median_than_that_of_the_fastest_is_told_with_the_ratio_that_decided() -> None:
    assert not any("shorter median" in note for note in sheet_of(TUNING).notes)
    best, other, slow = TUNING.finalists
    luckier = msgspec.structs.replace(other, median_s=0.96 * best.median_s, ratio=1.03,
                                      ci95_low=1.01, ci95_high=1.05, verdict="slower")  # fmt: skip
    found = sheet_of(msgspec.structs.replace(TUNING, finalists=(best, luckier, slow))).notes
    (note,) = (note for note in found if "shorter median" in note)
    assert note.startswith("64×1 has a shorter median, 960 µs")
    assert "1.030× slower (1.010–1.050), which decides" in note


def test_what_tuning_gained_is_said_as_far_as_the_interval_bears_it_out() -> None:
    for ratio, low, high, words in (
        (1.3, 1.2, 1.4, "which is 1.30× slower (1.20–1.40)."),
        (1.004, 1.001, 1.008, "That cannot be told from"),
        (1.002, 1.001, 1.004, "That cannot be told from"),
        (0.99, 0.97, 1.01, "That cannot be told from"),
    ):
        tuning = msgspec.structs.replace(
            TUNING, start_ratio=ratio, start_ci95_low=low, start_ci95_high=high
        )
        assert words in " ".join(sheet_of(tuning).notes)
