"""Documents of our own, as JSON: one run, several runs, a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from gpuexplorer.core.chunked import compact
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sharing import shared
from gpuexplorer.exchange.files import atomic_file

RUNS_SCHEMA = "gpuexplorer/runs/1"


def run_json(result: RunResult) -> bytes:
    """Return one run's document: a line for each key, so that it also reads well."""
    fields = msgspec.structs.asdict(result)
    if result.origin is None:
        del fields["origin"]
    lines = (f"  {compact(key)}: {compact(value)}" for key, value in fields.items())
    return shared(("{\n" + ",\n".join(lines) + "\n}\n").encode(), [result.environment])


def runs_json(results: Sequence[RunResult]) -> bytes:
    """Return several runs' document, ``{"schema", "runs"}``: a line for each run."""
    runs = ",\n".join(f"    {compact(result)}" for result in results)
    head = f'{{\n  "schema": {compact(RUNS_SCHEMA)},\n  "runs": [\n'
    data = f"{head}{runs}\n  ]\n}}\n".encode()
    return shared(data, [result.environment for result in results])


def write_json(result: RunResult | Sequence[RunResult], path: Path) -> None:
    """Write one run's document, or several runs'; InputError when the file cannot be written."""
    data = run_json(result) if isinstance(result, RunResult) else runs_json(result)
    with atomic_file(path) as stream:
        stream.write(data)
