"""Runs as Parquet, through pyarrow: a table of samples or of runs, read back bit for bit.

Both tables hold the runs' documents in the file's metadata, without samples; these stand in the
table. pyarrow is an extra, imported when a file is written or read.
"""

from __future__ import annotations

import base64
import importlib
import importlib.util
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from gpuexplorer.core.errors import CannotRunHere, ExplorerError, InputError
from gpuexplorer.core.frozen import to_get
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sharing import shared
from gpuexplorer.exchange.files import atomic_file
from gpuexplorer.exchange.guard import look_over, not_readable
from gpuexplorer.exchange.imported import Imported
from gpuexplorer.exchange.read_document import read_run
from gpuexplorer.exchange.sanity import MOST_SAMPLES
from gpuexplorer.exchange.table import (
    RUN_COLUMNS,
    Label,
    batch_columns,
    run_row,
    sample_head,
    throttled_column,
)

FORMAT = "Parquet"
Table = Literal["samples", "runs"]
DOCUMENTS = b"gpuexplorer/runs"
"""The metadata's key: documents without samples, as JSON, zlib, base64."""
MOST_ROWS = 4 * MOST_SAMPLES
MOST_DOCUMENTS_B = 256 << 20


def _arrow() -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise CannotRunHere(
            f"Parquet needs pyarrow, which cannot be imported here ({error})",
            remedy=to_get("gpuexplorer[parquet]", in_an_engine=False),
        ) from None


def check_parquet() -> None:
    """Raise CannotRunHere without pyarrow; for use before long work."""
    if importlib.util.find_spec("pyarrow") is None:
        _arrow()


def write_parquet(
    results: Sequence[RunResult],
    path: Path,
    *,
    table: Table = "samples",
    labels: Mapping[str, Label] | None = None,
) -> None:
    """Write one row a sample or one row a run; InputError when the file cannot be written.

    The table of runs has a column ``samples_s``, a list of seconds a row. Raises CannotRunHere
    without pyarrow.
    """
    arrow, parquet = _arrow()
    made = _samples(arrow, results) if table == "samples" else _runs(arrow, results, labels or {})
    bare = [msgspec.structs.replace(result, samples_s=[]) for result in results]
    document = shared(msgspec.json.encode(bare), [run.environment for run in bare])
    packed = base64.b64encode(zlib.compress(document, 6))
    made = made.replace_schema_metadata({DOCUMENTS: packed})
    with atomic_file(path) as stream:
        parquet.write_table(made, stream, compression="zstd")


def _samples(arrow: Any, results: Sequence[RunResult]) -> Any:
    parts = [_sample_table(arrow, result) for result in results]
    if not parts:
        raise InputError("there are no runs to write")
    return arrow.concat_tables(parts)


def _sample_table(arrow: Any, result: RunResult) -> Any:
    count = len(result.samples_s)
    batch, start = batch_columns(result)
    columns = {
        name: arrow.DictionaryArray.from_arrays(
            arrow.array(np.zeros(count, dtype=np.int32)), arrow.array([value], arrow.string())
        )
        for name, value in sample_head(result).items()
    }
    columns["batch"] = _column(arrow, batch, count, arrow.int64())
    columns["batch_start_s"] = _column(arrow, start, count, arrow.float64())
    columns["sample"] = arrow.array(np.arange(count, dtype=np.int64))
    columns["duration_s"] = arrow.array(np.asarray(result.samples_s, dtype=np.float64))
    columns["throttled"] = _column(arrow, throttled_column(result), count, arrow.bool_())
    return arrow.table(columns)


def _column(arrow: Any, values: npt.NDArray[Any] | None, count: int, kind: Any) -> Any:
    return arrow.nulls(count, kind) if values is None else arrow.array(values, kind)


def _runs(arrow: Any, results: Sequence[RunResult], labels: Mapping[str, Label]) -> Any:
    types = {
        str: arrow.string(), int: arrow.int64(), float: arrow.float64(), bool: arrow.bool_(),
        list: arrow.list_(arrow.string()),
    }  # fmt: skip
    rows = [run_row(result, labels.get(result.id)) for result in results]
    columns = {
        name: arrow.array([row[name] for row in rows], types[kind])
        for name, kind in RUN_COLUMNS.items()
    }
    columns["samples_s"] = arrow.array([r.samples_s for r in results], arrow.list_(arrow.float64()))
    return arrow.table(columns)


def read_parquet(data: bytes, path: Path) -> Imported:
    """Read a table that this program wrote; InputError for any other, and for a broken one."""
    arrow, parquet = _arrow()
    try:
        return Imported(FORMAT, tuple(_read(arrow, parquet, data, path)))
    except ExplorerError:
        raise
    except MemoryError:
        raise InputError(f"{path} claims to hold more than fits the memory") from None
    except Exception as error:  # noqa: BLE001 - pyarrow raises its own and Python's own errors
        raise not_readable(path, FORMAT, error) from None


def _read(arrow: Any, parquet: Any, data: bytes, path: Path) -> list[RunResult]:
    file = parquet.ParquetFile(arrow.BufferReader(data))
    packed = (file.schema_arrow.metadata or {}).get(DOCUMENTS)
    if packed is None:
        raise InputError(
            f"{path} is a Parquet file of another program",
            remedy="only tables that GPU Explorer wrote can be imported",
        )
    if not 0 < file.metadata.num_rows <= MOST_ROWS:
        raise InputError(
            f"{path} has {file.metadata.num_rows} rows, and up to {MOST_ROWS} are read"
        )
    unpacking = zlib.decompressobj()
    text = unpacking.decompress(base64.b64decode(packed, validate=True), MOST_DOCUMENTS_B)
    if unpacking.unconsumed_tail or not unpacking.eof:
        raise InputError(f"{path} holds runs that are torn or too large")
    look_over(text, path)
    bare = msgspec.json.decode(text, type=list[RunResult])
    by_run = "samples_s" in file.schema_arrow.names
    wanted = ["run", "samples_s"] if by_run else ["run", "sample", "duration_s"]
    table = file.read(columns=wanted, use_threads=False)
    table.validate(full=True)
    durations = _by_run(table) if by_run else _by_sample(table)
    if len({r.id for r in bare}) != len(bare) or set(durations) != {r.id for r in bare}:
        raise InputError(f"{path} holds other runs in its table than in its documents")
    # Through JSON once more, so that what is checked for a document is checked here too.
    return [
        read_run(msgspec.json.encode(msgspec.structs.replace(r, samples_s=durations[r.id])), path)
        for r in bare
    ]


def _by_run(table: Any) -> dict[str, list[float]]:
    return dict(zip(table["run"].to_pylist(), table["samples_s"].to_pylist(), strict=True))


def _by_sample(table: Any) -> dict[str, list[float]]:
    rows = table["run"].to_pylist()
    numbers: dict[str, int] = {}
    number_of = np.fromiter((numbers.setdefault(r, len(numbers)) for r in rows), int, len(rows))
    together = np.argsort(number_of, kind="stable")
    ends = np.cumsum(np.bincount(number_of))
    order = np.split(table["sample"].to_numpy()[together], ends[:-1])
    times = np.split(table["duration_s"].to_numpy()[together], ends[:-1])
    found: dict[str, list[float]] = {}
    for run, places, durations in zip(numbers, order, times, strict=True):
        if not np.array_equal(places, np.arange(len(places))):
            raise InputError("the samples of a run are out of order or incomplete")
        found[run] = durations.tolist()
    return found
