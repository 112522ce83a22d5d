"""The counted accesses of a warp in a session file."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from gpuexplorer.core.accesses import (
    MOST_ARRAYS,
    MOST_REQUESTS,
    WARP,
    WIDEST_B,
    AccessProfile,
    AccessRequests,
    AccessRow,
)
from gpuexplorer.core.chunked import encode as encode_json
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.sharing import shared
from gpuexplorer.gui.model.part_file import check_config, decode_part, require
from gpuexplorer.gui.model.warp import grid_words
from gpuexplorer.results.accesses import place_words, sheet_of

SCHEMA = "gpuexplorer/accesses-view/1"
MOST_THREADS = 1 << 14
"""Of a block: twice as many as any device runs."""
MOST_ROWS = 10_000
"""Places of a source."""
MOST_LAUNCHES = 10_000
MOST_MADE = 1_000_000
"""Rows times instructions, which are held against each other."""


class HeldAccesses(msgspec.Struct, frozen=True):
    """What the view of accesses shows."""

    profile: AccessProfile
    beside: AccessProfile | None = None
    """What it is held against."""
    against: RunConfig | None = None
    """The configuration of that, also before it was counted."""
    origin: str = ""
    """The session file that it comes from; empty where it was counted here."""


class _Document(msgspec.Struct, kw_only=True):
    schema: str = ""
    profile: AccessProfile
    beside: AccessProfile | None = None
    against: RunConfig | None = None


def encode(held: HeldAccesses) -> bytes:
    """Return counted accesses as JSON, without where anything lies on this machine."""
    document = _Document(
        schema=SCHEMA, profile=held.profile, beside=held.beside, against=held.against
    )
    profiles = [one for one in (held.profile, held.beside) if one is not None]
    return shared(encode_json(document), [one.environment for one in profiles])


def decode(data: bytes, origin: str) -> HeldAccesses:
    """Return what the file ``origin`` holds; InputError when it does not hold together."""
    found = decode_part(data, _Document, SCHEMA, "the counted accesses")
    if found.against is not None:
        check_config(found.against)
    for one in (found.profile, found.beside):
        if one is not None:
            check_profile(one)
    try:  # as they are shown
        sheet_of(found.profile, found.beside)
        place_words(found.profile)
        grid_words(found.profile, 1)
    except (ValueError, ArithmeticError, LookupError, TypeError) as error:
        raise InputError(f"the counted accesses cannot be shown: {error}") from None
    return HeldAccesses(found.profile, found.beside, found.against, origin)


def check_profile(profile: AccessProfile) -> None:
    """Raise InputError for what no launch can have, and for places that are none."""
    check_config(profile.config)
    block, grid, look = profile.block, profile.grid, profile.look
    require(
        all(size >= 1 for size in block)
        and math.prod(block) <= MOST_THREADS
        and all(1 <= size < 2**31 for size in grid),
        "a grid that cannot be",
    )
    require(
        profile.warps == -(-math.prod(block) // WARP)
        and 0 <= look.warp < profile.warps
        and 0 <= look.launch < MOST_LAUNCHES
        and all(0 <= at < size for at, size in zip(look.block, grid, strict=True)),
        "a warp that is not in the grid",
    )
    made = len(profile.compiled.found) if profile.compiled is not None else 0
    require(
        len(profile.rows) <= MOST_ROWS
        and len(profile.arrays) <= MOST_ARRAYS
        and len(profile.rows) * made <= MOST_MADE,
        "too many rows",
    )
    for row in profile.rows:
        _check_row(row)
    for array in profile.arrays:
        figures = (
            array.nbytes, array.warp_B, array.block_B, array.block_read_B, array.block_written_B,
        )  # fmt: skip
        require(all(0 <= (one or 0) < 2**63 for one in figures), "an array of an odd size")
    _check_requests(profile.requests, len(profile.rows))
    require(
        len(profile.requests) <= profile.requests_total < 2**63 and 0 <= profile.lost < 2**63,
        "fewer requests in all than there are",
    )


def _check_row(row: AccessRow) -> None:
    figures = (
        row.lanes, row.used_B, row.sectors, row.least_sectors, row.passes, row.least_passes,
        row.line,
    )  # fmt: skip
    require(
        1 <= row.requests < 2**63
        and 1 <= row.width_B <= WIDEST_B
        and all(0 <= one < 2**63 for one in figures),
        "an access with odd figures",
    )


def _check_requests(requests: AccessRequests, rows: int) -> None:
    """Raise InputError unless every request is of a row, and its lanes' places are whole."""
    number, rest = divmod(len(requests.rows_i4), 4)
    whole = not rest and number <= MOST_REQUESTS and len(requests.offsets_i8) == number * WARP * 8
    require(whole, "requests that are not whole")
    of_rows = np.frombuffer(requests.rows_i4, "<i4")
    places = np.frombuffer(requests.offsets_i8, "<i8")
    require(bool(np.all((of_rows >= 0) & (of_rows < rows))), "a request of no row")
    require(bool(np.all((places >= -1) & (places < 2**62))), "a lane at an odd place")
