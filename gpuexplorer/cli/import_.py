"""``gpuexplorer import``: runs from files into the history, each file whole or not at all."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from gpuexplorer.cli.messages import report, say, tell
from gpuexplorer.cli.output import check_targets, json_path, pretty_json, write_document
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.units import plural
from gpuexplorer.history.importing import SCHEMA, ImportedFile, import_file
from gpuexplorer.history.store import Store

REASONS_SHOWN = 5


def command(options: argparse.Namespace) -> int:
    """Import every file, say what came of each, and end with the worst exit code."""
    check_targets(json_path(options.json))
    done: list[ImportedFile] = []
    code = 0
    with Store.open() as store:
        for path in options.files:
            try:
                one = import_file(store, path)
            except ExplorerError as error:
                code = max(code, report(error, verbose=options.verbose))
                continue
            done.append(one)
            if options.json != "-":
                _print(one)
    write_document(options.json, pretty_json(_document(done)))
    if json_path(options.json) is not None:
        say(f"wrote {options.json}")
    return code


def _print(one: ImportedFile) -> None:
    tell(one.words)
    for note in one.notes:
        tell(f"  {note}")
    reasons: dict[str, int] = {}
    for skipped in one.skipped:
        reasons[skipped.reason] = reasons.get(skipped.reason, 0) + 1
    most = sorted(reasons.items(), key=lambda item: -item[1])
    for reason, number in most[:REASONS_SHOWN]:
        tell(f"  {number} × {' '.join(reason.split())[:200]}")
    if (more := len(most) - REASONS_SHOWN) > 0:
        tell(plural(more, "  {number} more reason", "  {number} more reasons"))
    if one.group is not None:
        tell(f"  the group {one.group} holds them")
    elif one.added:
        tell(f"  the run is {one.added[0].id}")


def _document(done: Sequence[ImportedFile]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "files": [
            {
                "file": str(one.path),
                "format": one.format,
                "added": [run.id for run in one.added],
                "duplicates": one.duplicates,
                "skipped": [{"values": s.values, "skipped": s.reason} for s in one.skipped],
                "group": one.group,
                "notes": one.notes,
            }
            for one in done
        ],
    }
