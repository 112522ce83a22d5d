"""The recorded operators of an iteration in a session file."""

from __future__ import annotations

from gpuexplorer.core.chunked import encode as encode_json
from gpuexplorer.core.operators import MAX_CALLS, MAX_OPERATORS, OPERATORS_SCHEMA, OperatorProfile
from gpuexplorer.core.sharing import shared
from gpuexplorer.gui.model.flame import Flame, RecordedProfile
from gpuexplorer.gui.model.part_file import check_config, decode_part, require

LONGEST_S = 1e9
"""Thirty years."""


def encode(held: RecordedProfile) -> bytes:
    """Return recorded operators as their document, without where anything lies on this machine."""
    return shared(encode_json(held.profile), [held.profile.environment])


def decode(data: bytes, origin: str) -> RecordedProfile:
    """Return what the file ``origin`` holds; InputError when it does not hold together."""
    profile = decode_part(data, OperatorProfile, OPERATORS_SCHEMA, "the recorded operators")
    _check(profile)
    return RecordedProfile(profile, Flame(profile), origin)


def _check(profile: OperatorProfile) -> None:
    """Raise InputError for figures that no profiler can have told, and places that are none."""
    check_config(profile.config)
    calls, operators, tracks = profile.calls, profile.operators, profile.tracks
    require(
        len(calls) <= MAX_CALLS
        and len(operators) <= MAX_OPERATORS
        and len(profile.names) <= MAX_CALLS,
        "more operators than are recorded",
    )
    require(
        len(calls) <= profile.calls_total < 2**63
        and len(operators) <= profile.operators_total < 2**63,
        "fewer operators in all than there are",
    )
    require(  # every level of a thread has a call
        all(track.levels >= 1 for track in tracks)
        and sum(track.levels for track in tracks) <= len(calls),
        "a thread of an odd depth",
    )
    for call in calls:
        require(
            0 <= call.name < len(profile.names)
            and 0 <= call.track < len(tracks)
            and 0 <= call.depth < tracks[call.track].levels,
            "a call of nothing that it knows",
        )
    figures_s = [profile.iteration_s, profile.plain_s]
    figures_s += [time_s for call in calls for time_s in (call.start_s, call.duration_s)]
    for one in operators:
        figures_s += [one.self_s, one.total_s, one.device_self_s, one.device_total_s, one.share]
        require(0 <= one.calls < 2**63 and abs(one.memory_B or 0.0) < 1e30, "an odd operator")
    require(
        all(abs(time_s) <= LONGEST_S for time_s in figures_s if time_s is not None), "odd times"
    )
