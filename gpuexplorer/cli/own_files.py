"""Files of one's own that a command names: a model's is agreed to, a kernel's is described."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from gpuexplorer.cli.knob_options import request_of
from gpuexplorer.cli.messages import say
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.language import tr
from gpuexplorer.core.units import plural
from gpuexplorer.workloads.kernel_answers import NOTHING, Answers, pairs, split_reference
from gpuexplorer.workloads.loader import (
    is_own_file,
    keep_manifest,
    load_one,
    own_workload,
    programs_of,
)
from gpuexplorer.workloads.own_kernel import is_kernel_file, manifest_path
from gpuexplorer.workloads.programs import Program
from gpuexplorer.workloads.trust import NotTrusted, is_trusted, trust
from gpuexplorer.workloads.workload import Workload

SHOWN_LINES = 12
"""Lines of a file that stand above the question."""


def take_files(options: argparse.Namespace) -> None:
    """Turn every file of the user's own that a command names into a workload that may run.

    The file becomes a root of workloads and its name the workload's. Raises InputError for a file
    that is no model or no kernel with a manifest, and NotTrusted without the user's consent.
    """
    word = getattr(options, "workload", None)
    roots = list(getattr(options, "kernels", ()))
    if isinstance(word, str) and is_own_file(word):
        if is_kernel_file(word) and (answers := answers_of(options)):
            options.new_manifest = describe(Path(word), answers)
        roots.append(Path(word))
        options.kernels = roots
        options.workload = own_workload(Path(word)).name
        variant = getattr(options, "variant", None)
        if is_kernel_file(word) and isinstance(variant, str) and "<" in variant:
            from gpuexplorer.workloads.instances import plain_name

            options.variant = plain_name(variant)  # an instance, by what the source calls it
    name = options.workload if isinstance(word, str) else None
    for program in (program for root in roots for program in programs_of(root, name)):
        agree(program, said_so=bool(getattr(options, "trust", False)))


def chosen(options: argparse.Namespace, name: str) -> Workload:
    """Return the workload that a command names; say which others of its name are not meant."""
    return load_one(name, options.kernels, teller(name))


def teller(name: str = "") -> Callable[[Workload, Workload], None]:
    """Return what says of a workload that another one has its name; of one name, or of all."""

    def tell(other: Workload, winner: Workload) -> None:
        if name in ("", winner.name):
            say(
                f"gpuexplorer: warning: {other.source.origin} is named '{winner.name}', too, and "
                f"{winner.source.origin} is used"
            )

    return tell


def answers_of(options: argparse.Namespace) -> Answers:
    """Return what a command's options say of a CUDA file; InputError for what cannot be read."""
    references: list[str] = getattr(options, "reference", [])
    given = {n: v for n in ("out", "array", "scalar") if (v := getattr(options, n, None))}
    unchecked = NOTHING in references
    if not references and given:
        raise InputError(
            f"--{next(iter(given))} says nothing of what a right result is",
            remedy="add --reference EXPRESSION, or --reference none",
        )
    if unchecked and len(references) > 1:
        raise InputError("--reference none stands beside another one", remedy="give either")
    named = {}
    for text in references if not unchecked else []:
        name, expression = split_reference(text)
        named[name] = expression
    try:
        scalars = {n: float(v) for n, v in pairs(given.get("scalar", ()), "--scalar").items()}
    except ValueError as error:
        raise InputError(f"--scalar: {error}", remedy="say --scalar NAME=NUMBER") from None
    shapes = pairs(given.get("array", ()), "--array")
    request = request_of(options, "")
    return Answers(
        reference=named,
        unchecked=unchecked,
        kernel=request.variant,
        uses={n.strip(): "out" for n in given.get("out", "").split(",") if n.strip()},
        shapes={n: tuple(s.strip() for s in text.split(",")) for n, text in shapes.items()},
        sizes={n: v for n, v in request.size.items() if n},
        block=request.block,
        scalars=scalars,
    )


def describe(path: Path, answers: Answers) -> Path | None:
    """Keep the manifest that answers make of a CUDA file; return it, None where it was there."""
    if not keep_manifest(path, answers):
        return None
    manifest = manifest_path(path)
    say(f"gpuexplorer: wrote {manifest}, which says what the kernel computes")
    return manifest


def take_back(manifest: Path) -> None:
    """Delete a manifest of which no run came, so that other answers can be given."""
    manifest.unlink(missing_ok=True)
    say(f"gpuexplorer: {manifest} is not kept, as no run came of it; give its answers again")


def agree(program: Program, *, said_so: bool, ask: Callable[[Program], bool] | None = None) -> None:
    """Have the user agree to run a file: with ``--trust``, in a list kept earlier, or when asked.

    Raises NotTrusted without it.
    """
    if is_trusted(program.sha256):
        return
    asked = ask or (_ask if _at_a_terminal() else None)
    if not said_so and (asked is None or not asked(program)):
        raise NotTrusted(program)
    try:
        trust(program)
    except InputError as error:  # it holds for this command all the same
        say(f"gpuexplorer: the agreement is not remembered: {error}")


def _at_a_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def _ask(program: Program) -> bool:
    """Show what would be run and ask on the terminal."""
    say(f"{program.path} is a program. It will run in the engine, with your rights.")
    say(f"SHA-256 {program.sha256}")
    lines = program.text.splitlines()
    for line in lines[:SHOWN_LINES]:
        say(f"  │ {line}")
    if (more := len(lines) - SHOWN_LINES) > 0:
        say(plural(more, "  … {number} more line", "  … {number} more lines"))
    print(tr("Run it? [y/N]"), end=" ", file=sys.stderr, flush=True)
    try:
        return input().strip().lower() in ("y", "yes")
    except EOFError:
        return False
