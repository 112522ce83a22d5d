"""Prefix sums, compaction and what is built on them."""

from __future__ import annotations

import numpy as np

from tests.corpus.case import Array, Case, floats, outputs, wholes


def _sections(x: Array, size: int = 128) -> Array:
    wide = np.append(x, np.zeros(-len(x) % size))
    return wide.reshape(-1, size).cumsum(1).ravel()[: len(x)]


def _compacted(x: Array, block: int) -> Array:
    out = np.full(len(x), 0x5A5A5A5A)
    for b in range(0, len(x), block):
        kept = x[b : b + block][x[b : b + block] > 0]
        out[b : b + len(kept)] = kept
    return out


def _segments(x: Array, heads: Array) -> Array:
    out, sum_ = [], 0.0
    for v, h in zip(x, heads, strict=True):
        sum_ = v if h else sum_ + v
        out.append(sum_)
    return np.array(out)


CASES = [
    Case("koggeStone", 3, 128, dict(X=floats(300), Y=outputs(300), N=300),
         Y=lambda d: _sections(d["X"])),
    Case("brentKung", 3, 64, dict(X=floats(384), Y=outputs(384), N=384),
         Y=lambda d: _sections(d["X"])),
    Case("prescan", 1, 64, dict(g_odata=outputs(128), g_idata=floats(128), n=128), shared=512,
         g_odata=lambda d: d["g_idata"].cumsum() - d["g_idata"]),
    Case("blockScanByWarps", 2, 128, {"in": wholes(256, -9, 9), "out": outputs(256, kind="i4"),
                                      "total": outputs(2, kind="i4")},
         out=lambda d: d["in"].reshape(2, 128).cumsum(1),
         total=lambda d: d["in"].reshape(2, 128).sum(1)),
    Case("addOffsets", 3, 32, dict(data=wholes(96, 0, 9), totals=wholes(3, 0, 99)),
         data=lambda d: d["data"] + np.repeat(d["totals"].cumsum() - d["totals"], 32)),
    Case("compactByBallot", 2, 128, {"in": wholes(256, -9, 9), "out": outputs(256, kind="i4"),
                                     "counts": outputs(2, kind="i4"), "n": 256},
         out=lambda d: _compacted(d["in"], 128),
         counts=lambda d: (d["in"].reshape(2, 128) > 0).sum(1)),
    Case("segmentedSum", 1, 128, dict(values=floats(100), heads=wholes(100, 0, 2),
                                      sums=outputs(100), n=100),
         sums=lambda d: _segments(d["values"], d["heads"])),
]  # fmt: skip
