"""The packages that are installed: what stand-ins and their files of signatures say is so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.backends.fakes_fit import check_fake_cuda, check_fake_cupti
from tests.signatures import Signatures, all_of
from tests.signatures.collect import collect, version


@pytest.mark.parametrize(
    ("package", "check"), [("cupy", check_fake_cuda), ("cupti", check_fake_cupti)]
)
def test_what_is_installed_has_what_is_used(
    package: str, check: Callable[[Signatures], None]
) -> None:
    installed = version(package)
    if installed is None:
        pytest.skip(f"{package} is part of the extras for CUDA")
    here = Signatures(package, installed, collect(package))
    check(here)
    for one in all_of(package):
        if one.version == installed:
            assert here.entries == one.entries
