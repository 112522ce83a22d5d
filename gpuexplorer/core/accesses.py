"""What one warp of a kernel asks of memory, counted from the source while it ran on the CPU device.

These are the accesses that the source asks for, before a compiler joins, hoists or keeps values in
registers. A request is what the 32 lanes of a warp ask for in one step. In global memory it fetches
sectors of 32 bytes; in shared memory the lanes meet in 32 banks of 4 bytes, and each bank gives one
word a pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from gpuexplorer.core.config import Block, RunConfig
from gpuexplorer.core.result import DeviceSummary, Environment
from gpuexplorer.core.units import count

ACCESSES_SCHEMA = "gpuexplorer/accesses/1"
METHOD = "counted from the source, run on the CPU device"
WARP = 32
SECTOR_B = 32
BANKS = 32
BANK_B = 4
WIDEST_B = 16
"""Of a lane's request: what is wider comes in several."""
MOST_ARRAYS = 32
"""Arrays of a kernel whose accesses can be told apart."""
MOST_REQUESTS = 20_000
"""Requests that a document holds for the picture, from the first; the counts hold all."""

AccessKind = Literal["read", "write", "read and write", "atomic"]
"""``read and write`` is ``+=`` and the like: two requests."""
RequestKind = Literal["read", "write", "atomic"]
ArraySpace = Literal["global", "shared"]


class AccessSite(msgspec.Struct, frozen=True):
    """One place of the source that touches memory: the user's file and line, and its text."""

    source: str
    line: int
    text: str
    kind: AccessKind


class AccessArray(msgspec.Struct, frozen=True):
    """An array whose accesses are noted: a parameter of the kernel, or one in shared memory."""

    name: str
    space: ArraySpace
    dynamic: bool = False
    """Whether it is the shared memory whose size the launch says."""


class AccessLook(msgspec.Struct, frozen=True, kw_only=True):
    """Which threads are looked at: a launch of the variant, a block of its grid, a warp of that."""

    launch: int = 0
    """From 0, in the order of the manifest."""
    block: Block = (0, 0, 0)
    """The block's place in the grid along x, y, z, from 0."""
    warp: int = 0
    alone: bool = False
    """Whether the other warps of the block take no notes: quicker, and its bytes are not known."""


class AccessRow(msgspec.Struct, frozen=True, kw_only=True):
    """What the warp asks for at one place of the source, of one array."""

    source: str
    line: int
    text: str
    """The expression, as it stands there."""
    array: str
    space: ArraySpace
    kind: RequestKind
    width_B: int
    """Bytes that a lane asks for."""
    requests: int
    lanes: int
    """Lanes that take part, over all requests."""
    used_B: int
    """Distinct bytes of each request, added up."""
    sectors: int = 0
    """Sectors of 32 bytes, over all requests; 0 in shared memory."""
    least_sectors: int = 0
    """Sectors that as many bytes would take at least if they lay together."""
    passes: int = 0
    """Passes through the banks over all requests; 0 in global memory."""
    least_passes: int = 0
    """Passes without any conflict: wide accesses take 2 or 4."""

    @property
    def asked_B(self) -> int:
        """Bytes that all lanes ask for together."""
        return self.lanes * self.width_B

    @property
    def fetched_B(self) -> int:
        """Bytes of the sectors."""
        return self.sectors * SECTOR_B

    @property
    def sectors_per_request(self) -> float:
        """Sectors that a request fetches on average."""
        return self.sectors / self.requests

    @property
    def conflicts(self) -> int:
        """Passes more than without bank conflicts."""
        return self.passes - self.least_passes


class ArrayAccesses(msgspec.Struct, frozen=True, kw_only=True):
    """What of one array is touched."""

    name: str
    space: ArraySpace
    nbytes: int
    """Its size, in bytes."""
    warp_B: int
    """Distinct bytes that the warp touches."""
    block_B: int | None
    """Distinct bytes that the block touches; None where not every warp was recorded."""
    block_read_B: int | None = None
    """Bytes that all threads of the block read of it, repeats included; None as before."""
    block_written_B: int | None = None


class AccessRequest(msgspec.Struct, frozen=True, array_like=True):
    """One request: the row it belongs to, and each lane's place in the array in bytes.

    None for a lane that takes no part.
    """

    row: int
    offsets_B: tuple[int | None, ...]


class AccessRequests(msgspec.Struct, frozen=True, array_like=True):
    """Requests of a warp in the order of the program; each is an object while it is looked at.

    As objects of their own, ``MOST_REQUESTS`` would be half a million.
    """

    rows_i4: bytes = b""
    offsets_i8: bytes = b""
    """Each lane's place of each request; -1 for a lane that takes no part."""

    @classmethod
    def of(cls, rows: npt.ArrayLike, offsets_B: npt.ArrayLike) -> AccessRequests:
        """Return requests from the row of each, and their lanes' places: requests × 32."""
        return cls(np.asarray(rows, "<i4").tobytes(), np.asarray(offsets_B, "<i8").tobytes())

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.rows_i4) // 4

    def __getitem__(self, index: int) -> AccessRequest:
        """Return one; IndexError beyond the last."""
        row = int(np.frombuffer(self.rows_i4, "<i4")[index])
        places = np.frombuffer(self.offsets_i8, "<i8").reshape(-1, WARP)[index].tolist()
        return AccessRequest(row, tuple(None if at < 0 else at for at in places))

    def __iter__(self) -> Iterator[AccessRequest]:
        """Yield them in order."""
        return (self[index] for index in range(len(self)))

    def first_of(self, row: int) -> int | None:
        """Return the number of a row's first request; None where it has none here."""
        (found,) = np.nonzero(np.frombuffer(self.rows_i4, "<i4") == row)
        return int(found[0]) if len(found) else None


class CompiledAccess(msgspec.Struct, frozen=True, kw_only=True):
    """What a compiler made of the accesses of one kind at one line: instructions of one form."""

    source: str
    line: int
    space: ArraySpace | None
    """None where the instruction takes an address of either."""
    kind: RequestKind
    opcode: str
    width_B: int | None
    """Bytes that a lane moves with each; None where the instruction does not say."""
    instructions: int
    in_loop: int
    """How many of them stand in a loop."""


class CompiledAccesses(msgspec.Struct, frozen=True, kw_only=True):
    """The memory instructions of the kernel on one architecture, or why they are not known."""

    arch: str
    found: tuple[CompiledAccess, ...] = ()
    unknown: str | None = None


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """The accesses of one warp in figures, as a backend recorded them."""

    entry: str
    """The kernel."""
    block: Block
    grid: Block
    look: AccessLook
    warps: int
    """Warps of a block."""
    rows: tuple[AccessRow, ...]
    """One for each place of the source and array, in the order of the text."""
    arrays: tuple[ArrayAccesses, ...]
    requests: AccessRequests
    """The first requests of the warp, in the order of the program, ``MOST_REQUESTS`` at most."""
    requests_total: int
    lost: int = 0
    """Accesses of the warp's lanes for which there was no room, and which no count holds."""


class AccessProfile(Trace, frozen=True, kw_only=True):
    """The accesses of one warp; ``accesses_document`` is written."""

    schema: str = ACCESSES_SCHEMA
    time_utc: str
    config: RunConfig
    device: DeviceSummary
    environment: Environment
    method: str = METHOD
    compiled: CompiledAccesses | None = None
    """What they became on the chosen architecture; None where nobody asked."""

    @property
    def limits(self) -> tuple[str, ...]:
        """What is left out, a sentence each."""
        said = []
        if self.lost:
            said.append(
                f"{count(self.lost)} later accesses of these lanes found no room and are not "
                "counted; choose a smaller size."
            )
        if self.requests_total > len(self.requests):
            said.append(
                f"The picture holds the first {count(len(self.requests))} of "
                f"{count(self.requests_total)} requests; the table counts all."
            )
        if any(one.block_B is None for one in self.arrays) and not self.look.alone:
            said.append("There was room for this warp alone: the block's bytes are not known.")
        return tuple(said)

    def _block_B(self, kind: Literal["read", "written"]) -> float | None:
        found = [
            one.block_read_B if kind == "read" else one.block_written_B
            for one in self.arrays
            if one.space == "global"
        ]
        known = [nbytes for nbytes in found if nbytes is not None]
        return sum(known) if len(known) == len(found) else None

    def requested_B(self, kind: Literal["read", "written"]) -> float | None:
        """Return what all threads of the launch ask for, if every block asks for as much."""
        of_block_B = self._block_B(kind)
        x, y, z = self.grid
        return None if of_block_B is None else of_block_B * x * y * z


def accesses_document(profile: AccessProfile) -> AccessProfile:
    """Return a profile to be written as JSON: a request is its row and its lanes' places there."""
    written = bytearray()
    for request in profile.requests:
        written += b"," + msgspec.json.encode(request)
    requests = msgspec.Raw(b"[" + written[1:] + b"]")
    return msgspec.structs.replace(profile, requests=requests)


class Sectors(msgspec.Struct, frozen=True, kw_only=True):
    """What all warps of one launch of the work ask of global memory, if each asks for as much."""

    sectors: int
    """Sectors of 32 bytes."""
    requests: int
    least_sectors: int
    """The fewest that as many bytes would take."""


def sectors_of(profiles: Sequence[AccessProfile]) -> Sectors | None:
    """Add up what all warps fetch, from a warp of each launch.

    None where accesses were lost, and for a kernel whose warps ask nothing of global memory.
    """
    sectors = requests = least = 0
    for one in profiles:
        if one.lost:
            return None
        warps = one.warps * math.prod(one.grid)
        rows = [row for row in one.rows if row.space == "global"]
        sectors += warps * sum(row.sectors for row in rows)
        requests += warps * sum(row.requests for row in rows)
        least += warps * sum(row.least_sectors for row in rows)
    if not requests:
        return None
    return Sectors(sectors=sectors, requests=requests, least_sectors=least)
