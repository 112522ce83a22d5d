"""Half precision and bfloat16."""

from __future__ import annotations

import numpy as np

from tests.corpus.case import Case, bfloats, floats, halves, outputs, widened, zeros

_HALF = 1.5e-3
_N = 200


def _h(shape: int, *more: int) -> object:
    return outputs(shape, *more, kind="f2")


CASES = [
    Case("haxpy", 2, 64, dict(n=_N, a=np.float16(2), x=halves(_N), y=halves(_N)), tolerance=_HALF,
         y=lambda d: 2 * d["x"] + d["y"]),
    Case("haxpy2", 2, 64, dict(n=_N + 1, a=np.float16(2), x=halves(_N + 1), y=halves(_N + 1)),
         tolerance=_HALF, y=lambda d: 2 * d["x"] + d["y"]),
    Case("addHalves", 4, 64, dict(a=halves(_N), b=halves(_N), c=_h(_N), n=_N), tolerance=_HALF,
         c=lambda d: d["a"] * d["b"] + 0.5),
    Case("halfToFloat", 4, 64, {"in": halves(_N), "out": outputs(_N), "n": _N}, exact=True,
         out=lambda d: d["in"]),
    Case("floatToHalf2", 4, 64, {"in": floats(_N, 2), "out": _h(_N, 2), "n": _N}, exact=True,
         out=lambda d: d["in"].astype(np.float16)),
    Case("dotOfHalves", 2, 64, dict(a=halves(_N, 2), b=halves(_N, 2), out=zeros(1), n=_N),
         out=lambda d: [(d["a"] * d["b"]).sum()]),
    Case("halfProduct", (3, 3), (8, 8),
         dict(A=halves(20, 20), B=halves(20, 20), C=outputs(20, 20), N=20),
         C=lambda d: d["A"] @ d["B"]),
    Case("reluHalf2", 4, 64, dict(x=halves(_N, 2), n=_N), exact=True,
         x=lambda d: np.maximum(d["x"], 0)),
    Case("siluHalf", 4, 64, dict(x=halves(_N), y=_h(_N), n=_N), tolerance=3 * _HALF,
         y=lambda d: d["x"] / (1 + np.exp(-d["x"]))),
    Case("maxOfHalves", 1, 32, dict(x=halves(_N), out=_h(1), n=_N), exact=True,
         out=lambda d: [d["x"].max()]),
    Case("pairsOfHalf2", 4, 64, {"in": halves(_N, 2), "out": _h(_N, 2), "low": outputs(_N),
                                 "high": outputs(_N), "n": _N}, tolerance=_HALF,
         low=lambda d: d["in"][:, 0], high=lambda d: d["in"][:, 1],
         out=lambda d: d["in"][:, ::-1] + [1, 2]),
    Case("scaleBf16", 4, 64, dict(x=bfloats(_N), y=outputs(_N, kind="u2"), s=3.0, n=_N),
         read={"y": widened}, tolerance=5e-3, y=lambda d: 3 * widened(d["x"])),
    Case("fmaBf162", 4, 64, dict(a=bfloats(_N, 2), b=bfloats(_N, 2), c=bfloats(_N, 2), n=_N),
         read={"c": widened}, tolerance=5e-3,
         c=lambda d: widened(d["a"]) * widened(d["b"]) + widened(d["c"])),
    Case("rmsOfBf16", 1, 64, dict(x=bfloats(_N), out=outputs(1), n=_N),
         out=lambda d: [np.sqrt(np.mean(widened(d["x"]) ** 2))]),
]  # fmt: skip
