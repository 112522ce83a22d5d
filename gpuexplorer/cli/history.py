"""``gpuexplorer history``: list the runs that are kept, show one, say something of some."""

from __future__ import annotations

import argparse
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from gpuexplorer.cli.keeping import in_history
from gpuexplorer.cli.messages import output_console, say
from gpuexplorer.cli.output import check_targets, json_path, pretty_json, write_document
from gpuexplorer.cli.sheets import plain_table
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.sharing import shared
from gpuexplorer.core.units import count, percent, plural, quantity
from gpuexplorer.history.place import find_place
from gpuexplorer.history.store import Query, Row, Store
from gpuexplorer.reproduce import command_of

if TYPE_CHECKING:
    from rich.text import Text

SCHEMA = "gpuexplorer/history/1"
SHOWN_ID = 10
"""Characters of an id that tell it from every other in practice."""
NOTE_SHOWN = 40
MAX_NAMED = 20
"""Runs that cannot be read and are named in one command."""
PIPE_WIDTH = 400
"""Columns a table may have when the output is not a terminal."""


def command(options: argparse.Namespace) -> int:
    """List runs, or do what was asked to some."""
    check_targets(json_path(options.json))
    actions = {"list": _list, "show": _show, "undelete": _undelete, "purge": _purge}
    actions.get(options.action, _change)(options)
    return 0


# ---- the list


def _list(options: argparse.Namespace) -> None:
    query = Query(
        text=options.search,
        machine=options.machine,
        person=options.person,
        workload=options.workload,
        variant=options.variant,
        precision=options.precision,
        device=options.device,
        tag=options.tag,
        starred=options.starred,
        group=options.group,
        since=options.since,
        deleted=options.deleted,
    )
    rows: list[Row] = []
    found = everything = 0
    place = find_place()
    if place.path is None or place.path.exists():  # looking at a history makes none
        with Store.open_to_read() as store:
            if query.group:
                query = msgspec.structs.replace(query, group=store.resolve_group(query.group))
            found, everything = store.count(query), store.count()
            rows = store.find(
                query,
                sort=options.sort,
                descending=not options.ascending,
                offset=options.offset,
                limit=options.limit,
            )
    if options.json is not None:
        document = {
            "schema": SCHEMA,
            "store": place.words,
            "count": found,
            "runs": msgspec.to_builtins(rows),
        }
        write_document(options.json, pretty_json(document))
    if options.json == "-":
        return
    if rows:
        _print_rows(rows)
        _print_damaged(rows, options)
    _print_end(options, len(rows), found, everything, place.words)


def _print_rows(rows: list[Row]) -> None:
    from rich.text import Text

    table = plain_table()
    table.add_column("id", no_wrap=True, style="bold")
    table.add_column("when", no_wrap=True)
    for title in ("workload", "size", "block", "", "device"):
        table.add_column(title, overflow="fold")
    table.add_column("median", no_wrap=True)
    table.add_column("rate", no_wrap=True)
    table.add_column("", overflow="fold")
    for row in rows:
        table.add_row(
            row.id[:SHOWN_ID],
            when(row.time_utc),
            Text(f"{row.workload} {row.variant}"),
            row.size_words,
            row.launch_words,
            row.precision,
            Text(row.device),
            _median(row),
            quantity(row.flop_per_s, "FLOP/s")
            if row.flop_per_s is not None
            else quantity(row.bandwidth_B_per_s, "B/s"),
            _said(row),
        )
    console = output_console()
    if not console.is_terminal:  # without a terminal's width a line stays whole
        console.width = PIPE_WIDTH
    console.print(table)


def _print_end(
    options: argparse.Namespace, shown: int, found: int, everything: int, where: str
) -> None:
    """Say how many there are, and why there may be none."""
    if shown:
        words = f"{count(shown)} of {count(found)} runs" if shown < found else ""
    elif found:
        words = plural(
            found,
            "There is {number} run of that kind, and no more to show.",
            "There are {number} runs of that kind, and no more to show.",
        )
    elif everything:
        words = plural(
            everything,
            "No such run among the {number} run in the history.",
            "No such run among the {number} runs in the history.",
        )
    else:
        words = f"No runs yet in {where}: 'gpuexplorer run' and the window put them there."
    if words:
        output_console().print(words, style="dim", markup=False)


def _print_damaged(rows: list[Row], options: argparse.Namespace) -> None:
    """Say which of the runs shown cannot be read, and how to be rid of them."""
    damaged = [row for row in rows if row.damaged is not None]
    if not damaged or options.deleted:
        return
    ids = [row.id for row in damaged[:MAX_NAMED]]
    command = in_history(["history", "delete", *ids], options)
    words = plural(
        len(damaged),
        "{number} run of these cannot be read whole ({reason}); to take it out of the list: "
        "{command}",
        "{number} runs of these cannot be read whole ({reason}, and others); to take them out of "
        "the list: {command}, and so on"
        if len(damaged) > MAX_NAMED
        else "{number} runs of these cannot be read whole ({reason}, and others); to take them out "
        "of the list: {command}",
        reason=damaged[0].damaged,
        command=command,
    )
    output_console().print(words, style="yellow", markup=False, soft_wrap=True)


def when(time_utc: str) -> str:
    """Return a document's time on this machine's clock, to the minute."""
    try:
        return datetime.fromisoformat(time_utc).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return time_utc


def _median(row: Row) -> str:
    if row.running:
        return "running"
    words = quantity(row.median_s, "s")
    return f"{words} ± {percent(row.relative_error)}" if row.relative_error is not None else words


def _said(row: Row) -> Text:
    """Return what stands beside a run: star, doubts, tags, the beginning of the note."""
    from rich.text import Text

    text = Text("★ " if row.starred else "", style="yellow")
    if row.damaged is not None:
        text.append("UNREADABLE", style="red").append(" ")
    if row.verified is False:
        text.append("WRONG RESULT", style="red").append(" ")
    if row.suspect is not None:
        text.append("SUSPECT", style="red").append(" ")
    for tag in row.tags:
        text.append(f"[{tag}]", style="cyan").append(" ")
    note = " ".join(row.note.split())
    text.append(note if len(note) <= NOTE_SHOWN else f"{note[:NOTE_SHOWN]}…", style="dim")
    return text


# ---- one run


def _show(options: argparse.Namespace) -> None:
    from gpuexplorer.cli.summary import print_summary

    with Store.open_to_read() as store:
        run_id = store.resolve(options.id)
        result = store.get(run_id)
        row = store.row(run_id)
        stored = None if row.running else store.json(run_id)
        document = None if stored is None else shared(stored, [result.environment])
    if options.json is not None:
        if document is None:
            raise InputError(
                f"the run '{run_id}' is not finished", remedy="show it without --json, or wait"
            )
        write_document(options.json, _lines(document))
    if options.json == "-":
        return
    from rich.table import Table
    from rich.text import Text

    console = output_console()
    print_summary(result, result.config.workload, console)
    facts = {
        "id": run_id,
        "measured": when(result.time_utc),
        "on": result.environment.machine or "",
        "by": result.environment.person or "",
        "starred": "yes" if row.starred else "",
        "tags": ", ".join(row.tags),
        "note": row.note,
        "group": row.group or "",
        "fingerprint": row.fingerprint,
        "repeat it": command_of(result) or "",
    }
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, words in facts.items():
        if words:
            table.add_row(name, Text(words))
    console.print()
    console.print(table)


def _lines(document: bytes) -> bytes:
    """Return a stored document with a line for each key, as ``run --json`` writes it."""
    fields: dict[str, Any] = msgspec.json.decode(document, type=dict[str, msgspec.Raw])
    lines = (f"  {msgspec.json.encode(key).decode()}: {bytes(value).decode()}"
             for key, value in fields.items())  # fmt: skip
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


# ---- what is said of runs


def _change(options: argparse.Namespace) -> None:
    with Store.open() as store:
        if options.action == "note":
            store.note(store.resolve(options.id), options.text)
            return
        whole = store.known(options.ids)  # thousands are found faster together
        ids = [text if text in whole else store.resolve(text) for text in options.ids]
        match options.action:
            case "star" | "unstar":
                store.star(ids, options.action == "star")
            case "tag" | "untag":
                store.tag(ids, options.name, options.action == "tag")
            case "delete":
                deletion = store.delete(ids)
                undo = in_history(["history", "undelete", str(deletion.token)], options)
                say(
                    plural(
                        deletion.runs,
                        "deleted {number} run; to bring it back: {command}",
                        "deleted {number} runs; to bring them back: {command}",
                        command=undo,
                    )
                )


def _undelete(options: argparse.Namespace) -> None:
    with Store.open() as store:
        back = store.undelete(options.deletion)
    if not back:
        raise InputError("there is nothing to bring back", remedy="see 'history --deleted'")
    say(plural(back, "brought back {number} run", "brought back {number} runs"))


def _purge(options: argparse.Namespace) -> None:
    with Store.open() as store:
        removed = store.purge()
    say(plural(removed, "removed {number} run for good", "removed {number} runs for good"))
