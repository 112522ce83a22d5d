"""The stores that the tests of the history run on: a file, and a PostgreSQL server's database."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.result import RunResult
from gpuexplorer.history.store import Store
from tests.support import postgres
from tests.support.results import made_result

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """An empty database on a server, shared by the tests: each has a schema of its own there."""
    named = os.environ.get(postgres.URL_VARIABLE)
    if named:
        yield named
        return
    programs = postgres.find_programs()
    if programs is None:
        pytest.skip(f"PostgreSQL is not installed, and {postgres.URL_VARIABLE} names no server")
    with postgres.server(programs) as url:
        yield url


@pytest.fixture
def new_schema(server_url: str) -> Callable[[], str]:
    """Return a function that gives the URL of an empty place on the server."""

    def make() -> str:
        import psycopg

        name = f"test_{os.getpid()}_{next(_numbers)}"
        with psycopg.connect(server_url, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}".encode())
        separator = "&" if "?" in server_url else "?"
        return f"{server_url}{separator}options={quote(f'-c search_path={name}')}"

    return make


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a store that is not there yet, of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "history.sqlite")
    make: Callable[[], str] = request.getfixturevalue("new_schema")
    return make()


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    """An empty store of each kind."""
    with Store.open(store_url) as opened:
        yield opened


_PATTERN = made_result(40, 1e-3)


def made_run(number: int, **changes: object) -> RunResult:
    """Return the run with this number: later ones are later, and slower by a millisecond each."""
    config = {k: v for k, v in changes.items() if k in RunConfig.__struct_fields__}
    fields = {k: v for k, v in changes.items() if k not in config}
    factor = number + 1
    timing, throughput = _PATTERN.timing, _PATTERN.throughput
    assert throughput.flop_per_s is not None and throughput.bandwidth_B_per_s is not None
    time = f"2026-01-{1 + number // 1440:02d}T{number // 60 % 24:02d}:{number % 60:02d}:00+00:00"
    run = msgspec.structs.replace(
        _PATTERN,
        id=f"{number * 2654435761 % 2**128:032x}",
        time_utc=time,
        config=msgspec.structs.replace(_PATTERN.config, **config),
        timing=msgspec.structs.replace(timing, median_s=timing.median_s * factor),
        samples_s=[sample * factor for sample in _PATTERN.samples_s],
        throughput=msgspec.structs.replace(
            throughput,
            flop_per_s=throughput.flop_per_s / factor,
            bandwidth_B_per_s=throughput.bandwidth_B_per_s / factor,
        ),
    )
    return msgspec.structs.replace(run, **fields)
