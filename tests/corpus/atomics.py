"""Histograms, counters, locks and other uses of atomics."""

from __future__ import annotations

import numpy as np

from tests.corpus.case import Array, Case, bytes_, doubles, floats, outputs, wholes, zeros

_BYTES = dict(buffer=bytes_(3000), size=3000, histo=zeros(256, "u4"))


def _counts(x: Array, bins: int) -> Array:
    return np.bincount(x.astype(int), minlength=bins)


def _bits(x: Array) -> int:
    return int(np.bitwise_or.reduce(1 << (x.astype(np.int64) % 32)))


def _odd(x: Array) -> int:
    return int(np.bitwise_xor.reduce(1 << (x.astype(np.int64) % 32)))


def _seen(x: Array) -> Array:
    words = np.zeros(4, np.int64)
    np.bitwise_or.at(words, x // 32, 1 << (x % 32).astype(np.int64))
    return words


CASES = [
    Case("histogramGlobal", 2, 128, _BYTES, histo=lambda d: _counts(d["buffer"], 256)),
    Case("histogramShared", 3, 256, _BYTES, histo=lambda d: _counts(d["buffer"], 256)),
    Case("histogramPrivate", 3, 100, dict(data=wholes(2000, -9, 80), hist=zeros(64, "i4"), n=2000),
         shared=256, hist=lambda d: _counts(np.clip(d["data"], 0, 63), 64)),
    Case("sumInto64", 4, 64, dict(x=wholes(250, 0, 2**31, "u4"), sum=zeros(1, "u8"), n=250),
         exact=True, sum=lambda d: [(d["x"].astype("u8") ** 2).sum()]),
    Case("extremes", 4, 64, dict(x=wholes(250, -(2**60), 2**60, "i8"), least=zeros(1, "i8"),
                                 most=zeros(1, "i8"), n=250), exact=True,
         least=lambda d: [d["x"].min()], most=lambda d: [d["x"].max()]),
    Case("maxOfFloats", 4, 64, dict(x=floats(250), most=zeros(1), n=250), exact=True,
         most=lambda d: [d["x"].max()]),
    Case("addDoublesByHand", 4, 64, dict(x=doubles(250), sum=zeros(1, "f8"), n=250),
         tolerance=1e-13, sum=lambda d: [d["x"].sum()]),
    Case("roundRobin", 4, 64, dict(wheel=zeros(1, "u4"), down=zeros(1, "u4"), seen=zeros(10, "i4"),
                                   n=250),
         wheel=lambda d: [0], seen=lambda d: np.full(10, 25), down=lambda d: [7 - (250 % 7)]),
    Case("flagsByBits", 4, 32, dict(x=wholes(128, 0, 128), seen=zeros(4, "u4"),
                                    all=np.array([0xFFFFFFFF], "u4"), odd=zeros(1, "u4")),
         seen=lambda d: _seen(d["x"]), all=lambda d: [0xFFFFFFFF & ~_bits(d["x"])],
         odd=lambda d: [_odd(d["x"])]),
    Case("claimSlots", 4, 64, dict(slots=np.full(200, -1, "i4"), owner=outputs(200, kind="i4"),
                                   n=200), ordered=["slots", "owner"],
         slots=lambda d: np.arange(200), owner=lambda d: np.arange(200)),
    Case("exchangeLast", 1, 1, dict(x=floats(3), last=zeros(1), handedOn=outputs(3), n=1),
         last=lambda d: d["x"][:1]),
    Case("countUnderLock", 5, 32, dict(total=zeros(1, "i4")), total=lambda d: [5]),
]  # fmt: skip
