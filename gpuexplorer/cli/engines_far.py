"""``gpuexplorer engines add NAME ssh://…``, ``update``, ``remove``: engines on other machines."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from msgspec.structs import replace

from gpuexplorer.cli import EXIT_INTERRUPTED
from gpuexplorer.cli.engines_managed import set_up_progress
from gpuexplorer.cli.messages import is_terminal, say
from gpuexplorer.core.errors import InputError, WorkFailed
from gpuexplorer.core.language import tr
from gpuexplorer.core.units import listed, quantity
from gpuexplorer.engine.interpreters import Interpreters, find_interpreter
from gpuexplorer.engine.machine import HOME, Machine
from gpuexplorer.environments import far
from gpuexplorer.environments.kinds import find_kind

KEPT = "gpuexplorer: stopped; what is there is kept: the same command continues"


def set_up(options: argparse.Namespace) -> int | None:
    """Have an engine on another machine and give it a name; return None where that is done."""
    name, machine = options.name, Machine.read(options.path)
    far.check_free(name)
    kind = find_kind(options.kind) if options.kind else None
    try:
        found = far.look(machine, options.python or machine.python)
        say(f"gpuexplorer: {machine.host} has {found.words}")
        with set_up_progress(name) as sink:
            if kind is None and (options.python or machine.python):
                far.send_program(machine, found.python, sink)
                there = replace(machine, python=found.python)
            else:
                kind = kind or find_kind(found.kind)
                if not _agreed(options, kind.title, machine):
                    return 0
                folder = Path(os.path.expanduser(options.source)) if options.source else None
                there = far.make(found, kind, folder, sink)
    except KeyboardInterrupt:
        say(KEPT)
        return EXIT_INTERRUPTED
    far.add(name, there)
    return None


def _agreed(options: argparse.Namespace, title: str, machine: Machine) -> bool:
    """Return whether an environment may be made there; without a terminal --yes has to say."""
    if options.yes:
        return True
    question = f"Set up '{title}' on {machine.host}, below {HOME} there?"
    if not (sys.stdin.isatty() and is_terminal()):
        raise InputError(
            f"this sets up '{title}' on {machine.host}, and nobody can be asked here",
            remedy="add --yes to agree, or --python PATH for a Python that is there",
        )
    sys.stderr.write(" ".join((tr(question), "[Y/n]", "")))
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("", "y", "yes")


def update(options: argparse.Namespace) -> int:
    """Bring this very version to another machine."""
    machine = _machine(options.name)
    try:
        with set_up_progress(options.name) as sink:
            folder = Path(os.path.expanduser(options.source)) if options.source else None
            far.add(options.name, far.update(machine, folder, sink))
    except KeyboardInterrupt:
        say(KEPT)
        return EXIT_INTERRUPTED
    say(f"gpuexplorer: {machine.host} has this version of GPU Explorer now")
    return 0


def remove(name: str, *, keep: bool) -> int:
    """Forget an engine on another machine, and delete what was set up there unless ``keep``."""
    machine = _machine(name)
    done = far.Removed()
    if not keep:
        try:
            done = far.remove(name, machine)
        except KeyboardInterrupt:
            return EXIT_INTERRUPTED
        except WorkFailed as error:
            error.remedy = f"'gpuexplorer engines remove {name} --keep' only forgets it here"
            raise
    Interpreters().remove(name)
    host, others = machine.host, listed(f"'{other}'" for other in done.others)
    if keep:
        say(f"gpuexplorer: forgot '{name}'; what was set up on {host} is still there")
    elif done.everything_stays:
        say(f"gpuexplorer: forgot '{name}'; what was set up on {host} stays for {others}")
    else:
        freed = quantity(done.freed_B, "B")
        say(
            f"gpuexplorer: removed '{name}' and freed {freed} on {host}; the rest stays for "
            f"{others}"
            if others
            else f"gpuexplorer: removed '{name}' and freed {freed} on {host}"
        )
    return 0


def _machine(name: str) -> Machine:
    found = find_interpreter(name)
    if found is None or found.machine is None:
        raise InputError(
            f"the engine '{name}' is on this machine",
            remedy="name one that was added with its address, ssh://…",
        )
    return found.machine
