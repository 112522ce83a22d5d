"""Calibrations are found again for the same hardware, driver and threads, and for nothing else."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gpuexplorer.calibration.store import CeilingStore
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import InputError
from tests.support.ceilings import made_ceilings

DEVICE = DeviceInfo(
    id="opencl:0", hardware_id="cpu:Example", name="Example CPU", backend="opencl", kind="cpu",
    driver="OpenCL 3.0 (1.2.3)", compute_units=8, threads=7, runs_kernels=True,
)  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> CeilingStore:
    return CeilingStore(tmp_path)


def test_what_was_saved_is_found_by_another_program(store: CeilingStore, tmp_path: Path) -> None:
    store.save(made_ceilings())
    assert CeilingStore(tmp_path).find(DEVICE) == made_ceilings()


@pytest.mark.parametrize(
    "other", [{"driver": "OpenCL 3.0 (9)"}, {"threads": 3}, {"hardware_id": "cpu:Another"}]
)
def test_another_driver_number_of_threads_or_processor_has_none(
    store: CeilingStore, other: dict[str, object]
) -> None:
    store.save(made_ceilings())
    assert store.find(msgspec.structs.replace(DEVICE, **other)) is None


def test_a_processor_of_the_same_model_in_another_machine_has_none_of_these(
    store: CeilingStore,
) -> None:
    here, there = (
        msgspec.structs.replace(DEVICE, hardware_id=f"cpu:Example #{mark}")
        for mark in ("0123abcd", "00c0ffee")
    )
    old = made_ceilings()  # version 0.1 did not say in which machine
    store.save(old)
    assert store.find(here) == store.find(there) == old
    own = made_ceilings(hardware_id=here.hardware_id, time_utc="2020-01-01T12:00:00+00:00")
    store.save(own)
    assert (store.find(here), store.find(there)) == (own, old)
    assert (store.of([here]), store.of([there])) == ([old, own], [old])


def test_a_library_on_the_same_hardware_takes_the_newest(store: CeilingStore) -> None:
    store.save(made_ceilings())
    newer = made_ceilings(driver="OpenCL 3.1", time_utc="2026-02-01T12:00:00+00:00")
    store.save(newer)
    library = msgspec.structs.replace(
        DEVICE, id="torch:cpu", driver="PyTorch 2", runs_kernels=False
    )
    assert store.find(library) == newer
    assert store.find(DEVICE) == made_ceilings()


def test_a_second_calibration_takes_the_first_ones_place(store: CeilingStore) -> None:
    first = store.save(made_ceilings())
    again = made_ceilings(time_utc="2026-03-01T12:00:00+00:00", quick=True)
    assert store.save(again) == first
    assert store.all() == [again]
    assert [p.suffix for p in store.folder.iterdir()] == [".json"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "truncated"),
        ("{", "truncated"),
        ("[1, 2]", "object"),
        ('{"schema": "gpuexplorer/ceilings/9"}', "another version"),
        ('{"schema": "gpuexplorer/ceilings/1"}', "missing"),
    ],
)
def test_a_file_of_no_use_is_said_once_and_hides_no_other(
    store: CeilingStore, text: str, why: str
) -> None:
    store.save(made_ceilings())
    (store.folder / "broken.json").write_text(text, encoding="utf-8")
    store.reload()
    assert store.find(DEVICE) == made_ceilings()
    (said,) = store.take_problems()
    assert "broken.json" in said and "calibrate" in said
    assert why in said
    assert store.take_problems() == ()


def test_a_ceiling_of_nothing_is_no_ceiling(store: CeilingStore) -> None:
    ceilings = made_ceilings()
    nothing = msgspec.structs.replace(ceilings.ceilings[0], value=0.0)
    store.save(msgspec.structs.replace(ceilings, ceilings=(nothing,)))
    assert store.find(DEVICE) is None
    assert len(store.take_problems()) == 1


def test_no_folder_is_no_problem(store: CeilingStore) -> None:
    assert store.all() == []
    assert store.take_problems() == ()


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "ceilings").write_text("a file", encoding="utf-8")
    with pytest.raises(InputError, match="cannot write"):
        CeilingStore(tmp_path).save(made_ceilings())
