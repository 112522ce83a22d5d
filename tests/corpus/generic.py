"""Templates, functors, structures by value and what else C++ brings."""

from __future__ import annotations

import numpy as np

from tests.corpus.case import Array, Case, doubles, floats, outputs, wholes

_PARTICLE = np.dtype([("position", "f4", 3), ("velocity", "f4", 3), ("id", "i4")])


def _particles(random: np.random.Generator) -> Array:
    made = np.zeros(20, _PARTICLE)
    made["position"], made["velocity"] = random.standard_normal((2, 20, 3))
    made["id"] = np.arange(20)
    return made


def _folded(x: Array, block: int, blocks: int) -> Array:
    wide = np.append(x, np.zeros(-len(x) % (block * blocks)))
    return np.asarray(wide.reshape(-1, blocks, block).sum((0, 2)))


def _julia(dim: int) -> Array:
    x, y = np.meshgrid(np.arange(dim), np.arange(dim))
    a = 1.5 * (dim // 2 - x) / (dim // 2) + 1.5j * (dim // 2 - y) / (dim // 2)
    inside = np.ones((dim, dim), bool)
    for _ in range(50):
        a = np.where(inside, a * a + (-0.8 + 0.156j), 0)
        inside &= np.abs(a) ** 2 <= 1000
    pixels = np.zeros((dim, dim, 4), int)
    pixels[..., 0], pixels[..., 3] = 255 * inside, 255
    return pixels


def _number(x: Array, by: float) -> Array:
    return np.asarray(x + by)


CASES = [
    Case("addTemplate<float>", 2, 128, dict(a=floats(250), b=floats(250), c=outputs(250), n=250),
         c=lambda d: d["a"] + d["b"]),
    Case("addTemplate<int>", 2, 128, dict(a=wholes(250, -9, 9), b=wholes(250, -9, 9),
                                          c=outputs(250, kind="i4"), n=250),
         c=lambda d: d["a"] + d["b"]),
    Case("reduceTemplate<float, 128>", 2, 128, {"in": floats(1000), "out": outputs(2), "n": 1000},
         out=lambda d: _folded(d["in"], 128, 2)),
    Case("reduceTemplate<double, 64>", 2, 64, {"in": doubles(500), "out": outputs(2, kind="f8"),
                                               "n": 500}, tolerance=1e-13,
         out=lambda d: _folded(d["in"], 64, 2)),
    Case("maxOfWarps", 2, 64, {"in": floats(128), "out": outputs(4)}, exact=True,
         out=lambda d: d["in"].reshape(4, 32).max(1)),
    Case("functors", 2, 64, dict(x=floats(100), y=outputs(100), z=outputs(100), by=1.25, n=100),
         y=lambda d: d["x"] ** 2, z=lambda d: _number(d["x"], 1.25)),
    Case("lambdas", 2, 64, dict(x=floats(100), y=outputs(100), n=100),
         y=lambda d: np.clip(d["x"], -1, 1)),
    Case("juliaSet", (16, 16), 1, dict(ptr=outputs(16, 16, 4, kind="u1"), dim=16),
         ptr=lambda d: _julia(16)),
    Case("moveParticles", 1, 32, dict(particles=_particles, dt=0.5, n=20),
         read={"particles": lambda p: p["position"]},
         particles=lambda d: d["particles"]["position"] + 0.5 * d["particles"]["velocity"]),
    Case("operations", 1, 64, dict(a=floats(50), b=floats(50), c=outputs(50), n=50),
         c=lambda d: d["a"] ** 2 - d["b"] ** 2 + d["a"] * d["b"]),
    Case("namespaced", 1, 64, dict(x=floats(50), y=outputs(50), n=50),
         y=lambda d: d["x"] * 0.5 ** (np.arange(50) % 4)),
    Case("powers", 1, 64, dict(x=floats(50), y=outputs(50), z=outputs(50, kind="f8"), n=50),
         y=lambda d: d["x"] ** 2 + np.abs(d["x"]) ** 1.5 + 2 * np.sqrt(np.arange(50)),
         z=lambda d: d["x"] ** 3 + np.maximum(d["x"], 0.25)),
]  # fmt: skip
