"""CUPTI is asked for only where it is installed, and called as its Python package has it."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from gpuexplorer.backends.cuda import activity
from tests.backends.fake_cuda import FakeCuda
from tests.backends.fake_cupti import FakeCupti


def test_without_the_package_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert activity.open_records.__wrapped__() == ""


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(activity.SWITCH, "0")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert activity.open_records.__wrapped__() == ""


def test_a_package_that_cannot_be_loaded_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setitem(sys.modules, "cupti", None)
    said = activity.open_records.__wrapped__()
    assert isinstance(said, str) and "CUPTI cannot be loaded" in said


def test_a_package_that_finds_no_driver_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    class NotSupportedError(RuntimeError):
        """What cupti-python raises where there is no driver."""

    def register(requested: object, completed: object) -> None:
        raise NotSupportedError("CUDA driver is not found")

    fake = FakeCupti(FakeCuda())
    monkeypatch.setattr(fake, "activity_register_callbacks", register)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setitem(sys.modules, "cupti", SimpleNamespace(cupti=fake))
    said = activity.open_records.__wrapped__()
    assert said == "CUPTI does not record: CUDA driver is not found"
    assert not fake.enabled


@pytest.mark.parametrize("blank", [0, 1])
def test_a_kernel_without_times_makes_a_batch_incomplete(blank: int) -> None:
    """Both are 0 where CUPTI could not collect them, and the launch's other kernels look whole."""
    fake = FakeCuda()
    cupti = FakeCupti(fake, share=1.0)
    records = activity.KernelRecords(cupti)
    cupti.blank = blank
    with records.collected(2):
        fake.kernel_spans += [("one", 1e-5, 3e-5), ("two", 4e-5, 5e-5)]
        fake.kernel_spans += [("one", 6e-5, 8e-5), ("two", 9e-5, 10e-5)]
    assert records.complete == (blank == 0)
    if records.complete:
        assert records.seconds == pytest.approx([3e-5, 3e-5])


def test_a_recorder_that_is_opened_after_another_profiler_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cupti = FakeCupti(FakeCuda())
    cupti.ticks_per_ns = 2.4
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setitem(sys.modules, "cupti", SimpleNamespace(cupti=cupti))
    said = activity.open_records.__wrapped__()
    assert isinstance(said, str) and "clock of CUPTI's records" in said
    assert not cupti.enabled
