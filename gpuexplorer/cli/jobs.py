"""``gpuexplorer jobs``: searches that run without this program, here and on other machines."""

from __future__ import annotations

import argparse
import threading
import time

import msgspec

from gpuexplorer.cli import EXIT_BROKEN_PIPE, EXIT_INTERRUPTED
from gpuexplorer.cli.detach import Collecting
from gpuexplorer.cli.messages import output_console, say
from gpuexplorer.cli.output import check_targets, json_path, pretty_json, write_document
from gpuexplorer.cli.sheets import plain_table
from gpuexplorer.core.errors import ExplorerError, InputError, WorkFailed
from gpuexplorer.core.interrupts import at_once
from gpuexplorer.core.text import brief
from gpuexplorer.environments import detached
from gpuexplorer.environments.detached import Detached, DetachedState, UnreadableJob
from gpuexplorer.history.place import shown

SCHEMA = "gpuexplorer/job-list/1"
LOOK_S = 1.0
AT_ONCE = 16


def command(options: argparse.Namespace) -> int:
    """List detached jobs, or do what was asked with one."""
    check_targets(json_path(options.json))
    actions = {"follow": _follow, "collect": _collect, "continue": _continue, "end": _end}
    return actions.get(options.action, _list)(options)


def _list(options: argparse.Namespace) -> int:
    unreadable: list[UnreadableJob] = []
    jobs = detached.list_detached(unreadable.append)
    found = list(zip(jobs, _looks(jobs), strict=True))
    for error in unreadable:
        say(f"gpuexplorer: {error}")
    if options.json is not None:
        listed = [
            {
                **msgspec.to_builtins(one),
                "title": shown(one.title),
                "arguments": list(map(shown, one.arguments)),
                "state": state if isinstance(state, str) else msgspec.to_builtins(state),
            }
            for one, state in found
        ]
        write_document(options.json, pretty_json({"schema": SCHEMA, "jobs": listed}))
    if options.json == "-":
        return 0
    if found:
        _show(found)
    elif not unreadable:
        say("gpuexplorer: no detached job; 'sweep ... --detach' and 'tune ... --detach' begin one")
    return 0


def _show(found: list[tuple[Detached, DetachedState | str]]) -> None:
    table = plain_table("job", "where", "done", "state", "what", figures=("done",))
    for one, state in found:
        done = "?" if isinstance(state, str) else detached.progress_words(one, state.done)
        table.add_row(one.id, one.where, done, _words(one, state), shown(one.title))
    output_console().print(table)
    for one, state in found:
        if isinstance(state, DetachedState) and _ended_with_machine(one, state):
            _say_ended_with_machine(one)
        if isinstance(state, DetachedState) and _died(state):
            _say_last_words(one, state)


def _looks(jobs: list[Detached]) -> list[DetachedState | str]:
    """Return how far each job is; an interrupt ends the asking as well."""
    given_up = threading.Event()
    # At once: a machine that is off takes ten seconds to say so.
    return at_once(lambda one: _look(one, given_up), jobs, AT_ONCE, given_up.set)


def _look(one: Detached, given_up: threading.Event) -> DetachedState | str:
    """Return how far a job is, or why that is not known."""
    try:
        return detached.state_of(one, given_up)
    except ExplorerError as error:
        return str(error)


def _say_ended_with_machine(one: Detached) -> None:
    machine = one.machine.host if one.machine is not None else "this machine"
    say(
        f"gpuexplorer: {machine} was started anew while job {one.id} was measured; it continues "
        f"after what it has stored with: gpuexplorer jobs continue {one.id}"
    )


def _ended_with_machine(one: Detached, state: DetachedState) -> bool:
    """Whether a job lacks something because its machine was started anew."""
    return state.rebooted and not (state.running or state.stopped or state.finished)


def _words(one: Detached, state: DetachedState | str) -> str:
    if isinstance(state, str):
        return state
    if state.running:
        return "measuring"
    if state.finished:
        return "done: collect it"
    if state.stopped:
        return "ended: collect or continue it"
    if _ended_with_machine(one, state):
        return "ended with its machine: continue it"
    return "interrupted: continue it"


def _died(state: DetachedState) -> bool:
    """Whether a job ended before its end, and neither a user nor its machine's restart did that."""
    return not (state.running or state.finished or state.stopped or state.rebooted)


def _say_last_words(one: Detached, state: DetachedState) -> None:
    """Say the last line that a job printed, on which stands why it died, where it says that."""
    last = next((line for line in reversed(state.said.splitlines()) if line.strip()), "")
    if why := brief(last):
        say(f"gpuexplorer: the last that job {one.id} said: {why}")


def _follow(options: argparse.Namespace) -> int:
    """Say how far a job is until it has ended; return 0 when nothing of it is missing."""
    one, before = detached.find_detached(options.job), -1
    try:
        while True:
            state = detached.state_of(one)
            if state.done != before or not state.running:
                say(f"gpuexplorer: {detached.progress_words(one, state.done)} done")
            before = state.done
            if not state.running:
                say(f"gpuexplorer: job {one.id} is {_words(one, state)}")
                if _died(state):
                    _say_last_words(one, state)
                return 0 if state.finished else WorkFailed.exit_code
            time.sleep(LOOK_S)
    except KeyboardInterrupt:
        say("gpuexplorer: the job is measured all the same; 'gpuexplorer jobs' lists it")
        return EXIT_INTERRUPTED


def _collect(options: argparse.Namespace) -> int:
    """Take what a job has measured into the history, and show it as its command would."""
    from gpuexplorer.cli import main

    one = detached.find_detached(options.job)
    state = detached.state_of(one)  # before it is read: what is stored meanwhile is not collected
    collecting = Collecting(one.id, one.began_in)
    continues = ["--resume"] if one.total and one.group else []
    # Earlier versions began jobs with it, and those measured all the same.
    arguments = [word for word in one.arguments if word != "--dry-run"]
    code = main([*arguments, *continues], collecting=collecting)
    if not state.running and state.finished:
        if not collecting.is_whole or code in (EXIT_INTERRUPTED, EXIT_BROKEN_PIPE):
            say(f"gpuexplorer: job {one.id} is kept, as it was not collected whole")
            return code
        detached.forget(one)
        say(f"gpuexplorer: job {one.id} was collected whole and is deleted")
    elif not state.running:
        say(f"gpuexplorer: job {one.id} is {_words(one, state)}")
    return code


def _continue(options: argparse.Namespace) -> int:
    """Have a job measure what it lacks, as after a reboot."""
    one = detached.find_detached(options.job)
    state = detached.state_of(one)
    if state.running:
        raise InputError(f"job {one.id} is measuring", remedy="follow it with 'jobs follow'")
    detached.go_on(one)
    say(f"gpuexplorer: job {one.id} continues")
    return 0


def _end(options: argparse.Namespace) -> int:
    """End a job; with ``--delete`` nothing of it is left."""
    one = detached.find_detached(options.job)
    if options.delete:
        detached.forget(one)
        say(f"gpuexplorer: job {one.id} is deleted")
    else:
        detached.end(one)
        say(f"gpuexplorer: job {one.id} has ended; 'jobs collect {one.id}' takes what it has")
    return 0
