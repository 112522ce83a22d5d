"""Sentences for the banner, with what can be done about them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import msgspec

from gpuexplorer.analysis.measured_traffic import counted_words
from gpuexplorer.charts.words import config_words
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.result import Traffic
from gpuexplorer.core.telemetry import Counters
from gpuexplorer.core.units import plural, quantity
from gpuexplorer.engine.client import EngineLost

Action = Callable[[], None]


class Notice(msgspec.Struct, frozen=True):
    """``kind`` is ``info``, ``warning`` or ``bad``; an action of None leads to the sliders."""

    kind: str
    text: str
    actions: tuple[tuple[str, Action | None], ...] = ()
    detail: str = ""
    stays: Callable[[], bool] = lambda: False
    """Whether it stays now until it is hidden or another takes its place."""
    offers: bool = False
    """Whether several of its actions can be taken: none hides it."""


def cannot_run(error: ExplorerError) -> Notice:
    """Say why the knobs, as they stand, make no run."""
    return Notice("warning", f"This configuration cannot run: {error}.", detail=error.detail)


def failed(error: ExplorerError, *, named: bool = False) -> Notice:
    """Say what went wrong, with the traceback where there is one.

    The details begin with the configuration if it is to be ``named``: a job has many.
    """
    words = config_words(error.config) if named and error.config is not None else ""
    notes: list[str] = getattr(error, "__notes__", [])
    detail = "\n\n".join(part for part in (words, error.detail, *notes) if part)
    return Notice("bad", f"{capital(str(error))}.", detail=detail)


def long_launch(predicted_s: float, run_anyway: Action) -> Notice:
    """Ask before a launch that takes long."""
    return Notice(
        "warning",
        f"One launch would take about {quantity(predicted_s, 's', 2)} on this device. You can stop "
        "it at any time.",
        actions=(("Run it anyway", run_anyway), ("Choose another block", None)),
    )


def nothing_to_analyse() -> Notice:
    """Say that there is no run to look into."""
    return Notice("info", "Nothing to analyse yet: measure a configuration first.")


def counted(counters: Counters, traffic: Iterable[Traffic]) -> Notice:
    """Say what a profiler counted in one launch."""
    kernels = ", ".join(dict.fromkeys(counters.kernels))
    return Notice("info", f"{counted_words(counters, traffic)}.", detail=f"Kernels: {kernels}")


def not_kept(what: str, error: ExplorerError) -> Notice:
    """Say that the history does not take the runs of a sweep, say; measuring goes on."""
    text = f"The {what}'s runs are not kept in the history: {error}."
    return Notice("warning", text, detail=error.detail)


def engine_busy(doing: str) -> Notice:
    """Say that something else has the engine."""
    return Notice("info", f"The engine is busy {doing}: wait until it is done, or stop it.")


def threads_stay(doing: str, busy: Callable[[], bool]) -> Notice:
    """Say that a run's or an advice's CPU threads are not taken over while a job is ``busy``."""
    words = (
        "The number of CPU threads stays as it is: another one needs a fresh engine, and this one "
        f"is busy {doing}."
    )
    return Notice("info", words, stays=busy)


def machine_busy(doing: str) -> Notice:
    """Say that something which is not measured would disturb what is."""
    words = f"{capital(doing)} would disturb this: wait until it is done, or stop it there."
    return Notice("info", words)


def no_device(devices: DeviceList, choose: Action) -> Notice:
    """Say that nothing here runs work, and what each backend lacks; another engine may have it."""
    reasons = "\n".join(
        f"{u.backend}: {u.reason}. {capital(u.remedy)}." for u in devices.unavailable
    )
    text = "No device here can run work; see 'Details' for why."
    return Notice("bad", text, actions=(("Engines…", choose),), detail=reasons)


def no_engine(event: EngineLost, said: str, try_again: Action, choose: Action) -> Notice:
    """Say that the engine cannot be started, what would change that, and its last words."""
    text = _ended(event)
    actions = (("Try again", try_again), ("Engines…", choose))
    return Notice("bad", text, actions=actions, detail=event.detail or said)


def engine_replaced(
    event: EngineLost, kept: int, *, resumed: bool, run_anyway: Action | None = None
) -> Notice:
    """Say how an engine ended and what to do, how many samples it left, what the next one does."""
    sentences = [_ended(event)]
    if kept:
        sentences.append(
            plural(
                kept,
                "The {number} sample it delivered is kept.",
                "The {number} samples it delivered are kept.",
            )
        )
    sentences.append(
        "It is tried again until it answers."
        if event.far
        else "A fresh engine takes over."
        if resumed
        else "A fresh engine is ready for another configuration."
    )
    actions = (("Run it anyway", run_anyway),) if event.may_be_long and run_anyway else ()
    return Notice("warning" if resumed else "bad", " ".join(sentences), actions=actions)


def _ended(event: EngineLost) -> str:
    """Say how an engine ended, and what to do about it where that is known."""
    why = capital(event.reason)
    return f"{why}; {event.remedy}." if event.remedy else f"{why}."


def capital(text: str) -> str:
    """Return a text as a sentence begins; a file's name at its beginning stays as it is."""
    names_file = re.match(r"\S*[./\\]\S", text) is not None
    return text if names_file else text[:1].upper() + text[1:]
