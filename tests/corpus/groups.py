"""Cooperative groups."""

from __future__ import annotations

import numpy as np

from tests.corpus.case import Case, floats, outputs, wholes, zeros

_IN = {"in": wholes(256, -9, 9)}

CASES = [
    Case("blockSum", 2, 128, {"in": wholes(1000, -9, 9), "out": zeros(1, "i4"), "n": 1000},
         shared=512, out=lambda d: [d["in"].sum()]),
    Case("tileSum", 4, 128, {"in": floats(500), "out": zeros(1), "n": 500},
         out=lambda d: [d["in"].sum()]),
    Case("reduceTile16", 2, 128,
         {**_IN, "sums": outputs(16, kind="i4"), "largest": outputs(16, kind="i4")},
         sums=lambda d: d["in"].reshape(16, 16).sum(1),
         largest=lambda d: d["in"].reshape(16, 16).max(1)),
    Case("tilesThenBlock", 2, 128, {**_IN, "out": outputs(2, kind="i4")},
         out=lambda d: d["in"].reshape(2, 128).sum(1)),
    Case("scanOfTiles", 2, 128,
         {**_IN, "inclusive": outputs(256, kind="i4"), "exclusive": outputs(256, kind="i4")},
         inclusive=lambda d: d["in"].reshape(8, 32).cumsum(1),
         exclusive=lambda d: d["in"].reshape(8, 32).cumsum(1) - d["in"].reshape(8, 32)),
    Case("filterPositive", 4, 64,
         dict(dst=zeros(256, "i4"), nres=zeros(1, "i4"), src=wholes(250, -9, 9), n=250),
         nres=lambda d: [(d["src"] > 0).sum()], ordered=["dst"],
         dst=lambda d: np.append(np.sort(d["src"][d["src"] > 0]),
                                 np.zeros(256 - (d["src"] > 0).sum()))),
    Case("votesOfTiles", 2, 128, {**_IN, "mask": outputs(256, kind="u4"),
                                  "flags": outputs(256, kind="i4")},
         mask=lambda d: np.repeat((d["in"].reshape(32, 8) > 0) @ (1 << np.arange(8)), 8),
         flags=lambda d: np.repeat((d["in"].reshape(32, 8) > 0).any(1)
                                   + 2 * (d["in"].reshape(32, 8) > 0).all(1), 8)),
    Case("wholeGrid", 2, 64, dict(x=floats(300), y=outputs(300), n=300), y=lambda d: 2 * d["x"]),
    Case("guardedBlock", 3, 64, dict(x=floats(150), y=outputs(150), n=150),
         y=lambda d: d["x"].reshape(75, 2)[:, ::-1].ravel()),
    Case("sumThroughHelper", 2, 128, {**_IN, "out": outputs(2, kind="i4")}, shared=512,
         out=lambda d: d["in"].reshape(2, 128).sum(1)),
]  # fmt: skip
