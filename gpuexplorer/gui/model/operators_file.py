"""The recorded operators of an iteration in a session file."""

from __future__ import annotations

from typing import Annotated

import msgspec

from gpuexplorer.core.chunked import encode as encode_json
from gpuexplorer.core.operators import MAX_CALLS, MAX_OPERATORS, OperatorProfile
from gpuexplorer.core.sharing import shared
from gpuexplorer.gui.model.flame import Flame, RecordedProfile
from gpuexplorer.gui.model.part_file import check_config, decode_part, require

SCHEMA = "gpuexplorer/operators-view/1"
LONGEST_S = 1e9
"""Thirty years."""
MOST_LEVELS = 1_000_000
"""Calls nested in each other, of all threads together."""


class _Document(msgspec.Struct, kw_only=True):
    schema: str = ""
    title: Annotated[str, msgspec.Meta(max_length=200)]
    profile: OperatorProfile


def encode(held: RecordedProfile) -> bytes:
    """Return recorded operators as JSON, without where anything lies on this machine."""
    document = _Document(schema=SCHEMA, title=held.title, profile=held.profile)
    return shared(encode_json(document), [held.profile.environment])


def decode(data: bytes, origin: str) -> RecordedProfile:
    """Return what the file ``origin`` holds; InputError when it does not hold together."""
    found = decode_part(data, _Document, SCHEMA, "the recorded operators")
    _check(found.profile)
    return RecordedProfile(found.profile, Flame(found.profile), found.title, origin)


def _check(profile: OperatorProfile) -> None:
    """Raise InputError for figures that no profiler can have told, and places that are none."""
    check_config(profile.config)
    calls, operators, tracks = profile.calls, profile.operators, profile.tracks
    held = len(calls), len(operators), len(profile.names)
    require(
        all(n <= most for n, most in zip(held, (MAX_CALLS, MAX_OPERATORS, MAX_CALLS), strict=True)),
        "more operators than are recorded",
    )
    require(
        len(calls) <= profile.calls_total < 2**63
        and len(operators) <= profile.operators_total < 2**63,
        "fewer operators in all than there are",
    )
    require(
        all(track.levels >= 1 for track in tracks)
        and sum(track.levels for track in tracks) <= MOST_LEVELS,
        "a thread of an odd depth",
    )
    for call in calls:
        require(
            0 <= call.name < len(profile.names)
            and 0 <= call.track < len(tracks)
            and 0 <= call.depth < tracks[call.track].levels,
            "a call of nothing that it knows",
        )
        require(
            abs(call.start_s) <= LONGEST_S and 0 <= call.duration_s <= LONGEST_S,
            "a call at an odd time",
        )
    require(
        all(0 <= time_s <= LONGEST_S for time_s in (profile.iteration_s, profile.plain_s or 0.0)),
        "an iteration of an odd length",
    )
    for one in operators:
        times_s = one.self_s, one.total_s, one.device_self_s or 0.0, one.device_total_s or 0.0
        require(
            all(abs(time_s) <= LONGEST_S for time_s in times_s) and abs(one.share) <= LONGEST_S,
            "an operator with odd times",
        )
        require(0 <= one.calls < 2**63 and abs(one.memory_B or 0.0) < 1e30, "an odd operator")
