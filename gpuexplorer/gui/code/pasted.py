"""A source that was copied from elsewhere: kept as a file among the user's data, to be opened."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from gpuexplorer.calibration.store import data_folder
from gpuexplorer.core.errors import InputError
from gpuexplorer.exchange.files import atomic_file, write_error
from gpuexplorer.workloads.cuda_source import CudaSource
from gpuexplorer.workloads.includes import unix_lines
from gpuexplorer.workloads.loader import MAX_SOURCE_B, read_source
from gpuexplorer.workloads.own_kernel import SUFFIX

FOLDER = "pasted"


def keep_pasted(text: str) -> Path:
    """Return the file of a pasted source, called after its first kernel; of the same text the same.

    Raises InputError for a text without a kernel, and where it cannot be written.
    """
    data = unix_lines(text).encode(errors="replace")  # a clipboard may hold half a character
    text = data.decode()
    if len(data) > MAX_SOURCE_B:
        raise InputError("the clipboard holds more than a kernel's source", remedy="open a file")
    kernel = next(iter(CudaSource(text).kernels), None)
    if kernel is None:
        raise InputError(
            "the clipboard holds no CUDA source", remedy="copy a text with a __global__ function"
        )
    folder = data_folder() / FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(folder, error) from None
    for number in count(1):
        path = folder / (f"{kernel}{SUFFIX}" if number == 1 else f"{kernel}-{number}{SUFFIX}")
        if not path.exists():
            with atomic_file(path) as stream:
                stream.write(data)
            return path
        if read_source(path) == text:
            return path
    raise AssertionError  # there is always one more number
