"""Which format a file is, and reading and writing runs in any of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

import msgspec

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.exchange.files import check_target, read_file
from gpuexplorer.exchange.guard import check_text, look_over, not_readable
from gpuexplorer.exchange.imported import Imported, SkippedRun
from gpuexplorer.exchange.table import CSV_COLUMNS, RUN_COLUMNS, Label

Format = Literal["json", "csv", "parquet", "nvbench", "trace"]
Table = Literal["samples", "runs"]
FORMATS: tuple[str, ...] = get_args(Format)
TITLES: dict[Format, str] = {
    "json": "JSON document",
    "csv": "CSV table",
    "parquet": "Parquet table",
    "nvbench": "NVBench JSON",
    "trace": "Chrome trace (Perfetto)",
}
ENDINGS: dict[str, Format] = {
    ".nvbench.json": "nvbench",
    ".trace.json": "trace",
    ".json": "json",
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
"""The longer ones first."""
MOST_FILE_B = 512 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def format_of(path: Path) -> Format:
    """Return the format that a file's name asks for; InputError when it asks for none."""
    name = path.name.lower()
    for ending, chosen in ENDINGS.items():
        if name.endswith(ending):
            return chosen
    raise InputError(
        f"cannot tell a format from '{path.name}'",
        remedy=f"end it in {', '.join(ENDINGS)}, or name the format",
    )


def check_format(path: Path, chosen: Format) -> None:
    """Raise what ``write_runs`` would, as far as it shows before any work."""
    check_target(path)
    if chosen == "parquet":
        from gpuexplorer.exchange.parquet import check_parquet

        check_parquet()


def write_runs(
    results: Sequence[RunResult],
    path: Path,
    chosen: Format | None = None,
    *,
    table: Table = "samples",
    labels: Mapping[str, Label] | None = None,
    skipped: Sequence[SkippedRun] = (),
) -> None:
    """Write runs to a file, whole or not at all.

    ``table`` chooses between a row for each sample and one for each run, where the format is a
    table. ``labels`` are what a user noted on runs, by id, for tables of runs; ``skipped`` are the
    configurations of a search that have no result, for NVBench. Raises InputError when there are no
    runs or the file cannot be written, CannotRunHere when the format needs what is not installed.
    """
    chosen = chosen or format_of(path)
    if not results:
        raise InputError(f"there are no runs to write to {path}")
    if chosen == "json":
        from gpuexplorer.exchange.document import write_json

        write_json(results[0] if len(results) == 1 else results, path)
    elif chosen == "csv":
        from gpuexplorer.exchange.csv_table import write_csv, write_run_csv

        if table == "runs":
            write_run_csv(results, path, labels)
        else:
            write_csv(results, path)
    elif chosen == "parquet":
        from gpuexplorer.exchange.parquet import write_parquet

        write_parquet(results, path, table=table, labels=labels)
    elif chosen == "nvbench":
        from gpuexplorer.exchange.nvbench import write_nvbench

        write_nvbench(results, path, skipped)
    else:
        from gpuexplorer.exchange.chrome_trace import write_trace

        write_trace(results, path)


class _Head(msgspec.Struct):
    """What tells one kind of JSON from another."""

    schema: msgspec.Raw = msgspec.Raw()
    benchmarks: msgspec.Raw = msgspec.Raw()
    traceEvents: msgspec.Raw = msgspec.Raw()


def read_runs(path: Path) -> Imported:
    """Read a file of runs, whatever format it is in.

    Documents of ours, our Parquet tables, NVBench's JSON with its sample files, and Kernel Tuner's
    caches. Raises InputError in one sentence for anything else and for whatever is wrong with it;
    CannotRunHere when the format needs what is not installed.
    """
    data = read_file(path, MOST_FILE_B)
    if data.startswith(b"PAR1"):
        from gpuexplorer.exchange.parquet import read_parquet

        return read_parquet(data, path)
    data = data.removeprefix(BYTE_ORDER_MARK)
    if data[:4096].lstrip()[:1] != b"{":
        raise _unknown(data, path)
    check_text(data, path)
    from gpuexplorer.exchange.kernel_tuner import is_cache, read_cache

    try:
        head = msgspec.json.decode(data, type=_Head)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        if is_cache(data):
            return read_cache(data, path)
        look_over(data, path)
        raise not_readable(path, "JSON", error) from None
    if bytes(head.benchmarks):
        from gpuexplorer.exchange.read_nvbench import read_nvbench

        return read_nvbench(data, path)
    if is_cache(data) and not bytes(head.schema):
        return read_cache(data, path)
    look_over(data, path)
    if bytes(head.traceEvents):
        raise InputError(
            f"{path} is a trace for a viewer and does not hold the runs",
            remedy="export the runs as JSON or Parquet and import that",
        )
    schema = _schema(head)
    if schema is None:
        raise InputError(
            f"{path} is JSON that holds no runs",
            remedy="give a document of GPU Explorer, NVBench's JSON or a Kernel Tuner cache",
        )
    from gpuexplorer.exchange.read_document import read_document

    return read_document(data, path, schema)


def _schema(head: _Head) -> str | None:
    try:
        return msgspec.json.decode(bytes(head.schema) or b"null", type=str | None)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _unknown(data: bytes, path: Path) -> InputError:
    """Say what a file is that cannot be imported, where it can be told."""
    if not data.strip():
        return InputError(f"{path} is empty", remedy="export it again")
    first = data[:4096].splitlines()[0].strip() if data[:4096].splitlines() else b""
    for columns, what in ((CSV_COLUMNS, "samples"), (tuple(RUN_COLUMNS), "runs")):
        if b"," in first and ",".join(columns).encode().startswith(first):  # or an older one's
            return InputError(
                f"{path} is a table of {what} as CSV, which leaves out what else a run holds",
                remedy="export the runs as JSON or Parquet and import that",
            )
    if data.lstrip()[:9].lower() == b"<!doctype":
        return InputError(
            f"{path} is a report for reading", remedy="import the data that is attached to it"
        )
    return InputError(
        f"{path} is no file of runs that is known here",
        remedy="give a document or a Parquet table of GPU Explorer, NVBench's JSON or a Kernel "
        "Tuner cache",
    )
