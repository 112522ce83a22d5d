"""The ladder: who is held against whom, what was tuned, the roof, and what cannot be run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

import gpuexplorer
from gpuexplorer.core.accesses import (
    AccessLook,
    AccessProfile,
    Sectors,
    sectors_of,
)  # fmt: skip
from gpuexplorer.core.ceilings import Ceiling, Ceilings
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import InputError, WorkFailed
from gpuexplorer.core.studies import Speedup, ids_of, study_json, without_runs
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.history.store import Store, TunedEntry
from gpuexplorer.studies import chart_of, decode, kind_of, sheet_of, with_runs
from gpuexplorer.studies.ladder import LadderLab, LadderStudy, finding, rung_before
from gpuexplorer.studies.running import How
from gpuexplorer.workloads.workload import MANIFEST_NAME, Workload, WorkloadSource
from tests.support.accesses import made_accesses
from tests.support.lab_studies import ladder_study
from tests.support.studies import SHIPPED, StudyMachine, asked, cpu, devices, gpu, torch_cpu

MATMUL = SHIPPED["matmul"]
HOW = How(rounds=10, seconds=0.05, seed=1)
SPEEDS = {"naive": 1.0, "uncoalesced": 0.25, "tiled": 3.0, "register_tile": 12.0, "torch": 10.0}
"""Beside that of the naive kernel."""


def launch_s(config: RunConfig) -> float:
    """A tuned block of 8×8 makes the tiled kernel twice as fast."""
    tuned = 2.0 if config.block == (8, 8, 1) else 1.0
    return 1e-3 / SPEEDS.get(config.variant, 1.0) / tuned


def lab(variants: tuple[str, ...] | None = tuple(SPEEDS), **changes: Any) -> LadderLab:
    request = asked("matmul", size={"N": 256}, **changes)
    return LadderLab(request, MATMUL, devices(cpu(), torch_cpu()), HOW, variants=variants)


def measured(**changes: Any) -> LadderStudy:
    return lab(**changes).run(StudyMachine(launch_s, noise=1e-4))


def test_each_rung_stands_beside_the_one_before_and_the_fastest_library() -> None:
    study = measured()
    rungs = {rung.variant: rung for rung in study.rungs}
    assert {name: rung.before for name, rung in rungs.items()} == {
        "naive": None, "uncoalesced": "naive", "tiled": "naive", "register_tile": "tiled",
        "torch": None,
    }  # fmt: skip
    for name, rung in rungs.items():
        for found, than in ((rung.step, rung.before), (rung.beside, "torch")):
            if than is not None and name != than:
                assert found is not None and found.ci95_low and found.ci95_high
                ratio = SPEEDS[name] / SPEEDS[than]
                assert found.factor == pytest.approx(ratio, rel=1e-3)
                assert found.ci95_low <= found.factor <= found.ci95_high
    changed = rungs["tiled"].diff.splitlines()
    assert changed[:2] == ["--- naive", "+++ tiled"] and rungs["naive"].diff == ""
    assert any("__shared__" in line for line in changed if line.startswith("+"))
    (row,) = (r for r in sheet_of(study).rows if r.cells["variant"].value == "tiled")
    assert row.cells["source"].text == (
        f"+{sum(line[:1] == '+' for line in changed) - 1} "
        f"−{sum(line[:1] == '-' for line in changed) - 1}"
    )
    assert (study.library, study.unit) == ("torch", "FLOP/s")
    assert study.best is not None and study.best.variant == "register_tile"
    assert finding(study).startswith("The best rung is register_tile, 1.20× faster (")
    assert finding(study).endswith(") than torch.")
    assert study.runs and ids_of(study) == {run.id for run in study.runs}


def test_a_step_that_the_interval_leaves_open_is_said_to_be_so_everywhere() -> None:
    unclear = Speedup(factor=1 / 1.018, ci95_low=1 / 1.46, ci95_high=1 / 0.947, pairs=8)
    study = ladder_study()
    rungs = [msgspec.structs.replace(one, step=one.step and unclear, beside=one.beside and unclear)
             for one in study.rungs]  # fmt: skip
    study = msgspec.structs.replace(study, rungs=tuple(rungs))
    assert finding(study).startswith(
        "The best rung is packed, can't tell from numpy (0.947–1.46), at 80 % of the "
    )
    drawn = [words for one in chart_of(study).rows[0][0].series for words in one.labels if words]
    assert drawn == ["can't tell (0.947–1.46)"] * 2
    row = next(row for row in sheet_of(study).rows if row.title == "Packed")
    assert row.cells["step"].text == row.cells["beside"].text == "can't tell (0.947–1.46)"
    assert "can't tell from tiled (0.947–1.46)" in row.tip


def test_a_study_says_what_nobody_verified() -> None:
    study = measured()
    why = "nobody knows"
    runs = [msgspec.structs.replace(r, verification=None, not_verified=why) for r in study.runs]
    unverified = msgspec.structs.replace(study, runs=runs)
    for notes in (sheet_of(unverified).notes, chart_of(unverified).notes):
        assert "Not verified: nobody knows." in notes
    for notes in (sheet_of(study).notes, chart_of(study).notes):
        assert "erified" not in " ".join(notes)


def test_a_rung_that_was_not_measured_is_stepped_over() -> None:
    names = ["naive", "uncoalesced", "register_tile", "torch"]
    assert rung_before(MATMUL, "register_tile", names) == "naive"
    assert rung_before(MATMUL, "naive", names) is None
    assert rung_before(MATMUL, "torch", names) is None
    stream = SHIPPED["stream"]
    assert rung_before(stream, "triad", list(stream.manifest.variants)) is None


def test_only_what_computes_the_same_is_measured() -> None:
    stream = SHIPPED["stream"]
    wanted = LadderLab(asked("stream"), stream, devices(cpu(), torch_cpu()), HOW)
    skipped = {rung.variant: rung.skipped for rung in wanted.document().rungs}
    assert skipped["triad"] == "it computes something else than 'copy'"
    assert skipped["copy"] == "not measured yet" and wanted.document().unit == "B/s"


def test_what_was_tuned_on_the_hardware_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUEXPLORER_HISTORY_URL", str(tmp_path / "h.sqlite"))
    plain = measured()
    assert not (tmp_path / "h.sqlite").exists(), "looking makes no history"
    (tiled,) = (run for run in plain.runs if run.config.variant == "tiled")
    config = msgspec.structs.replace(tiled.config, block=(8, 8, 1), tunables={"TILE": 8})
    with Store.open() as store:
        store.save_tuned(
            TunedEntry(workload_sha256=MATMUL.sha256, hardware_id=cpu().hardware_id, config=config,
                       median_s=1.0, time_utc="2026-01-02T00:00:00+00:00")
        )  # fmt: skip
    study = measured()
    rungs = {rung.variant: rung for rung in study.rungs}
    assert rungs["tiled"].tuned == "2026-01-02T00:00:00+00:00"
    assert rungs["tiled"].knobs == "8×8, TILE = 8" and rungs["register_tile"].tuned is None
    assert rungs["tiled"].step is not None
    assert rungs["tiled"].step.factor == pytest.approx(6.0, rel=1e-3)
    assert "With the block that was tuned on this device: tiled." in sheet_of(study).notes
    (tmp_path / "h.sqlite").write_text("no database")
    assert any("could not be looked up" in note for note in measured().notes)


def test_the_roof_is_the_slower_of_arithmetic_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    device = cpu()
    known = Ceilings(
        device=device.id, hardware_id=device.hardware_id, name="X", driver=device.driver,
        time_utc="", ceilings=(Ceiling(kind="copy", value=1e10),
                               Ceiling(kind="fma", precision="fp32", value=1e12)),
    )  # fmt: skip
    monkeypatch.setattr("gpuexplorer.studies.ladder.CeilingStore.find", lambda *_: known)
    found = lab().document()
    assert (found.unit, found.roof) == ("B/s", 1e10), "so slow a memory limits N = 256"
    fast = msgspec.structs.replace(known, ceilings=(Ceiling(kind="copy", value=1e12),
                                                    known.ceilings[1]))  # fmt: skip
    monkeypatch.setattr("gpuexplorer.studies.ladder.CeilingStore.find", lambda *_: fast)
    found = measured()
    assert (found.roof, found.roof_words) == (1e12, "measured multiply-add rate")
    assert finding(found).endswith("of the measured multiply-add rate.")


def test_registers_and_occupancy_stand_there_where_the_device_tells_them() -> None:
    assert "registers" not in [column.name for column in sheet_of(ladder_study()).columns]
    study = ladder_study()
    rungs = (msgspec.structs.replace(study.rungs[0], registers=40, occupancy=0.5), *study.rungs[1:])
    made = sheet_of(msgspec.structs.replace(study, rungs=rungs))
    cells = made.rows[0].cells
    assert {"registers", "occupancy"} <= {column.name for column in made.columns}
    assert (cells["registers"].text, cells["occupancy"].text) == ("40", "50 %")


class Counting(StudyMachine):
    """Counts 16 sectors in 4 requests of a warp, where 8 would do, and 3 passes through banks."""

    def __init__(self, lost: int = 0, slow_s: float = 1.0) -> None:
        super().__init__(lambda config: slow_s * launch_s(config), noise=1e-4)
        self.looks: list[tuple[RunConfig, AccessLook]] = []
        self._lost = lost

    def accesses(self, config: RunConfig, workload: Workload, look: AccessLook) -> AccessProfile:
        if config.variant == "uncoalesced":
            raise WorkFailed("uncoalesced.cu:9: what is done through it cannot be counted")
        self.looks.append((config, look))
        return made_accesses(config, cpu(), look=look, lost=self._lost)


def test_each_kernel_says_what_its_warps_fetch_where_the_session_counts() -> None:
    machine = Counting()
    study = lab().run(machine)
    sectors = {rung.variant: rung.sectors for rung in study.rungs}
    of_all = Sectors(sectors=16 * 8 * 6, requests=4 * 8 * 6, least_sectors=8 * 8 * 6)
    assert sectors == {
        "naive": of_all, "uncoalesced": None, "tiled": of_all, "register_tile": of_all,
        "torch": None,
    }  # fmt: skip
    assert [config.variant for config, _ in machine.looks] == ["naive", "tiled", "register_tile"]
    assert all(look.alone and look.block == (8, 8, 0) for _, look in machine.looks[:2])
    made = sheet_of(study)
    shown = {row.cells["variant"].text: row for row in made.rows}
    assert [shown[name].cells["sectors"].text for name in SPEEDS] == ["768", "–", "768", "768", "–"]
    assert "Sectors: 768, 4 a request on average, where 2 would do." in shown["naive"].tip
    assert "Sectors" not in shown["uncoalesced"].tip
    assert "sectors" not in [column.name for column in sheet_of(measured()).columns]
    assert decode(study_json(study)) == study


def test_the_kernels_of_a_gpu_are_counted_on_the_cpu_device_with_the_same_block() -> None:
    machine = Counting()
    request = asked("matmul", size={"N": 256}, device="cuda:0")
    found = LadderLab(request, MATMUL, devices(gpu(), cpu()), HOW, variants=("naive", "tiled")).run(
        machine
    )
    assert [rung.sectors is not None for rung in found.rungs] == [True, True]
    assert {(c.device, c.threads) for c, _ in machine.looks} == {("opencl:0", None)}
    blocks = {run.config.variant: run.config.block for run in found.runs}
    assert {c.variant: c.block for c, _ in machine.looks} == blocks
    large = asked("matmul", size={"N": 8192}, device="cuda:0")
    machine.looks.clear()
    LadderLab(large, MATMUL, devices(gpu(), cpu()), HOW, variants=("naive",)).run(machine)
    LadderLab(request, MATMUL, devices(gpu()), HOW, variants=("naive",)).run(machine)
    assert machine.looks == [], "so much takes long to fill, and only the CPU device counts"


def test_nothing_is_counted_of_slow_blocks_and_where_accesses_were_lost() -> None:
    slow = Counting(slow_s=1e4)
    lab(("naive",)).run(slow)
    assert slow.looks == []
    (rung,) = lab(("naive",)).run(Counting(lost=1)).rungs
    assert rung.sectors is None


def test_a_real_ladder_counts_the_sectors_that_the_accesses_count() -> None:
    """A warp of 16 x 2 threads reads 4 sectors and writes a sector in each of 16 rows."""
    knobs: dict[str, Any] = {"size": {"N": 64}, "precision": "fp32", "device": "cpu"}
    found = gpuexplorer.ladder(
        "transpose", variants=["naive", "tiled"], rounds=2, seconds=0.01, **knobs
    )
    sectors = {rung.variant: rung.sectors for rung in found.rungs}
    warps = 64 * 64 // 32
    assert sectors == {
        "naive": Sectors(sectors=20 * warps, requests=2 * warps, least_sectors=8 * warps),
        "tiled": Sectors(sectors=8 * warps, requests=2 * warps, least_sectors=8 * warps),
    }
    one = gpuexplorer.accesses("transpose", variant="naive", place=(2, 2), **knobs)
    assert sectors_of([one]) == sectors["naive"]


def test_what_fails_has_its_reason_and_nothing_at_all_is_an_error() -> None:
    def fails(config: RunConfig) -> WorkFailed | None:
        return WorkFailed("out of luck") if config.variant == "tiled" else None

    rungs = {r.variant: r for r in lab().run(StudyMachine(launch_s, fails=fails)).rungs}
    assert rungs["tiled"].skipped == "out of luck"
    assert rungs["register_tile"].before == "naive"
    with pytest.raises(WorkFailed, match="all broken"):
        lab().run(StudyMachine(launch_s, fails=lambda _: WorkFailed("all broken")))
    with pytest.raises(InputError, match="no variant 'bogus'"):
        lab(("naive", "bogus"))
    everything = lab(None)
    assert everything.total == f"{everything.configurations} variants, measured in turns."
    skipped = {rung.variant: rung.skipped for rung in everything.document().rungs}
    assert "cublas" in str(skipped["cublas"])


def test_a_rung_that_drops_out_is_kept_with_the_rounds_it_has() -> None:
    runs = 0

    def fails(config: RunConfig) -> WorkFailed | None:
        nonlocal runs
        runs += config.variant == "tiled"
        return WorkFailed("it broke") if config.variant == "tiled" and runs == 4 else None

    study = lab().run(StudyMachine(launch_s, fails=fails))
    (one,) = study.dropped
    assert (one.label, one.reason, one.rounds) == ("tiled", "it broke", 2)
    assert study.run(one.measured) is not None


def test_a_step_leads_up_from_a_kernel_that_stands_before_it() -> None:
    text = MATMUL.source.manifest.replace('after = "naive"', 'after = "packed"')
    with pytest.raises(InputError, match="no kernel that stands before it"):
        Workload(WorkloadSource(manifest=text, files=MATMUL.source.files, origin=MANIFEST_NAME))


def test_a_document_survives_and_its_marks_are_rows() -> None:
    study = ladder_study()
    assert decode(study_json(study)) == study
    assert with_runs(without_runs(study), study.runs) == study
    (panel,) = chart_of(study).rows[0]
    assert panel.y.categories == ("numpy", "packed", "tiled", "naive"), "the climb ends at the top"
    assert {key for line in panel.series for key in line.keys} == {run.id for run in study.runs}
    words = [words for line in panel.series for words in line.labels if words]
    assert words == ["4.00× faster (3.92–4.08)", "2.50× faster (2.45–2.55)"], "one form of ratios"
    assert kind_of(study).finding(study) == (
        "The best rung is packed, 1.25× faster (1.23–1.27) than numpy, at 80 % of the measured "
        "multiply-add rate."
    )


def test_a_rung_that_cannot_be_true_is_beside_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        RunRecord, "suspect",
        lambda record, _: "above the roof" if record.prepared.config.variant == "tiled" else None,
    )  # fmt: skip
    study = measured()
    rungs = {rung.variant: rung for rung in study.rungs}
    assert rungs["tiled"].measured is not None
    assert rungs["tiled"].step is None and rungs["tiled"].beside is None
    assert rungs["register_tile"].before == "tiled" and rungs["register_tile"].step is None
    assert rungs["register_tile"].beside is not None
    assert "tiled cannot be true: above the roof." in study.notes
