"""The driver library's stand-in against the declarations of the real one."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import cuda.bindings
from cuda.bindings import driver as bound

from gpuexplorer.backends.cuda import driver as cu
from tests.backends.fake_driver import FakeDriver

NAMES = {
    "MAX_THREADS_PER_BLOCK": cu.MAX_THREADS_PER_BLOCK,
    "MAX_BLOCK_DIM_X": cu.MAX_BLOCK_DIM[0],
    "MAX_BLOCK_DIM_Y": cu.MAX_BLOCK_DIM[1],
    "MAX_BLOCK_DIM_Z": cu.MAX_BLOCK_DIM[2],
    "MAX_GRID_DIM_X": cu.MAX_GRID_DIM[0],
    "MAX_GRID_DIM_Y": cu.MAX_GRID_DIM[1],
    "MAX_GRID_DIM_Z": cu.MAX_GRID_DIM[2],
    "MAX_SHARED_MEMORY_PER_BLOCK": cu.MAX_SHARED_PER_BLOCK,
    "CLOCK_RATE": cu.CLOCK_kHz,
    "MULTIPROCESSOR_COUNT": cu.MULTIPROCESSORS,
    "KERNEL_EXEC_TIMEOUT": cu.KERNEL_TIME_LIMIT,
    "CAN_MAP_HOST_MEMORY": cu.CAN_MAP_HOST_MEMORY,
    "MEMORY_CLOCK_RATE": cu.MEMORY_CLOCK_kHz,
    "GLOBAL_MEMORY_BUS_WIDTH": cu.MEMORY_BUS_WIDTH_bit,
    "L2_CACHE_SIZE": cu.L2_CACHE_B,
    "MAX_THREADS_PER_MULTIPROCESSOR": cu.MAX_THREADS_PER_MULTIPROCESSOR,
    "COMPUTE_CAPABILITY_MAJOR": cu.CAPABILITY[0],
    "COMPUTE_CAPABILITY_MINOR": cu.CAPABILITY[1],
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": cu.MAX_SHARED_PER_MULTIPROCESSOR,
    "MAX_REGISTERS_PER_MULTIPROCESSOR": cu.MAX_REGISTERS_PER_MULTIPROCESSOR,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": cu.MAX_SHARED_PER_BLOCK_OPTIN,
    "MAX_BLOCKS_PER_MULTIPROCESSOR": cu.MAX_BLOCKS_PER_MULTIPROCESSOR,
    "RESERVED_SHARED_MEMORY_PER_BLOCK": cu.RESERVED_SHARED_PER_BLOCK,
}


def declared() -> dict[str, int]:
    """Return how many arguments each of the library's functions takes."""
    folder = Path(cuda.bindings.__file__).parent
    text = "".join((folder / name).read_text() for name in ("cydriver.pxd", "_internal/driver.pxd"))
    found = re.findall(r"^cdef CUresult _?(cu\w+)\((.*?)\)", text, re.MULTILINE)
    return {name: len(arguments.split(",")) if arguments else 0 for name, arguments in found}


def test_the_stand_in_has_the_functions_and_arguments_of_the_library() -> None:
    real = declared()
    assert len(real) > 400
    own = {n: f for n, f in vars(FakeDriver).items() if n.startswith("cu")}
    assert {n: len(inspect.signature(f).parameters) - 1 for n, f in own.items()} == {
        name: real[name] for name in own
    }


def test_the_numbers_are_those_of_the_library() -> None:
    real = {
        name: getattr(bound.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}") for name in NAMES
    }
    assert {name: int(number) for name, number in real.items()} == NAMES
    assert {*NAMES.values()} == {*cu._ATTRIBUTES}
    assert int(bound.CUresult.CUDA_SUCCESS) == cu.SUCCESS
    assert int(bound.CUresult.CUDA_ERROR_NO_DEVICE) == cu.NO_DEVICE
    assert int(bound.CUresult.CUDA_ERROR_NOT_FOUND) == cu.NOT_FOUND
