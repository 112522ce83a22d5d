"""Accesses of a warp made by hand: one row in global memory and one in shared memory."""

from __future__ import annotations

from typing import Any

import msgspec

from gpuexplorer.core.accesses import (
    AccessLook,
    AccessProfile,
    AccessRequests,
    AccessRow,
    ArrayAccesses,
)
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.result import DeviceSummary, Environment
from tests.support.problems import device
from tests.support.results import made_config


def made_accesses(
    config: RunConfig | None = None, on: DeviceInfo | None = None, **changes: Any
) -> AccessProfile:
    """Return a warp that asks for 16 sectors in 4 requests, where 8 would do, and for 3 passes."""
    row = AccessRow(
        source="x.cu", line=1, text="A[i]", array="A", space="global", kind="read", width_B=4,
        requests=4, lanes=128, used_B=256, sectors=16, least_sectors=8,
    )  # fmt: skip
    shared = msgspec.structs.replace(
        row, space="shared", array="tile", sectors=0, least_sectors=0, passes=3, least_passes=1
    )
    where = DeviceSummary.of(on or device(threads=1))
    profile = AccessProfile(
        entry="kernel", block=(16, 16, 1), grid=(3, 2, 1), look=AccessLook(), warps=8,
        rows=(row, shared), arrays=(), requests=AccessRequests(), requests_total=8,
        time_utc="", config=config or made_config(), device=where,
        environment=Environment(gpuexplorer=None, python=None),
    )  # fmt: skip
    return msgspec.structs.replace(profile, **changes)


def drawn_accesses() -> AccessProfile:
    """Return the same with requests to draw, and what a template of C++ may be called."""
    lanes = [[4 * lane for lane in range(31)] + [-1], [128 * lane for lane in range(32)]]
    profile = made_accesses()
    row, shared = profile.rows
    return msgspec.structs.replace(
        profile,
        entry="reduce<float, 256>",
        rows=(msgspec.structs.replace(row, text="A[i <n ? i : 0]"), shared),
        arrays=(ArrayAccesses(name="A", space="global", nbytes=4096, warp_B=256, block_B=None),),
        requests=AccessRequests.of([0, 1], lanes),
    )
