"""CUPTI is asked for only where it is installed, and called as its Python package has it."""

from __future__ import annotations

import inspect
import re

import pytest

from gpuexplorer.backends.cuda import activity
from tests.backends.fake_cuda import FakeCuda
from tests.backends.fake_cupti import CONCURRENT_KERNEL, FakeCupti


def test_without_the_package_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert activity.open_records.__wrapped__() == ""


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(activity.SWITCH, "0")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert activity.open_records.__wrapped__() == ""


def test_a_package_that_cannot_be_loaded_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setitem(__import__("sys").modules, "cupti", None)
    said = activity.open_records.__wrapped__()
    assert isinstance(said, str) and "CUPTI cannot be loaded" in said


def test_the_fake_is_called_as_the_package_is() -> None:
    cupti = pytest.importorskip("cupti.cupti", reason="CUPTI is part of the cupti extra")
    fake = FakeCupti(FakeCuda())
    for name in ("enable", "disable", "flush_all", "register_callbacks"):
        called, real = getattr(fake, f"activity_{name}"), getattr(cupti, f"activity_{name}")
        taken = re.match(r"\w+\((.*?)\)", real.__doc__)
        assert taken is not None
        assert len(taken[1].split(",")) == len(inspect.signature(called).parameters), name
    assert int(cupti.ActivityKind.CONCURRENT_KERNEL) == CONCURRENT_KERNEL
    assert int(cupti.Result.ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) == (
        activity.MULTIPLE_SUBSCRIBERS
    )
    assert int(cupti.Result.ERROR_INSUFFICIENT_PRIVILEGES) == activity.NOT_PERMITTED
    assert cupti.cuptiError(activity.MULTIPLE_SUBSCRIBERS).status == activity.MULTIPLE_SUBSCRIBERS
