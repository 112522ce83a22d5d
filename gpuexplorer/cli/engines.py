"""``gpuexplorer engines``: the Pythons that engines run in, and what each of them has."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import msgspec

from gpuexplorer.cli import engines_far, engines_managed
from gpuexplorer.cli.engines_managed import managed_words
from gpuexplorer.cli.messages import error_console, is_terminal, output_console, say
from gpuexplorer.cli.output import check_targets, json_path, pretty_json, write_document
from gpuexplorer.cli.sheets import plain_table
from gpuexplorer.core.errors import CannotRunHere
from gpuexplorer.core.units import quantity
from gpuexplorer.engine.candidates import FoundInterpreter, find_candidates
from gpuexplorer.engine.checking import EngineReport, check_engine
from gpuexplorer.engine.interpreters import BUILT_IN, Interpreters, is_far
from gpuexplorer.engine.machine import is_address
from gpuexplorer.environments.managed import find_managed, list_managed, remove

if TYPE_CHECKING:
    from rich.text import Text

SCHEMA = "gpuexplorer/engine-list/1"
CANDIDATES_SCHEMA = "gpuexplorer/engine-candidates/1"


def command(options: argparse.Namespace) -> int:
    """List engines, or do what was asked with one."""
    check_targets(json_path(options.json))
    actions = {
        "find": _find, "add": _add, "check": _check, "remove": _remove, "default": _default,
        "kinds": engines_managed.kinds, "create": engines_managed.make,
        "fetch": engines_managed.fetch, "clean": engines_managed.clean,
        "update": engines_far.update,
    }  # fmt: skip
    return actions.get(options.action, _list)(options)


# ---- what there is


def _list(options: argparse.Namespace) -> int:
    known = Interpreters()
    words = [BUILT_IN, *(one.name for one in known.all() if one.name is not None)]
    default = known.default or BUILT_IN
    if options.quick:
        paths = {one.name: one.where for one in known.all()}
        reports = [EngineReport(name=n, path=paths.get(n, "this program's own")) for n in words]
    else:
        reports = [_report(word) for word in words]
    _deliver(reports, options, default=default, checked=not options.quick)
    if len(words) == 1 and options.json != "-":
        say(
            "gpuexplorer: add another Python with 'gpuexplorer engines add NAME PATH', or have one "
            "made with 'gpuexplorer engines create KIND'"
        )
    return 0


def _check(options: argparse.Namespace) -> int:
    report = _report(options.engine)
    _deliver([report], options, default=None, checked=True)
    return 0 if report.ok else CannotRunHere.exit_code


def _find(options: argparse.Namespace) -> int:
    found = find_candidates()
    reports = [_report(one.path) for one in found] if options.check else []
    if options.json is not None:
        document: dict[str, Any] = {"schema": CANDIDATES_SCHEMA, "candidates": found}
        if options.check:
            document["engines"] = [_built(report) for report in reports]
        write_document(options.json, pretty_json(msgspec.to_builtins(document)))
    if options.json != "-":
        if not found:
            output_console().print("No other Python was found here.", markup=False)
        elif options.check:
            _print(reports, default=None, checked=True)
        else:
            _print_candidates(found)
    return 0


def _report(word: str) -> EngineReport:
    """Ask an engine what it has; on a terminal a line says meanwhile which."""
    if not is_terminal():
        return check_engine(word)
    with error_console().status(f"asking {word}") as status:
        return check_engine(word, on_step=lambda doing: status.update(f"asking {word}: {doing}"))


# ---- names


def _add(options: argparse.Namespace) -> int:
    known = Interpreters()
    if is_address(options.path):
        ended = engines_far.set_up(options)
        added = known.find(options.name) if ended is None else None
        if added is None:
            return ended or 0
    else:
        added = known.add(options.name, options.path)
    if options.no_check:
        report = EngineReport(name=options.name, path=added.where)
    else:
        report = _report(options.name)
        if not report.ok:  # a name for what cannot be an engine would only be in the way
            known.remove(options.name)
    if report.ok:
        say(f"gpuexplorer: '{options.name}' is {added.where}; use it with --engine {options.name}")
    _deliver([report], options, default=known.default, checked=not options.no_check)
    if not report.ok:
        say(f"gpuexplorer: '{options.name}' was not added; --no-check takes it as it is")
    return 0 if report.ok else CannotRunHere.exit_code


def _remove(options: argparse.Namespace) -> int:
    if is_far(options.name):
        return engines_far.remove(options.name, keep=options.keep)
    made = find_managed(options.name)
    if made is not None:
        freed = remove(options.name)
        parts = [f"gpuexplorer: removed '{options.name}' and freed {quantity(freed, 'B')}"]
        if made.kind:
            parts.append(f"'gpuexplorer engines create {made.kind}' makes it again")
        say("; ".join(parts))
        return 0
    before = Interpreters().remove(options.name)
    path = before.engines[options.name]
    say(
        f"gpuexplorer: forgot '{options.name}'; 'gpuexplorer engines add {options.name} {path}' "
        "brings it back"
    )
    if before.default == options.name:
        say("gpuexplorer: it was the default; the built-in engine is used now")
    return 0


def _default(options: argparse.Namespace) -> int:
    Interpreters().choose(options.name)
    say(f"gpuexplorer: the engine '{options.name}' is used wherever --python says nothing else")
    return 0


# ---- showing


def _built(report: EngineReport) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(report)
    return {**built, "ok": report.ok, "frameworks": report.frameworks}


def _deliver(
    reports: list[EngineReport], options: argparse.Namespace, *, default: str | None, checked: bool
) -> None:
    if options.json is not None:
        engines = [_built(report) for report in reports]
        if not checked:  # nothing is known of them, good or bad
            for engine in engines:
                engine["ok"] = None
        document = {
            "schema": SCHEMA,
            "default": default or BUILT_IN,
            "engines": engines,
            "environments": msgspec.to_builtins(list_managed()),
        }
        write_document(options.json, pretty_json(document))
    if options.json != "-":
        _print(reports, default=default, checked=checked)


def _print(reports: list[EngineReport], *, default: str | None, checked: bool) -> None:
    from rich.text import Text

    console = output_console()
    made = {one.name: one for one in list_managed()}
    for report in reports:
        block = _block(report, report.name == default, checked)
        if report.name in made:
            block.append(f"\n    {managed_words(made[report.name])}", style="dim")
        console.print(block, soft_wrap=True)
    known = {report.name for report in reports}
    for one in made.values() if len(reports) > 1 or BUILT_IN in known else ():
        if not one.ready and one.name not in known:
            unfinished = Text.assemble(("• ", "yellow"), (one.name, "bold"))
            console.print(unfinished.append(f"\n    {managed_words(one)}"), soft_wrap=True)


def _block(report: EngineReport, is_default: bool, checked: bool) -> Text:
    """Return what is known of one engine, a few lines."""
    from rich.text import Text

    mark, style = ("•", "dim") if not checked else ("✓", "green") if report.ok else ("✗", "red")
    text = Text.assemble((mark, style), " ", (report.name, "bold"))
    text.append("  (default)" if is_default else "", style="cyan")
    if report.name != report.path:
        text.append(f"\n    {report.path}", style="dim")
    if not report.ok:
        text.append(f"\n    {report.problem}", style="red")
        if report.remedy:
            text.append(f"\n    → {report.remedy}")
        for line in report.said:
            text.append(f"\n      {line}", style="dim")
        return text
    if report.python is not None:
        answered = quantity(report.handshake_s, "s", 2)
        text.append(f"\n    Python {report.python}, answered in {answered}")
    frameworks = ", ".join(f"{name} {version}" for name, version in report.frameworks.items())
    if checked:
        text.append(f"\n    frameworks: {frameworks or 'none'}")
    for device in report.devices or ():
        text.append(f"\n    {device.id}  {device.name}, {device.driver}")
    for missing in report.devices.unavailable if report.devices is not None else ():
        text.append(f"\n    no {missing.backend} device: {missing.reason}", style="dim")
        text.append(f"\n      → {missing.remedy}" if missing.remedy else "", style="dim")
    return text


def _print_candidates(found: list[FoundInterpreter]) -> None:
    from rich.text import Text

    table = plain_table("Python", "kind", "interpreter")
    for one in found:
        table.add_row(one.python or "?", one.kind, Text(one.path))
    console = output_console()
    console.print(table)
    console.print(
        Text("\nAdd one with: gpuexplorer engines add NAME PATH", style="dim"), soft_wrap=True
    )
