"""What the checks of one process share, each made when the first of them asks for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuexplorer.backends.cuda import CudaBackend, build
from gpuexplorer.backends.cuda import driver as cu
from gpuexplorer.backends.cuda.arguments import PackedArguments
from gpuexplorer.backends.cuda.describe import architecture
from gpuexplorer.backends.cuda.session import Api, CudaSession, LoadedKernel
from gpuexplorer.compile.nvrtc import compile_kernels, target_for
from gpuexplorer.core.device import DeviceInfo, DeviceList, Unavailable
from gpuexplorer.workloads import loader
from gpuexplorer.workloads.workload import Workload


class Here:
    """The first GPU of this machine, and what is open on it."""

    def __init__(self, make_api: Callable[[], Api] = Api.of_cupy) -> None:
        self._make_api = make_api
        self._addresses: list[int] = []

    @cached_property
    def driver(self) -> cu.Driver:
        """The driver library, initialised."""
        library = cu.Driver.load()
        if library is None:
            raise RuntimeError("no NVIDIA driver is installed")
        return cu.Driver(library)

    @cached_property
    def facts(self) -> cu.DeviceFacts:
        """What the driver says of the device."""
        return self.driver.devices()[0]

    @cached_property
    def backend(self) -> CudaBackend:
        """Our backend."""
        return CudaBackend(threads=1)

    @cached_property
    def device(self) -> DeviceInfo:
        """The device as the backend describes it."""
        found = self.backend.discover()
        if isinstance(found, Unavailable):
            raise RuntimeError(f"{found.reason}; {found.remedy}")
        return found[0]

    @property
    def devices(self) -> DeviceList:
        """The device as a list of all devices."""
        return DeviceList(devices=(self.device,))

    @cached_property
    def workloads(self) -> dict[str, Workload]:
        """The shipped workloads."""
        return loader.load()

    @cached_property
    def arch(self) -> str:
        """The compiler's name of the device's architecture."""
        return architecture(self.facts.capability)

    @cached_property
    def session(self) -> CudaSession:
        """The device, opened, with its gate."""
        return CudaSession(self.facts, self._make_api(), build.gate_compiler(self.arch))

    def kernel(self, name: str, source: str, entry: str, precision: str = "fp32") -> LoadedKernel:
        """Compile a source for this device and load one of its kernels."""
        built = compile_kernels(
            name, {name: source}, target_for(self.arch), precision=precision, entries=(entry,)
        )
        with self.session.explained(f"loading '{entry}'"):
            return self.session.load(built.code, built.kernels[entry].symbol)

    def room(self, nbytes: int) -> int:
        """Return the address of fresh memory on the device."""
        with self.session.explained("allocating memory"):
            self._addresses.append(int(self.session.api.runtime.malloc(nbytes)))
        return self._addresses[-1]

    def upload(self, data: npt.NDArray[Any]) -> int:
        """Copy an array to the device, and return its address there."""
        address = self.room(data.nbytes)
        self.copy_in(address, data)
        return address

    def copy_in(self, address: int, data: npt.NDArray[Any]) -> None:
        """Copy an array to an address on the device, and wait."""
        self._copy(address, data.ctypes.data, data.nbytes, "memcpyHostToDevice")

    def download(self, address: int, into: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Copy from the device into an array, and return it."""
        self._copy(into.ctypes.data, address, into.nbytes, "memcpyDeviceToHost")
        return into

    def _copy(self, to: int, source: int, nbytes: int, kind: str) -> None:
        runtime = self.session.api.runtime
        with self.session.explained("copying"):
            runtime.memcpyAsync(to, source, nbytes, getattr(runtime, kind), self.session.stream)
            self.session.wait()

    def launch(
        self, kernel: LoadedKernel, grid: Sequence[int], block: Sequence[int],
        arguments: Sequence[np.generic],
    ) -> None:  # fmt: skip
        """Queue a kernel; addresses are given as ``numpy.uint64``."""
        packed = PackedArguments(list(arguments), {})
        with self.session.explained("launching a kernel"):
            self.session.api.driver.launchKernel(
                kernel.function, *grid, *block, 0, self.session.stream, packed.address, 0
            )

    def close(self) -> None:
        """Give back what was opened; what is asked for afterwards is opened anew."""
        session, backend = self.__dict__.pop("session", None), self.__dict__.pop("backend", None)
        addresses, self._addresses = self._addresses, []
        if isinstance(session, CudaSession):
            if not session.lost:
                for address in addresses:
                    session.api.runtime.free(address)
            session.close()
        if isinstance(backend, CudaBackend):
            backend.close()
