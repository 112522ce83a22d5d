"""Threads that leave early."""

from __future__ import annotations

import numpy as np

from tests.corpus.case import Array, Case, floats, outputs, wholes, zeros


def _padded(x: Array, size: int, value: float = 0.0) -> Array:
    return np.append(x, np.full(size - len(x), value))


def _seven(x: Array) -> Array:
    wide = np.concatenate([np.zeros(3), x, np.zeros(3)])
    return np.array([wide[i : i + 7].sum() for i in range(len(x))])


def _two_guards(x: Array, limit: float) -> Array:
    wide = _padded(x, 192, np.inf).reshape(3, 64)
    inside = np.abs(wide) <= limit
    most = np.where(inside, wide, -1e30).max(1)
    return np.where(inside, most[:, None], -limit).ravel()[: len(x)]


def _relaxed(x: Array, rounds: int) -> Array:
    s = np.concatenate([[0.0], x, [1.0]])
    for _ in range(rounds):
        s[1:-1] = 0.5 * (s[:-2] + s[2:])
    return s[1:-1]


CASES = [
    Case("sharedReverse", 3, 64, dict(d=floats(150), n=150), d=lambda d: 2 * d["d"]),
    Case("stencilWithGuard", 4, 64, {"in": floats(256), "out": outputs(256), "n": 256},
         out=lambda d: _seven(d["in"])),
    Case("tiledProductWithGuard", (4, 4), (8, 8),
         dict(A=floats(24, 24), B=floats(24, 24), C=outputs(24, 24), N=24),
         C=lambda d: d["A"] @ d["B"]),
    Case("blockLeaves", 4, 64, {"in": wholes(256, 0, 99), "out": zeros(256, "i4"), "blocks": 3},
         out=lambda d: np.append(d["in"][:192].reshape(3, 64)[:, ::-1].ravel(), np.zeros(64))),
    Case("twoGuards", 3, 64, dict(x=floats(150), y=outputs(150), outside=zeros(192), n=150,
                                  limit=1.5),
         y=lambda d: _two_guards(d["x"], 1.5), outside=lambda d: np.arange(192) >= 150),
    Case("sumOfRowWithGuard", 5, 64, dict(rows=floats(5, 40), sums=outputs(5), width=40, height=5),
         shared=256, sums=lambda d: d["rows"].sum(1)),
    Case("relaxUntil", 1, 64, dict(x=floats(50), n=50, rounds=21),
         x=lambda d: _relaxed(d["x"], 20)),
]  # fmt: skip
