"""Types of documents' fields: the limits of a figure or a name stand where its type does.

A decoder refuses what lies outside and names the place. Nothing is checked where a value is made,
so a limit must hold for whatever can be measured. A figure that is not finite fits none of them.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

Seconds = Annotated[float, Meta(ge=0, le=1e9)]
"""A time or a duration, up to 30 years."""
Time = Annotated[float, Meta(gt=0, le=1e9)]
"""A time that is divided by, or drawn on a logarithmic axis."""
Amount = Annotated[float, Meta(ge=0, lt=1e30)]
"""Operations, bytes, or as many of them a second."""
Ratio = Annotated[float, Meta(gt=0, lt=1e30)]
"""A time over another."""
Error = Annotated[float, Meta(ge=0)]
"""A distance from what is right, relative to it."""
Tolerance = Annotated[float, Meta(gt=0, lt=1)]
"""How far from 1 a ratio may be and count as 1."""
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Positive = Annotated[int, Meta(ge=1, lt=2**40)]
"""Elements along an axis of a problem, threads along one of a block, blocks along one of a grid."""
Tunable = Annotated[int, Meta(gt=-(2**40), lt=2**40)]
Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:+-]*\Z", max_length=200)]
"""What a workload, a variant or a device is called: it may stand in a command or a file's name."""
Symbol = Annotated[str, Meta(pattern=r"^\w+\Z", max_length=200)]
"""What a manifest calls a size or a tunable; letters of any alphabet."""
