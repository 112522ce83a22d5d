"""What the threads of a warp do together."""

from __future__ import annotations

import numpy as np

from tests.corpus.case import Array, Case, doubles, floats, outputs, wholes, zeros

_IN = {"in": wholes(128, -9, 9)}
_OUT = {"out": outputs(128, kind="i4")}
_LANES = 1 << np.arange(32, dtype=np.int64)


def _warps(x: Array) -> Array:
    return x.reshape(-1, 32)


def _mask(flags: Array) -> Array:
    return np.asarray(_warps(flags) @ _LANES)


def _same(x: Array) -> Array:
    return np.asarray(((_warps(x)[:, :, None] == _warps(x)[:, None, :]) @ _LANES).ravel())


def _first(x: Array) -> Array:
    return np.asarray((_warps(x)[:, :, None] == _warps(x)[:, None, :]).argmax(2).ravel())


CASES = [
    Case("broadcastFirst", 2, 64, {**_IN, **_OUT},
         out=lambda d: np.repeat(_warps(d["in"])[:, 0], 32)),
    Case("reverseInWarp", 2, 64, {"in": floats(128), "out": outputs(128)}, exact=True,
         out=lambda d: _warps(d["in"])[:, ::-1]),
    Case("rotateByTwo", 1, 32, dict(d_in=wholes(32, 0, 99), d_out=outputs(32, kind="i4")),
         d_out=lambda d: np.roll(d["d_in"].reshape(2, 16), -2, 1)),
    Case("butterfly", 1, 32, {"in": doubles(32), "out": outputs(32, kind="f8")}, tolerance=1e-14,
         out=lambda d: np.full(32, d["in"].sum())),
    Case("differenceWithNext", 2, 64, {"in": floats(128), "out": outputs(128)},
         out=lambda d: np.append(np.diff(_warps(d["in"]), axis=1), np.zeros((4, 1)), 1)),
    Case("halvesOfWarp", 1, 32, {"in": wholes(32, -9, 99), "out": outputs(32, kind="i4")},
         out=lambda d: np.repeat(d["in"].reshape(2, 16).max(1), 16)),
    Case("voteInWarp", 2, 64, {**_IN, "any": outputs(4, kind="i4"), "all": outputs(4, kind="i4"),
                               "ballot": outputs(4, kind="u4")},
         any=lambda d: (_warps(d["in"]) > 7).any(1), all=lambda d: np.ones(4, int),
         ballot=lambda d: _mask(d["in"] > 0)),
    Case("activeLanes", 2, 64, {**_IN, "masks": outputs(128, kind="u4")},
         masks=lambda d: np.where(d["in"] > 0, np.repeat(_mask(d["in"] > 0), 32), 0)),
    Case("matchValues", 2, 64, {**_IN, "same": outputs(128, kind="u4"),
                                "leaders": outputs(128, kind="i4")},
         same=lambda d: _same(d["in"]), leaders=lambda d: _first(d["in"])),
    Case("aggregatedHistogram", 2, 64, {"in": wholes(256, 0, 8), "bins": zeros(8, "i4"), "n": 256},
         bins=lambda d: np.bincount(d["in"], minlength=8)),
    Case("sortInWarp", 2, 64, {**_IN, **_OUT}, out=lambda d: np.sort(_warps(d["in"]), 1)),
    Case("sharedWithSyncwarp", 1, 128, {**_IN, "out": outputs(4, kind="i4")},
         out=lambda d: _warps(d["in"]).sum(1)),
    Case("longShuffle", 1, 32, {"in": wholes(32, 0, 2**60, "u8"), "out": outputs(32, kind="u8")},
         exact=True, out=lambda d: np.append(d["in"][:3], d["in"][:-3])),
]  # fmt: skip
