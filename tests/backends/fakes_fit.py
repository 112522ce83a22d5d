"""Stand-ins of CuPy and CUPTI against what a version of the package offers."""

from __future__ import annotations

import inspect
from typing import Any

from gpuexplorer.backends.cuda import activity
from tests.backends.fake_cuda import FakeCuda
from tests.backends.fake_cupti import CONCURRENT_KERNEL, FakeCupti
from tests.signatures import Signatures


def fits(one: Signatures, name: str, stand_in: Any) -> None:
    """Fail unless a stand-in has the arguments or the value of the real thing."""
    assert name in one, f"{one.package} {one.version} has no {name}, or WANTED lacks it"
    if callable(stand_in):
        one.check_function(name, stand_in)
    else:
        assert one.entries[name]["value"] == stand_in, name


def check_fake_cuda(one: Signatures) -> None:
    """Fail unless this CuPy has every function and constant of the stand-in."""
    api = FakeCuda().api
    for part in ("runtime", "driver"):
        for name, value in vars(getattr(api, part)).items():
            fits(one, f"{part}.{name}", value)
    one.check_call("cuda.Stream", 0, ("non_blocking",))


def check_fake_cupti(one: Signatures) -> None:
    """Fail unless this cupti-python has every function and number of the stand-in."""
    fake = FakeCupti(FakeCuda())
    for name, value in inspect.getmembers(fake, inspect.ismethod):
        if name.startswith(("activity_", "get_")):
            fits(one, f"cupti.{name}", value)
    fits(one, "cupti.ActivityKind.CONCURRENT_KERNEL", CONCURRENT_KERNEL)
    codes = "cupti.Result.ERROR_"
    fits(one, f"{codes}MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED", activity.MULTIPLE_SUBSCRIBERS)
    fits(one, f"{codes}INSUFFICIENT_PRIVILEGES", activity.NOT_PERMITTED)
    fits(one, "cupti.cuptiError", fake.cuptiError)
    records = {name.rpartition(".")[0] for name in one.entries if ".ActivityKernel" in name}
    assert records
    for record in records:
        assert all(f"{record}.{field}" in one for field in ("kind", "name", "start", "end"))
