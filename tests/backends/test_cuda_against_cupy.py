"""CuPy offers what the backend calls, and the fake of the other tests is called the same way."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from gpuexplorer.backends.cuda.session import Api
from tests.backends.fake_cuda import FakeCuda

pytest.importorskip("cupy", reason="CuPy is part of the cuda12 and cuda13 extras")


def real_and_fake() -> list[tuple[str, Any, Any]]:
    real, fake = Api.of_cupy(), FakeCuda().api
    return [
        (f"{part}.{name}", getattr(getattr(real, part), name, None), value)
        for part in ("runtime", "driver")
        for name, value in vars(getattr(fake, part)).items()
    ]


def test_every_function_takes_the_arguments_it_is_called_with() -> None:
    for name, real, fake in real_and_fake():
        assert real is not None, name
        if not callable(fake):
            continue
        first_line = (real.__doc__ or "").splitlines()[0] if real.__doc__ else ""
        match = re.match(r"\w+\((.*?)\)", first_line)
        if match is None:
            continue  # without a signature in its documentation
        taken = [a for a in match[1].split(",") if a.strip()]
        assert len(taken) == len(inspect.signature(fake).parameters), name


def test_constants_have_the_values_the_fake_gives_them() -> None:
    for name, real, fake in real_and_fake():
        if isinstance(fake, int):
            assert int(real) == fake, name


def test_the_flags_device_address_can_be_asked_for() -> None:
    runtime = Api.of_cupy().runtime
    assert hasattr(runtime.PointerAttributes, "devicePointer")
