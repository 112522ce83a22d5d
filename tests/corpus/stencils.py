"""Stencils and images."""

from __future__ import annotations

import numpy as np

from tests.corpus.case import Array, Case, bytes_, doubles, floats, outputs, wholes, zeros

_FILTER = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]]) / 16


def _filtered(x: Array, weights: Array) -> Array:
    wide = np.pad(x, [(s // 2, s // 2) for s in weights.shape])
    windows = np.lib.stride_tricks.sliding_window_view(wide, weights.shape)
    return np.asarray((windows * weights).sum(tuple(range(x.ndim, 2 * x.ndim))))


def _heat(x: Array) -> Array:
    out = x.copy()
    out[1:-1, 1:-1] += 0.2 * (x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1]
                              - 4 * x[1:-1, 1:-1])  # fmt: skip
    return out


def _around(x: Array) -> Array:
    return np.asarray(sum(np.roll(x, s, a) for a in (0, 1) for s in (-1, 1)))


def _differences(x: Array) -> Array:
    out, c = np.zeros_like(x), slice(1, -1)
    out[c, c, c] = x[c, c, c] + x[c, c, 2:] - x[c, c, :-2] + x[c, 2:, c] - x[c, :-2, c] \
        + x[2:, c, c] - x[:-2, c, c]  # fmt: skip
    return out


def _sobel(x: Array) -> Array:
    gx = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    out = np.zeros_like(x)
    out[1:-1, 1:-1] = np.hypot(_filtered(x, gx), _filtered(x, gx.T))[1:-1, 1:-1]
    return out


def _median(x: Array) -> Array:
    out = np.zeros_like(x)
    out[1:-1] = np.median([x[:-2], x[1:-1], x[2:]], 0)
    return out


def _life(x: Array) -> Array:
    x = x.astype(int)
    count = sum(np.roll(x, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1)) - x
    return np.asarray((count == 3) | ((x == 1) & (count == 2)))


def _escapes(width: int, height: int) -> Array:
    x, y = np.meshgrid(np.arange(width), np.arange(height))
    c = (-2 + 0.25 * x) + 1j * (-1 + 0.25 * y)
    z, count = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(30):
        inside = np.abs(z) ** 2 <= 4
        count += inside
        z = np.where(inside, z * z + c, z)
    return count


CASES = [
    Case("stencil_1d", 4, 64, {"in": wholes(260, -9, 9), "out": outputs(256, kind="i4"), "n": 256},
         out=lambda d: np.convolve(d["in"], np.ones(5, int), "valid")),
    Case("convolve1d", 4, 64, {"in": floats(200), "out": outputs(200), "n": 200},
         out=lambda d: _filtered(d["in"], np.array([0.1, 0.2, 0.4, 0.2, 0.1]))),
    Case("heat2d", (3, 3), (8, 8), dict(next=outputs(20, 18), now=floats(20, 18), nx=18, ny=20,
                                        c=0.2), next=lambda d: _heat(d["now"])),
    Case("neighboursByTable", 1, (8, 8), {"in": wholes((8, 8), -9, 9),
                                          "out": outputs(8, 8, kind="i4"), "n": 8},
         out=lambda d: _around(d["in"])),
    Case("blurTiled", (3, 2), (16, 16), {"in": floats(20, 30), "out": outputs(20, 30), "width": 30,
                                         "height": 20}, out=lambda d: _filtered(d["in"], _FILTER)),
    Case("stencil3d", (2, 2, 2), (8, 8, 8), {"in": doubles(10, 10, 10),
                                             "out": zeros((10, 10, 10), "f8"), "N": 10},
         tolerance=1e-14, out=lambda d: _differences(d["in"])),
    Case("colorToGreyscale", (3, 3), (8, 8), dict(Pout=outputs(20, 18, kind="u1"),
                                                  Pin=bytes_(20, 18, 3), width=18, height=20),
         Pout=lambda d: (d["Pin"].astype("f4") @ np.array([0.21, 0.71, 0.07], "f4")).astype(int),
         within=1),
    Case("sobel", (3, 3), (8, 8), {"in": floats(20, 18), "out": zeros((20, 18)), "w": 18, "h": 20},
         out=lambda d: _sobel(d["in"])),
    Case("median3", 4, 64, {"in": floats(200), "out": zeros(200), "n": 200}, exact=True,
         out=lambda d: _median(d["in"])),
    Case("gameOfLife", (3, 3), (8, 8), dict(now=wholes((20, 20), 0, 2, "u1"),
                                            next=outputs(20, 20, kind="u1"), n=20),
         next=lambda d: _life(d["now"])),
    Case("mandelbrot", (2, 2), (8, 8), dict(out=outputs(9, 12, kind="i4"), width=12, height=9,
                                            x0=-2.0, y0=-1.0, step=0.25),
         out=lambda d: _escapes(12, 9)),
]  # fmt: skip
