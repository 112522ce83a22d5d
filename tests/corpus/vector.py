"""Vectors."""

from __future__ import annotations

import numpy as np

from tests.corpus.case import Case, bytes_, doubles, floats, outputs, wholes

_N = 1000


def _nearest(x: np.ndarray) -> np.ndarray:
    distances = np.abs(x[:, None] - x[None, :])
    np.fill_diagonal(distances, np.inf)
    return np.asarray(distances.min(1))


def _bits(x: np.ndarray) -> np.ndarray:
    found = []
    for v in x.tolist():
        text = f"{v:032b}"
        first = 0 if v == 0 else 32 - text.rindex("1")
        leading = 32 - v.bit_length()
        found.append(text.count("1") + 100 * leading + 10000 * first + (v & 1) * 1000000)
    return np.array(found)


CASES = [
    Case("vectorAdd", 4, 256, dict(A=floats(_N), B=floats(_N), C=outputs(_N), numElements=_N),
         C=lambda d: d["A"] + d["B"]),
    Case("saxpy", 2, 128, dict(n=_N, a=2.5, x=floats(_N), y=floats(_N)),
         y=lambda d: 2.5 * d["x"] + d["y"]),
    Case("daxpy", 4, 256, dict(n=_N, a=2.5, x=doubles(_N), y=doubles(_N)), tolerance=1e-14,
         y=lambda d: 2.5 * d["x"] + d["y"]),
    Case("addFloat4", 1, 256, dict(a=floats(1000), b=floats(1000), c=outputs(1000), n=250),
         c=lambda d: d["a"] + 2 * d["b"]),
    Case("vectorisedCopy", 2, 64, {"in": floats(1003), "out": outputs(1003), "n": 1003},
         out=lambda d: d["in"]),
    Case("interleave", 2, 64, dict(re=floats(_N), im=floats(_N), z=outputs(_N, 2), n=_N),
         z=lambda d: np.stack([d["re"], d["im"]], 1)),
    Case("sincosTable", 4, 256, dict(angle=floats(_N), s=outputs(_N), c=outputs(_N), n=_N),
         s=lambda d: np.sin(d["angle"]), c=lambda d: np.cos(d["angle"])),
    Case("streamedScale", 4, 256, {"in": floats(_N), "out": outputs(_N), "factor": 3.0, "n": _N},
         out=lambda d: 3 * d["in"]),
    Case("clampToRange", 4, 256, dict(data=floats(_N), lo=-0.5, hi=0.75, n=_N),
         data=lambda d: np.clip(d["data"], -0.5, 0.75)),
    Case("polynomial", 4, 256, dict(x=floats(_N), y=outputs(_N), n=_N),
         y=lambda d: np.polyval([0.0625, -0.125, 0.25, -0.5, 1], d["x"])),
    Case("nearestInfinity", 2, 128, dict(x=floats(200), y=outputs(200), n=200),
         y=lambda d: _nearest(d["x"])),
    Case("bitTricks", 4, 256, dict(x=wholes(_N, 0, 2**31, "u4"), y=outputs(_N, kind="i4"), n=_N),
         y=lambda d: _bits(d["x"])),
    Case("bigSquares", 4, 256, dict(x=wholes(_N, -(2**30), 2**30, "i8"), y=outputs(_N, kind="u8"),
                                    n=_N), exact=True,
         y=lambda d: d["x"] ** 2 + 15 + np.abs(d["x"])),
    Case("byteWeights", 4, 256, dict(pixels=bytes_(_N, 4), grey=outputs(_N, kind="u1"), n=_N),
         exact=True, grey=lambda d: (d["pixels"].astype(int) @ [77, 150, 29, 0]) >> 8),
]  # fmt: skip
