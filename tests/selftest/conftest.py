"""The self-test starts as a user would start it: no OpenCL driver named in the environment."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpuexplorer.selftest.context import DRIVER_VARIABLES


@pytest.fixture(autouse=True, scope="module")
def no_driver_named() -> Iterator[None]:
    """Take away what a backend in this very process has left there in an earlier test."""
    with pytest.MonkeyPatch.context() as patch:
        for name in DRIVER_VARIABLES:
            patch.delenv(name, raising=False)
        yield
