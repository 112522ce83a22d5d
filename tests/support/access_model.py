"""What the shipped kernels ask of memory, written down anew in plain Python, and counted with sets.

Nothing here knows the program's own counting: a kernel is a function that yields, for one thread,
what it touches in order. A step is told apart by what its loops were at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

Step = tuple[object, ...]


class Touch(NamedTuple):
    """One access of one thread: the source's expression, the loops' counters, and where."""

    text: str
    kind: str
    step: Step
    array: str
    element: int


class Thread(NamedTuple):
    """A thread's place, and its block's."""

    x: int
    y: int
    bx: int
    by: int
    width: int
    height: int
    grid_x: int


Program = Callable[[Thread, int, int], Iterator[Touch]]
"""What a thread does for a size N and a tile's length."""


class Counted(NamedTuple):
    """What one expression asks for: as ``AccessRow`` has it."""

    requests: int
    lanes: int
    used_B: int
    sectors: int
    least_sectors: int
    passes: int
    least_passes: int


def number(t: Thread) -> int:
    return t.bx * t.width + t.x


def matmul(t: Thread, n: int, _: int, *, swapped: bool = False) -> Iterator[Touch]:
    row, col = t.by * t.height + t.y, t.bx * t.width + t.x
    if swapped:
        row, col = t.bx * t.width + t.x, t.by * t.height + t.y
    if row < n and col < n:
        for k in range(n):
            yield Touch("A[row * N + k]", "read", (k,), "A", row * n + k)
            yield Touch("B[k * N + col]", "read", (k,), "B", k * n + col)
        yield Touch("C[row * N + col]", "write", (), "C", row * n + col)


def uncoalesced(t: Thread, n: int, tile: int) -> Iterator[Touch]:
    yield from matmul(t, n, tile, swapped=True)


def tiled_matmul(t: Thread, n: int, tile: int) -> Iterator[Touch]:
    row, col, behind = t.by * t.height + t.y, t.bx * t.width + t.x, t.height * tile
    for start in range(0, n, tile):
        for turn, k in enumerate(range(t.x, tile, t.width)):
            step = (start, turn)
            if row < n and start + k < n:
                yield Touch("A[row * N + start + k]", "read", step, "A", row * n + start + k)
            yield Touch("tileA[y * TILE + k]", "write", step, "tiles", t.y * tile + k)
        for turn, k in enumerate(range(t.y, tile, t.height)):
            step = (start, turn)
            if start + k < n and col < n:
                yield Touch("B[(start + k) * N + col]", "read", step, "B", (start + k) * n + col)
            at = behind + k * t.width + t.x
            yield Touch("tileB[k * width + x]", "write", step, "tiles", at)
        for k in range(tile):
            at = behind + k * t.width + t.x
            yield Touch("tileA[y * TILE + k]", "read", (start, k), "tiles", t.y * tile + k)
            yield Touch("tileB[k * width + x]", "read", (start, k), "tiles", at)
    if row < n and col < n:
        yield Touch("C[row * N + col]", "write", (), "C", row * n + col)


def transpose(t: Thread, n: int, _: int) -> Iterator[Touch]:
    row, col = t.by * t.height + t.y, t.bx * t.width + t.x
    if row < n and col < n:
        yield Touch("A[row * N + col]", "read", (), "A", row * n + col)
        yield Touch("B[col * N + row]", "write", (), "B", col * n + row)


def tiled_transpose(t: Thread, n: int, tile: int, *, pad: int = 0) -> Iterator[Touch]:
    first_row, first_col, pitch = t.by * tile, t.bx * tile, tile + pad
    for i, y in enumerate(range(t.y, tile, t.height)):
        for j, x in enumerate(range(t.x, tile, t.width)):
            row, col = first_row + y, first_col + x
            if row < n and col < n:
                yield Touch("A[row * N + col]", "read", (i, j), "A", row * n + col)
                yield Touch("tile[y][x]", "write", (i, j), "tile", y * pitch + x)
    for i, y in enumerate(range(t.y, tile, t.height)):
        for j, x in enumerate(range(t.x, tile, t.width)):
            row, col = first_col + y, first_row + x
            if row < n and col < n:
                yield Touch("tile[x][y]", "read", (i, j), "tile", x * pitch + y)
                yield Touch("B[row * N + col]", "write", (i, j), "B", row * n + col)


def padded_transpose(t: Thread, n: int, tile: int) -> Iterator[Touch]:
    yield from tiled_transpose(t, n, tile, pad=1)


def tree(t: Thread, n: int, _: int, *, source: str = "X", out: str = "sums") -> Iterator[Touch]:
    first = number(t) if source == "X" else t.x
    for turn, i in enumerate(range(first, n, t.grid_x * t.width)):
        yield Touch(f"{source}[i]", "read", (turn,), source, i)
    yield Touch("tree[thread]", "write", ("first",), "tree", t.x)
    left, turn = t.width, 0
    while left > 1:
        lower = (left + 1) // 2
        if t.x + lower < left:
            yield Touch("tree[thread + lower]", "read", (turn,), "tree", t.x + lower)
            yield Touch("tree[thread]", "read", (turn,), "tree", t.x)
            yield Touch("tree[thread]", "write", (turn,), "tree", t.x)
        left, turn = lower, turn + 1
    if t.x == 0:
        yield Touch("tree[0]", "read", (), "tree", 0)
        text = "sums[blockIdx.x]" if out == "sums" else "total[0]"
        yield Touch(text, "write", (), out, t.bx if out == "sums" else 0)


def final_tree(t: Thread, count: int, tile: int) -> Iterator[Touch]:
    yield from tree(t, count, tile, source="sums", out="total")


def shuffled(t: Thread, n: int, _: int, *, source: str = "X", out: str = "sums") -> Iterator[Touch]:
    first = number(t) if source == "X" else t.x
    for turn, i in enumerate(range(first, n, t.grid_x * t.width)):
        yield Touch(f"{source}[i]", "read", (turn,), source, i)
    lane, warp = t.x % 32, t.x // 32
    if lane == 0:
        yield Touch("warpSums[warp]", "write", (), "warpSums", warp)
    if lane < t.width // 32:
        yield Touch("warpSums[lane]", "read", (), "warpSums", lane)
    if t.x == 0:
        text = "sums[blockIdx.x]" if out == "sums" else "total[0]"
        yield Touch(text, "write", (), out, t.bx if out == "sums" else 0)


def final_shuffled(t: Thread, count: int, tile: int) -> Iterator[Touch]:
    yield from shuffled(t, count, tile, source="sums", out="total")


def each(reads: str, written: str) -> Program:
    """Return a kernel in which a thread has one element of each array."""

    def program(t: Thread, n: int, _: int) -> Iterator[Touch]:
        if number(t) < n:
            for name in reads:
                yield Touch(f"{name}[i]", "read", (), name, number(t))
            yield Touch(f"{written}[i]", "write", (), written, number(t))

    return program


def grid_stride(t: Thread, n: int, _: int) -> Iterator[Touch]:
    for turn, i in enumerate(range(number(t), n, t.grid_x * t.width)):
        for name in "AB":
            yield Touch(f"{name}[i]", "read", (turn,), name, i)
        yield Touch("C[i]", "write", (turn,), "C", i)


def counted(
    lanes: dict[int, list[Touch]], itemsize_B: int, shared: frozenset[str]
) -> dict[tuple[str, str], Counted]:
    """Count what the lanes of a warp touch, by expression and kind."""
    found: defaultdict[tuple[str, str, Step, str], list[tuple[int, int]]] = defaultdict(list)
    for lane, touches in lanes.items():
        for touch in touches:
            request = (touch.text, touch.kind, touch.step, touch.array)
            found[request].append((lane, touch.element * itemsize_B))
    rows: dict[tuple[str, str], Counted] = {}
    for (text, kind, _, array), asked in found.items():
        offsets = {offset for _, offset in asked}
        used = len(offsets) * itemsize_B
        sectors = len({byte // 32 for offset in offsets for byte in _bytes(offset, itemsize_B)})
        passes, groups = _passes(asked, itemsize_B) if array in shared else (0, 0)
        new = Counted(
            1, len(asked), used, 0 if array in shared else sectors,
            0 if array in shared else -(-used // 32), passes, groups,
        )  # fmt: skip
        old = rows.get((text, kind), Counted(0, 0, 0, 0, 0, 0, 0))
        rows[text, kind] = Counted(*(a + b for a, b in zip(old, new, strict=True)))
    return rows


def _bytes(offset: int, itemsize_B: int) -> range:
    return range(offset, offset + itemsize_B)


def _passes(asked: list[tuple[int, int]], itemsize_B: int) -> tuple[int, int]:
    """Count passes through 32 banks of 4 bytes: a half of the warp after the other for 8 bytes."""
    lanes_at_once = {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}[itemsize_B]
    passes = groups = 0
    for first in range(0, 32, lanes_at_once):
        words = {
            byte // 4
            for lane, offset in asked
            if first <= lane < first + lanes_at_once
            for byte in _bytes(offset, itemsize_B)
        }
        if words:
            banks = [word % 32 for word in words]
            passes += max(banks.count(bank) for bank in set(banks))
            groups += 1
    return passes, groups
