"""Transposes and products."""

from __future__ import annotations

import itertools

import numpy as np

from tests.corpus.case import Array, Case, doubles, floats, outputs, wholes

_SQUARE = dict(a=floats(24, 24), b=floats(24, 24), c=outputs(24, 24), n=24)


def _sparse(data: Array, indices: Array, ptr: Array, x: Array) -> Array:
    return np.array([(data[a:b] * x[indices[a:b]]).sum()
                     for a, b in itertools.pairwise(ptr)])  # fmt: skip


def _complex(a: Array) -> Array:
    return a[..., 0] + 1j * a[..., 1]


def _pairs(z: Array) -> Array:
    return np.stack([z.real, z.imag], -1)


CASES = [
    Case("transposeNaive", (3, 3), (16, 4), dict(odata=outputs(48, 48), idata=floats(48, 48)),
         exact=True, odata=lambda d: d["idata"].T),
    Case("transposeNoBankConflicts", (3, 3), (16, 4),
         dict(odata=outputs(48, 48), idata=floats(48, 48)), exact=True,
         odata=lambda d: d["idata"].T),
    Case("transposeInPlace", (3, 3), (8, 8), dict(a=doubles(20, 20), n=20), exact=True,
         a=lambda d: d["a"].T),
    Case("matrixMulKernel", (3, 3), (8, 8),
         dict(M=floats(20, 20), N=floats(20, 20), P=outputs(20, 20), Width=20),
         P=lambda d: d["M"] @ d["N"]),
    Case("matrixMulTiled", (4, 3), (8, 8),
         dict(M=floats(20, 13), N=floats(13, 30), P=outputs(20, 30), j=20, k=13, l=30),
         P=lambda d: d["M"] @ d["N"]),
    Case("productOfSubMatrices", (3, 3), (8, 8), _SQUARE, c=lambda d: d["a"] @ d["b"]),
    Case("coarsenedProduct", (1, 4), (8, 8),
         dict(A=floats(32, 32), B=floats(32, 32), C=outputs(32, 32), n=32),
         C=lambda d: d["A"] @ d["B"]),
    Case("matVecByWarp", 3, 64, dict(A=floats(5, 70), x=floats(70), y=outputs(5), rows=5, cols=70),
         y=lambda d: d["A"] @ d["x"]),
    Case("spmvCsr", 1, 32, dict(num_rows=4, ptr=np.array([0, 2, 2, 5, 9], "i4"),
                                indices=wholes(9, 0, 6), data=floats(9), x=floats(6), y=floats(4)),
         y=lambda d: d["y"] + _sparse(d["data"], d["indices"], d["ptr"], d["x"])),
    Case("complexProduct", (2, 2), (8, 8),
         dict(a=floats(12, 12, 2), b=floats(12, 12, 2), c=outputs(12, 12, 2), n=12),
         c=lambda d: _pairs(_complex(d["a"]) @ _complex(d["b"]))),
]  # fmt: skip
