"""``gpuexplorer engines kinds|create|fetch|clean``: environments that this program makes itself."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from gpuexplorer.cli import EXIT_INTERRUPTED
from gpuexplorer.cli.messages import error_console, is_terminal, output_console, say
from gpuexplorer.cli.output import json_path, pretty_json, write_document
from gpuexplorer.cli.progress import PLAIN_EVERY_S
from gpuexplorer.cli.sheets import plain_table
from gpuexplorer.core.cuda_driver import Driver
from gpuexplorer.core.errors import CannotRunHere, InputError, WorkFailed
from gpuexplorer.core.language import tr
from gpuexplorer.core.units import quantity
from gpuexplorer.environments.create import create
from gpuexplorer.environments.driver import find_driver
from gpuexplorer.environments.kinds import Kind, Offer, find_kind, fit_of, offers
from gpuexplorer.environments.managed import Managed, clean_up, disk_use, free_name
from gpuexplorer.environments.offline import fill
from gpuexplorer.environments.plan import EnvironmentPlan, Source, plan
from gpuexplorer.environments.progress import SetUpProgress
from gpuexplorer.environments.pythons import FoundPython, best_python, find_pythons, look_at

KINDS_SCHEMA = "gpuexplorer/engine-kinds/1"
CREATED_SCHEMA = "gpuexplorer/engine-created/1"
DOING = {"download": "downloading", "install": "installing", "verify": "verifying"}
SHOWN = 12
"""Packages that are named before the download; the rest are summed up."""

Sink = Callable[[SetUpProgress], None]


# ---- what there is


def kinds(options: argparse.Namespace) -> int:
    """List the kinds, those for this machine's GPUs first."""
    driver = find_driver()
    found = offers(driver)
    if options.json is not None:
        document = {
            "schema": KINDS_SCHEMA,
            "driver": _built_driver(driver),
            "kinds": [_built(offer) for offer in found],
        }
        write_document(options.json, pretty_json(document))
    if options.json != "-":
        _print_kinds(found, driver)
    return 0


def _built(offer: Offer) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(offer.kind, lock=None))
    del built["lock"]
    return built | {
        "fits": not offer.trouble,
        "trouble": offer.trouble,
        "left_out": offer.left_out,
    }


def _built_driver(driver: Driver | None) -> dict[str, Any] | None:
    if driver is None:
        return None
    built: dict[str, Any] = msgspec.to_builtins(driver)
    return {"gpu": driver.gpus[0].name, **built}


def _print_kinds(found: tuple[Offer, ...], driver: Driver | None) -> None:
    from rich.text import Text

    console = output_console()
    console.print(driver.words if driver is not None else "no NVIDIA driver here", markup=False)
    for offer in found:
        kind, fits = offer.kind, not offer.trouble
        text = Text.assemble(("\n• " if fits else "\n  "), (kind.name, "bold" if fits else "dim"))
        text.append(f"  {kind.title}", style="" if fits else "dim")
        text.append(f"\n    {kind.teaches}", style="dim")
        for said in filter(None, (offer.trouble, offer.left_out)):
            text.append(f"\n    {said}", style="dim")
        console.print(text, soft_wrap=True)
    console.print(
        Text(f"\nMake one with: gpuexplorer engines create {found[0].kind.name}", style="dim"),
        soft_wrap=True,
    )


# ---- making one


def make(options: argparse.Namespace) -> int:
    """Make an environment of a kind, after its sizes were shown and agreed to."""
    kind = find_kind(options.kind)
    _check_driver(kind, anyway=options.anyway)
    name = options.name or free_name(kind.name)
    made = _plan(kind, options, Source(folder=_folder(options.source)))
    folder = made.folder / name
    if not _agreed(made, options, f"Make '{name}' in {folder}?"):
        return 0
    try:
        with set_up_progress(name) as sink:
            done = create(made, name, sink)
    except KeyboardInterrupt:
        say(
            "gpuexplorer: stopped; what is downloaded is kept: the same command continues, "
            "'gpuexplorer engines clean' deletes it"
        )
        return EXIT_INTERRUPTED
    _deliver(done, made, options)
    return WorkFailed.exit_code if done.verified is False else 0


def fetch(options: argparse.Namespace) -> int:
    """Fill a folder with a kind's wheels, for a machine without internet."""
    kind = find_kind(options.kind)
    made = _plan(kind, options, Source())
    if not _agreed(made, options, f"Fetch them into {options.folder}?"):
        return 0
    try:
        with set_up_progress(kind.name) as sink:
            sums = fill(made, options.folder, sink)
    except KeyboardInterrupt:
        say("gpuexplorer: stopped; the same command continues with what is there")
        return EXIT_INTERRUPTED
    say(
        f"gpuexplorer: {len(made.packages)} wheels for Python {made.python.version} are in "
        f"{sums.parent}; there: gpuexplorer engines create {kind.name} --from FOLDER"
    )
    return 0


def clean(options: argparse.Namespace) -> int:
    """Delete what is unfinished."""
    freed = clean_up()
    say(f"gpuexplorer: {quantity(freed, 'B')} freed" if freed else "gpuexplorer: nothing to clean")
    return 0


def managed_words(one: Managed) -> str:
    """Say what an environment is, in a line, and what it has to do without."""
    if not one.ready:
        why = one.problem or "it was cut off"
        return f"unfinished: {why}; 'gpuexplorer engines create {one.kind}' continues it"
    said = [f"made here: {one.title}, {quantity(disk_use(one.name), 'B')}"]
    return "; ".join([*said, *without_words(one.left_out)])


def without_words(left_out: dict[str, str]) -> list[str]:
    """Return for each package that is left out which it is and why."""
    return [f"without {name}: {why}" for name, why in left_out.items()]


def _folder(word: str | None) -> Path | None:
    return None if word is None else Path(os.path.expanduser(word)).absolute()


def _check_driver(kind: Kind, *, anyway: bool) -> None:
    """Raise CannotRunHere where a kind is of no use to the GPUs of this machine.

    One without an NVIDIA driver may be where environments are made for others.
    """
    driver = find_driver() if kind.cuda is not None else None
    trouble = fit_of(kind, driver).trouble
    if not trouble:
        return
    if driver is None or anyway:
        say(f"gpuexplorer: nothing can be run in '{kind.name}' here: {trouble}")
        return
    fitting = ", ".join(one.kind.name for one in offers(driver) if not one.trouble)
    raise CannotRunHere(
        f"'{kind.name}' is of no use here: {trouble}",
        remedy=f"choose of {fitting}, or add --anyway to make it all the same",
    )


def _plan(kind: Kind, options: argparse.Namespace, source: Source) -> EnvironmentPlan:
    """Choose a Python and have the packages chosen; on a terminal a line says what is done."""
    with _status() as tell:
        tell("looking for Pythons")
        python: FoundPython
        if options.python:
            python = look_at(options.python)
        else:
            python = best_python(find_pythons(), kind.newest_python)
        return plan(kind, python, source, on_words=tell)


@contextmanager
def _status() -> Iterator[Callable[[str], None]]:
    if not is_terminal():
        yield lambda words: None
        return
    with error_console().status("") as status:
        yield lambda words: status.update(words)


def _agreed(made: EnvironmentPlan, options: argparse.Namespace, question: str) -> bool:
    """Show what would be fetched; return whether to go on. Without a terminal --yes has to say."""
    if options.json != "-":
        _print_plan(made)
    if made.missing_B:
        say(f"gpuexplorer: about {quantity(made.missing_B, 'B')} are missing on that disk")
    if options.dry_run:
        if options.json is not None:
            _write(None, made, options)
        return False
    if options.yes:
        return True
    if not (sys.stdin.isatty() and is_terminal()):
        raise InputError(
            f"this fetches {quantity(made.download_B, 'B')}, and nobody can be asked here",
            remedy="add --yes to agree, or --dry-run to see what it would be",
        )
    sys.stderr.write(" ".join((tr(question), "[Y/n]", "")))
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("", "y", "yes")


def _print_plan(made: EnvironmentPlan) -> None:
    from rich.text import Text

    console = output_console()
    console.print(f"{made.kind.title}, with Python {made.python.version}", style="bold")
    console.print(Text(f"{made.python.path}; wheels from {made.source.words}\n", style="dim"))
    table = plain_table("package", "version", "size", "hash from", figures=("size",))
    for one in made.packages[:SHOWN]:
        table.add_row(one.name, one.version, quantity(one.size_B, "B"), one.vouched_by)
    rest = made.packages[SHOWN:]
    if rest:
        size = sum(one.size_B or 0 for one in rest)
        table.add_row(f"{len(rest)} more", "", quantity(size, "B"), "")
    console.print(table)
    for said in without_words(made.left_out):
        console.print(said, style="dim", markup=False, soft_wrap=True)
    parts = [f"{quantity(made.download_B, 'B')} to download"]
    if made.have_B:
        parts.append(f"{quantity(made.have_B, 'B')} are here already")
    if made.unknown:
        parts.append(f"{made.unknown} of unknown size")
    installed, free = quantity(made.installed_B, "B"), quantity(made.free_B, "B")
    parts.append(f"about {installed} on the disk, where {free} are free")
    console.print(f"\n{'; '.join(parts)}\n", markup=False, soft_wrap=True)


def _deliver(done: Managed, made: EnvironmentPlan, options: argparse.Namespace) -> None:
    if options.json is not None:
        _write(done, made, options)
        path = json_path(options.json)
        if path is not None:
            say(f"wrote {path}")
    said = f"gpuexplorer: '{done.name}' is ready"
    if done.verified is False:
        said = f"gpuexplorer: '{done.name}' was made, and its device failed the self-test"
    say(f"{said}: {done.verdict}")
    say(f"gpuexplorer: measure in it with --python {done.name}, or always with 'engines default'")


def _write(done: Managed | None, made: EnvironmentPlan, options: argparse.Namespace) -> None:
    document = {
        "schema": CREATED_SCHEMA,
        "plan": {
            "kind": made.kind.name,
            "python": made.python.path,
            "source": made.source.words,
            "download_B": made.download_B,
            "installed_B": made.installed_B,
            "free_B": made.free_B,
            "packages": made.packages,
            "left_out": made.left_out,
        },
        "environment": done,
    }
    write_document(options.json, pretty_json(msgspec.to_builtins(document)))


# ---- progress


@contextmanager
def set_up_progress(title: str) -> Iterator[Sink]:
    """Show how far it is until the block ends: a bar, or in a log a line now and then."""
    if not is_terminal():
        yield _PlainLines(title)
        return
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        BarColumn(bar_width=30), TaskProgressColumn(), TextColumn("{task.description}"),
        console=error_console(), transient=True,
    )  # fmt: skip
    with bar:
        task = bar.add_task("", total=None)

        def sink(progress: SetUpProgress) -> None:
            bar.update(
                task,
                completed=progress.done_B,
                total=progress.total_B or None,
                description=tr(_words(progress)),
            )

        yield sink


def _words(progress: SetUpProgress) -> str:
    """Say how far it is, in a line."""
    doing = DOING[progress.phase]
    if progress.phase == "verify":
        if progress.total_B:
            doing = f"{doing} {progress.done_B} of {progress.total_B}"
        return f"{doing}: {progress.words}"
    done, total = quantity(progress.done_B, "B"), quantity(progress.total_B, "B")
    return f"{doing} {done} of {total}: {progress.words}"


class _PlainLines:
    """Says each phase, and then where it is from time to time, so that a log stays short."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._phase = ""
        self._due = 0.0

    def __call__(self, progress: SetUpProgress) -> None:
        now = time.monotonic()
        if progress.phase == self._phase and now < self._due:
            return
        self._phase, self._due = progress.phase, now + PLAIN_EVERY_S
        say(f"{self._title}: {_words(progress)}")
