"""Compiled things of these tests go to a folder of their own, not to the user's cache."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpuexplorer.compile.cache import ENVIRONMENT_VARIABLE


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Set the cache folder for the session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path_factory.mktemp("cache")))
        yield
