"""Monte Carlo, many bodies, normalisation, sorting, graphs, numbers of other kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.corpus.case import Array, Case, floats, outputs, wholes, zeros

_ROWS = np.array([0, 2, 4, 5, 6, 6], "i4")
_COLUMNS = np.array([1, 2, 3, 4, 4, 4], "i4")


def _sorted(shape: int) -> object:
    return lambda random: np.sort(random.integers(0, 99, shape)).astype("i4")


def _inside(threads: int, trials: int) -> Array:
    state = 1234567 + np.arange(threads, dtype=np.int64) * 7919
    counts = np.zeros(threads, int)
    for _ in range(trials):
        at = []
        for _ in range(2):
            state = (state * 1664525 + 1013904223) % 2**32
            at.append((state >> 8).astype("f4") * np.float32(2**-24))
        counts += at[0] * at[0] + at[1] * at[1] <= 1
    return counts


def _shifted(x: Array) -> Array:
    x = x ^ (x << 13) % 2**32
    x = x ^ (x >> 17)
    return np.asarray(x ^ (x << 5) % 2**32)


def _forces(x: Array) -> Array:
    r = x[None, :, :3] - x[:, None, :3]
    s = x[None, :, 3] / ((r**2).sum(2) + 1e-3) ** 1.5
    return np.append((r * s[:, :, None]).sum(1), np.zeros((len(x), 1)), 1)


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(1, keepdims=True))
    return np.asarray(e / e.sum(1, keepdims=True))


def _normal(d: Mapping[str, Any]) -> Array:
    x = d["x"]
    y = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    return np.asarray(y * d["gamma"] + d["beta"])


def _gelu(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))


def _relaxed(d: Mapping[str, Any]) -> Array:
    found = d["next"].copy()
    np.minimum.at(found, d["to"], d["distance"][d["from"]] + d["weight"])
    return np.asarray(found)


def _labels(d: Mapping[str, Any]) -> Array:
    return np.asarray(((d["points"][:, None] - d["centres"][None]) ** 2).sum(2).argmin(1))


CASES = [
    Case("estimatePi", 2, 64, dict(counts=outputs(128, kind="u4"), trials=50),
         counts=lambda d: _inside(128, 50), within=1),
    Case("fillRandom", 2, 64, dict(out=outputs(100, kind="u4"), seed=77, n=100),
         out=lambda d: _shifted(_shifted(77 + np.arange(100)))),
    Case("calculateForces", 2, 32, dict(X=floats(64, 4), A=outputs(64, 4), N=64), shared=512,
         tolerance=1e-4, A=lambda d: _forces(d["X"])),
    Case("softmaxRows", 5, 32, {"in": floats(5, 70), "out": outputs(5, 70), "cols": 70}, shared=128,
         out=lambda d: _softmax(d["in"])),
    Case("layerNorm", 5, 32, dict(x=floats(5, 70), gamma=floats(70), beta=floats(70),
                                  y=outputs(5, 70), cols=70, eps=1e-5), y=_normal),
    Case("geluForward", 2, 64, dict(x=floats(100), y=outputs(100), n=100),
         y=lambda d: _gelu(d["x"])),
    Case("bitonicSort", 2, 128, dict(data=wholes((2, 128), 0, 999)),
         data=lambda d: np.sort(d["data"], 1)),
    Case("oddEvenSort", 1, 32, dict(x=floats(50), n=50), exact=True, x=lambda d: np.sort(d["x"])),
    Case("rankSort", 2, 64, {"in": floats(100), "out": outputs(100), "n": 100}, exact=True,
         out=lambda d: np.sort(d["in"])),
    Case("mergeByRanks", 2, 32, dict(a=_sorted(50), b=_sorted(50), out=outputs(100, kind="i4"),
                                     n=50),
         out=lambda d: np.sort(np.append(d["a"], d["b"]))),
    Case("bfsLevel", 1, 32, dict(rowPtr=_ROWS, cols=_COLUMNS,
                                 level=np.array([0, -1, -1, -1, -1], "i4"), current=0,
                                 changed=zeros(1, "i4"), n=5),
         level=lambda d: [0, 1, 1, -1, -1], changed=lambda d: [1]),
    Case("relaxEdges", 1, 64, {"from": wholes(40, 0, 10), "to": wholes(40, 0, 10),
                               "weight": lambda random: random.random(40, np.float32),
                               "distance": lambda random: random.random(10, np.float32),
                               "next": np.full(10, 9, "f4"), "edges": 40}, next=_relaxed),
    Case("floydStep", (2, 40), 32, dict(d=wholes((40, 40), 1, 99), k=7, n=40),
         d=lambda d: np.minimum(d["d"], d["d"][:, 7:8] + d["d"][7])),
    Case("timedLoop", 1, 32, dict(x=floats(32), cycles=outputs(32, kind="i8"), n=40),
         x=lambda d: 2 + (d["x"] - 2) * 0.5**40, cycles=lambda d: np.ones(32, int)),
    Case("matVecDynamic", 1, 32, dict(A=floats(50, 50), x=floats(50), y=outputs(50), n=50),
         shared=204, y=lambda d: d["A"] @ d["x"]),
    Case("kmeansAssign", 2, 64, dict(points=floats(100, 2), centres=floats(4, 2),
                                     label=outputs(100, kind="i4"), sums=zeros((4, 2)),
                                     counts=zeros(4, "i4"), n=100, k=4),
         label=_labels, counts=lambda d: np.bincount(_labels(d), minlength=4)),
]  # fmt: skip
