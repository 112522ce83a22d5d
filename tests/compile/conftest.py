"""Compiled things of these tests go to a folder of their own, and NVRTC may be another's.

``GPUEXPLORER_TEST_NVRTC`` names a folder with the wheels of another NVRTC and its headers, which
set-up has installed there (``pip install --target``): those of an engine with PyTorch for CUDA 12.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuexplorer.compile.cache import ENVIRONMENT_VARIABLE

OTHER_NVRTC = os.environ.get("GPUEXPLORER_TEST_NVRTC")

if OTHER_NVRTC:
    (library,) = Path(OTHER_NVRTC, "nvidia", "cuda_nvrtc", "lib").glob("libnvrtc.so.*")
    ctypes.CDLL(str(library))  # cuda-bindings take the one that is loaded
    sys.path.insert(0, OTHER_NVRTC)  # where pip's records of its headers are found first


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Set the cache folder for the session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path_factory.mktemp("cache")))
        yield
