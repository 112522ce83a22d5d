"""What a kernel on an OpenCL device takes for each parameter: the compiled code says it."""

from __future__ import annotations

import numpy as np

from gpuexplorer.backends.opencl.device import OpenDevice
from gpuexplorer.backends.opencl.program import BuiltProgram
from gpuexplorer.compile.arguments import declared_dtype, unknown_types
from gpuexplorer.compile.parameters import CompiledParameter, Kind
from gpuexplorer.compile.type_probes import kinds_stored

_POINTER_B = 8
_LONG = {
    "long": np.int64,
    "long int": np.int64,
    "unsigned long": np.uint64,
    "unsigned long int": np.uint64,
    "ulong": np.uint64,
}
_KINDS: dict[str, Kind] = {"i": "signed", "u": "unsigned", "f": "float"}


def compiled_parameters(
    device: OpenDevice, built: BuiltProgram, precision: str
) -> list[CompiledParameter]:
    """Return a kernel's parameters; those whose type the text does not tell are asked for.

    The probe runs once a program. Plain OpenCL C has none: there the text has to tell.
    """
    kernel, signature = built.kernel, built.kernel.signature
    unknown = unknown_types(signature, precision)
    told: dict[str, CompiledParameter] = {}
    if unknown and kernel.probe is not None:
        if not built.probed:
            built.probed.extend(_run(device, built, kernel.probe, 2 * len(unknown)))
        stored = kinds_stored(built.probed)
        told = {
            p.name: CompiledParameter(size_B=size_B, kind=kind)
            for p, (kind, size_B) in zip(unknown, stored, strict=True)
        }
    elif unknown:
        told = {p.name: _by_text(kernel.stands_for.get(p.name, p.type)) for p in unknown}
    found = []
    for parameter in signature.parameters:
        dtype = declared_dtype(parameter.type, precision)
        if parameter.is_pointer:
            found.append(CompiledParameter(size_B=_POINTER_B, kind="pointer"))
        elif dtype is not None:
            found.append(CompiledParameter(size_B=dtype.itemsize))
        else:
            found.append(told[parameter.name])
    return found


def _by_text(kind: str) -> CompiledParameter:
    """Return what a type's text says, for plain OpenCL C, where ``long`` has 8 bytes anywhere."""
    dtype = np.dtype(_LONG[kind]) if kind in _LONG else declared_dtype(kind, "fp32")
    if dtype is None or kind in ("real", "accum"):
        return CompiledParameter(size_B=0, kind="other")
    return CompiledParameter(
        size_B=dtype.itemsize, kind="bool" if kind == "bool" else _KINDS[dtype.kind]
    )


def _run(device: OpenDevice, built: BuiltProgram, name: str, count: int) -> list[int]:
    cl = device.cl
    stored = np.zeros(count, np.int32)
    buffer = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, stored.nbytes)
    kernel = cl.Kernel(built.program, name)
    kernel.set_arg(0, buffer)
    cl.enqueue_nd_range_kernel(device.queue, kernel, (1,), (1,))
    cl.enqueue_copy(device.queue, stored, buffer)
    buffer.release()
    return [int(x) for x in stored]
