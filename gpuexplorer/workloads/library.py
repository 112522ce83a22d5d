"""The library calls that a manifest may name, and what each computes.

A backend implements the calls of this table that its ``DeviceInfo.libraries`` lists. Arguments are
inputs first, the output last: ``args = ["A", "B", "C"]``. Arrays are row-major and are all there
before the call; the output is written in place, so that no allocation is timed. Sums of halves are
kept in float32, as ``accum`` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from gpuexplorer.core.errors import InputError
from gpuexplorer.workloads.strict import suggestion

Operation = Literal["matmul", "add", "copy", "transpose", "sum", "cumsum", "spmv"]
Kind = Literal["array", "scalar"]


class Signature(msgspec.Struct, frozen=True):
    """The arguments of an operation; with ``factor`` a scalar may stand before the output."""

    computes: str
    inputs: int
    factor: bool = False

    @property
    def forms(self) -> tuple[tuple[Kind, ...], ...]:
        """Every allowed sequence of arguments."""
        inputs: list[Kind] = ["array"] * self.inputs
        plain: tuple[Kind, ...] = (*inputs, "array")
        with_factor: tuple[Kind, ...] = (*inputs, "scalar", "array")
        return (plain, with_factor) if self.factor else (plain,)


SIGNATURES: dict[Operation, Signature] = {
    "matmul": Signature("out = a @ b, for two matrices", 2),
    "add": Signature("out = a + b", 2),
    "copy": Signature("out = a", 1),
    "transpose": Signature("out = a with its two axes exchanged, in memory", 1),
    "sum": Signature("out[0] = the sum of all elements of a", 1),
    "cumsum": Signature("out[i] = the sum of a[0] to a[i], of a as one row", 1),
    "spmv": Signature("out = the matrix of compressed rows (starts, columns, values) @ x", 4),
}


MISSING = {("cupy", "matmul"), ("cupy", "spmv"), ("numpy", "spmv")}
"""Calls that a library does not have: CuPy's matmul is cuBLAS, which goes by its own name."""


class LibraryCall(msgspec.Struct, frozen=True):
    """One call: the backend that offers it, and what it computes."""

    backend: str
    operation: Operation
    signature: Signature


def _calls() -> dict[str, LibraryCall]:
    calls = {"cublas.gemm": LibraryCall("cuda", "matmul", SIGNATURES["matmul"])}
    for library, backend in (("cupy", "cuda"), ("numpy", "numpy"), ("torch", "torch")):
        for operation, signature in SIGNATURES.items():
            if (library, operation) not in MISSING:
                calls[f"{library}.{operation}"] = LibraryCall(backend, operation, signature)
    factor = Signature("out = a + b, or out = a + factor * b", 2, factor=True)
    calls["torch.add"] = LibraryCall("torch", "add", factor)
    return calls


CALLS: dict[str, LibraryCall] = _calls()


def calls_of(backend: str) -> tuple[str, ...]:
    """Return the calls that a backend offers."""
    return tuple(name for name, call in CALLS.items() if call.backend == backend)


def check_call(name: str, kinds: Sequence[Kind]) -> None:
    """Raise InputError when there is no such call or it does not take such arguments."""
    if name not in CALLS:
        raise InputError(f"no library call '{name}'", remedy=suggestion(name, CALLS))
    signature = CALLS[name].signature
    if tuple(kinds) not in signature.forms:
        allowed = " or ".join(f"({', '.join(form)})" for form in signature.forms)
        raise InputError(
            f"library call '{name}' takes {allowed}, not ({', '.join(kinds)})",
            remedy=f"it computes {signature.computes}; inputs first, the output last",
        )
