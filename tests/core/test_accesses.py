"""Requests of a warp: each comes back as it was, and thousands take the room of an array."""

from __future__ import annotations

import sys

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.core.accesses import MOST_REQUESTS, WARP, AccessRequest, AccessRequests

LANES = st.lists(st.integers(-1, 1 << 40), min_size=WARP, max_size=WARP)


@given(st.lists(st.tuples(st.integers(0, 99), LANES), max_size=8))
def test_requests_come_back_as_they_were(given_requests: list[tuple[int, list[int]]]) -> None:
    rows = [row for row, _ in given_requests]
    requests = AccessRequests.of(rows, [lanes for _, lanes in given_requests])
    assert len(requests) == len(rows) and bool(requests) == bool(rows)
    expected = [
        AccessRequest(row, tuple(None if at < 0 else at for at in lanes))
        for row, lanes in given_requests
    ]
    assert list(requests) == expected
    assert [requests[i] for i in range(len(rows))] == expected
    for row in range(100):
        assert requests.first_of(row) == (rows.index(row) if row in rows else None)
    sent = msgspec.msgpack.decode(msgspec.msgpack.encode(requests), type=AccessRequests)
    assert sent == requests


def test_requests_are_not_thousands_of_objects() -> None:
    offsets = np.arange(MOST_REQUESTS * WARP).reshape(-1, WARP)
    sent = msgspec.msgpack.encode(AccessRequests.of(np.zeros(MOST_REQUESTS), offsets))
    before = sys.getallocatedblocks()
    kept = msgspec.msgpack.decode(sent, type=AccessRequests)
    assert sys.getallocatedblocks() - before < 100
    assert kept[MOST_REQUESTS - 1].offsets_B[-1] == MOST_REQUESTS * WARP - 1
    with pytest.raises(IndexError):
        kept[MOST_REQUESTS]
