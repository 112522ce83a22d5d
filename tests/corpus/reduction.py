"""Sums and extremes."""

from __future__ import annotations

import numpy as np

from tests.corpus.case import Case, doubles, floats, outputs, wholes, zeros

CASES = [
    Case("sumInterleaved", 4, 128, dict(g_idata=wholes(512, -9, 9), g_odata=outputs(4, kind="i4")),
         shared=512, g_odata=lambda d: d["g_idata"].reshape(4, 128).sum(1)),
    Case("sumSequential", 2, 256, {"in": floats(1000), "out": outputs(2), "n": 1000},
         out=lambda d: [d["in"][:512].sum(), d["in"][512:].sum()]),
    Case("sumWithGuard", 4, 256, {"in": floats(1000), "out": outputs(4), "n": 1000},
         out=lambda d: np.append(d["in"], np.zeros(24)).reshape(4, 256).sum(1)),
    Case("deviceReduceKernel", 2, 128, {"in": floats(1000), "out": outputs(2), "N": 1000},
         out=lambda d: np.append(d["in"], np.zeros(24)).reshape(4, 2, 128).sum((0, 2))),
    Case("deviceReduceWarpAtomic", 2, 128, {"in": wholes(1000, -9, 9), "out": zeros(1, "i4"),
                                            "N": 1000}, out=lambda d: [d["in"].sum()]),
    Case("reduceAddSync", 4, 256, {"in": wholes(1000, 0, 99, "u4"), "out": zeros(2, "u4"),
                                   "n": 1000}, out=lambda d: [d["in"].sum(), d["in"].max()]),
    Case("maxAndItsPlace", 1, 256, dict(x=floats(1000), best=outputs(1),
                                        place=outputs(1, kind="i4"), n=1000),
         best=lambda d: [d["x"].max()], place=lambda d: [d["x"].argmax()]),
    Case("sumSinglePass", 4, 256, {"in": floats(3000), "partials": outputs(4), "out": outputs(1),
                                   "n": 3000}, out=lambda d: [d["in"].sum()]),
    Case("dotProduct", 2, 256, dict(a=floats(1024), b=floats(1024), c=outputs(2), N=1024),
         c=lambda d: (d["a"] * d["b"]).reshape(2, 2, 256).sum((0, 2))),
    Case("sumUnrolledWarp", 2, 256, dict(g_idata=wholes(4096, -9, 9), g_odata=outputs(2, kind="i4"),
                                         n=4096),
         g_odata=lambda d: d["g_idata"].reshape(2, 2048).sum(1)),
    Case("sumDoubles", 4, 256, dict(x=doubles(1000), total=zeros(1, "f8"), n=1000),
         tolerance=1e-13, total=lambda d: [d["x"].sum()]),
    Case("countEven", 4, 256, dict(x=wholes(1000, 0, 99), count=zeros(1, "u8"), n=1000),
         count=lambda d: [(d["x"] % 2 == 0).sum()]),
]  # fmt: skip
