"""Setting up an engine, in words: what this machine offers, what was asked for, how far it is."""

from __future__ import annotations

import re
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from gpuexplorer.core.cuda_driver import Driver
from gpuexplorer.core.errors import CannotRunHere, ExplorerError, InputError
from gpuexplorer.core.units import count, plural, quantity
from gpuexplorer.engine.interpreters import checked_name
from gpuexplorer.environments import driver as drivers
from gpuexplorer.environments import kinds, managed, plan, pythons
from gpuexplorer.environments.kinds import Kind, Offer
from gpuexplorer.environments.locked import plain
from gpuexplorer.environments.managed import Managed
from gpuexplorer.environments.plan import EnvironmentPlan, Package, Source
from gpuexplorer.environments.progress import Phase, SetUpProgress
from gpuexplorer.environments.pythons import FoundPython
from gpuexplorer.gui.model.job import duration
from gpuexplorer.gui.notice import capital

PACE_S = 5.0
"""A download's rate is that of the last seconds."""
PHASE_TITLES: dict[Phase, str] = {
    "download": "Download and check the packages",
    "install": "Install them",
    "verify": "Verify: start an engine there, and its self-test",
}
FAR_PHASE_TITLES: dict[Phase, str] = {
    "download": "Copy GPU Explorer there",
    "install": "Make the environment there",
    "verify": "Verify: start an engine there, and its self-test",
}
VOUCHERS = {
    "lock": "GPU Explorer's own list",
    "SHA256SUMS": "the folder's SHA256SUMS",
    "index": "the index's word",
}
"""Whose hash a file is held against, in words."""


class Around(msgspec.Struct, frozen=True):
    """What this machine offers for setting up an engine."""

    driver: Driver | None
    offers: tuple[Offer, ...]
    pythons: tuple[FoundPython, ...]
    names: dict[str, str]
    """By a kind's name, what an environment of it would be called."""

    @property
    def useful(self) -> tuple[Offer, ...]:
        """The kinds of which something can run here, the best first."""
        return tuple(offer for offer in self.offers if not offer.trouble)

    @property
    def useless(self) -> tuple[Offer, ...]:
        """The kinds that do nothing for the GPUs here; none are shown where there is no GPU."""
        return tuple(offer for offer in self.offers if offer.trouble and self.driver is not None)

    @property
    def driver_words(self) -> str:
        """Which driver there is, as a sentence."""
        if self.driver is None:
            return (
                "No NVIDIA driver with a GPU was found here, so that only what runs on the CPU is "
                "offered."
            )
        return f"{self.driver.words} and older."

    @property
    def no_python(self) -> str:
        """Why there is no Python to do it with, and the remedy; empty when there is one."""
        try:
            pythons.best_python(list(self.pythons))
        except CannotRunHere as error:
            return f"{error}"
        return ""


def look_around(cancel: threading.Event) -> Around:
    """Look for the driver and for Pythons; takes seconds. Raises Cancelled."""
    driver = drivers.find_driver(cancel)
    offered = kinds.offers(driver)
    found = tuple(pythons.find_pythons(cancel))
    names = {one.kind.name: managed.free_name(one.kind.name) for one in offered}
    return Around(driver, offered, found, names)


class SetUpRequest(msgspec.Struct, frozen=True):
    """What environment to make: its kind, source, Python and name."""

    kind: Kind
    source: Source
    python: FoundPython
    name: str

    def make_plan(
        self, on_words: Callable[[str], None], cancel: threading.Event
    ) -> EnvironmentPlan:
        """Find out what it would consist of; takes seconds, and raises as ``environments.plan``."""
        return plan.plan(self.kind, self.python, self.source, cancel, on_words)


def plan_new(
    wanted: SetUpRequest, on_words: Callable[[str], None], cancel: threading.Event
) -> EnvironmentPlan:
    """Plan something that was not begun before; InputError for a name that cannot be its own."""
    name = checked_name(wanted.name)
    if managed.free_name(name) != name:
        raise InputError(f"there is an engine '{name}' already", remedy="choose another name")
    return wanted.make_plan(on_words, cancel)


def plan_again(
    unfinished: Managed, on_words: Callable[[str], None], cancel: threading.Event
) -> tuple[SetUpRequest, EnvironmentPlan]:
    """Plan an unfinished environment as it was, with what it was asked to be."""
    wanted = wanted_again(unfinished, cancel)
    return wanted, wanted.make_plan(on_words, cancel)


def wanted_again(unfinished: Managed, cancel: threading.Event) -> SetUpRequest:
    """Return what an unfinished environment was asked to be, so that it can go on.

    Raises InputError when its kind or its Python are not here any more, and Cancelled.
    """
    if not unfinished.kind:
        raise InputError(
            f"'{unfinished.name}' was cut off before it was written down what it was to be",
            remedy="remove it, and set it up again",
        )
    kind = kinds.find_kind(unfinished.kind)
    python = pythons.look_at(unfinished.base, cancel=cancel)
    if not python.ok:
        raise InputError(
            f"the Python that '{unfinished.name}' was begun with cannot be used: {python.problem}",
            remedy="remove it, and set up another",
        )
    source = Source(folder=Path(unfinished.source) if unfinished.source else None)
    return SetUpRequest(kind, source, python, unfinished.name)


def sentence(error: ExplorerError) -> str:
    """Return what an error says as a sentence; a file's name it begins with stays as it is.

    Options of the command line, which stand in brackets, are left out: the window has its own.
    """
    said = re.sub(r" \(--[^)]*\)", "", str(error))
    first = said.partition(" ")[0]
    return f"{said if '.' in first or '_' in first else capital(said)}."


# ---- a plan, in words


def plan_words(planned: EnvironmentPlan) -> str:
    """Say how much is fetched, written and free, a line each."""
    packages = plural(len(planned.packages), "{number} package", "{number} packages")
    if planned.source.folder is None:
        fetched = f"Download {quantity(planned.download_B, 'B')}, {packages} from the internet"
        if planned.have_B:
            fetched = f"{fetched} ({quantity(planned.have_B, 'B')} are here already)"
    else:
        fetched = f"{packages}, {quantity(planned.total_B, 'B')}, from {planned.source.folder}"
    if planned.unknown:
        fetched = f"{fetched} ({count(planned.unknown)} of unknown size not counted)"
    return "\n".join(
        [
            f"{fetched}.",
            *(f"Without {name}: {why}." for name, why in planned.left_out.items()),
            f"On the disk it takes about {quantity(planned.installed_B, 'B')} when it is "
            f"installed; {quantity(planned.free_B, 'B')} are free in {planned.folder}.",
            "Measuring pauses while it is set up.",
        ]
    )


def space_words(planned: EnvironmentPlan) -> str:
    """Say how much room is missing and what to do; empty where there is enough."""
    if not planned.missing_B:
        return ""
    return (
        f"There is not enough room: {quantity(planned.needs_B, 'B')} are needed while it is set "
        f"up. Free {quantity(planned.missing_B, 'B')}, or start GPU Explorer with "
        "GPUEXPLORER_DATA_DIR set to a folder on a larger disk."
    )


class Maker(msgspec.Struct, frozen=True):
    """Makers whose packages come under terms of their own, which installing them accepts."""

    name: str
    terms: str
    """Where these terms stand."""
    prefix: str
    """How the names of its packages begin."""
    others: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    """Those named so that are free software."""

    def makes(self, package: str) -> bool:
        """Whether a package comes under its terms."""
        name = plain(package)
        return (name.startswith(self.prefix) or name in self.others) and name not in self.free


MAKERS = (
    Maker("NVIDIA", "https://docs.nvidia.com/cuda/eula/", "nvidia-", free=("nvidia-ml-py",)),
    Maker(
        "Intel",
        "https://www.intel.com/content/www/us/en/developer/articles/license/"
        "end-user-license-agreement.html",
        "intel-",
        others=("tbb", "tcmlib"),
    ),
)


def terms_of(packages: Sequence[Package]) -> list[tuple[Maker, list[str]]]:
    """Return the makers under whose own terms some packages come, with these packages' names."""
    found = [
        (maker, sorted(one.name for one in packages if maker.makes(one.name))) for maker in MAKERS
    ]
    return [(maker, names) for maker, names in found if names]


# ---- how far it is


class Pace:
    """A download's rate and the time that is left, from what was told in the last seconds."""

    def __init__(self) -> None:
        self._phase: Phase | None = None
        self._told: deque[tuple[float, int]] = deque()

    def take(self, progress: SetUpProgress, now_s: float | None = None) -> None:
        """Note how far it is; another phase begins anew."""
        now = time.monotonic() if now_s is None else now_s
        if progress.phase != self._phase or (self._told and progress.done_B < self._told[-1][1]):
            self._phase = progress.phase
            self._told.clear()
        if not self._told or progress.done_B != self._told[-1][1]:
            self._told.append((now, progress.done_B))
        while len(self._told) > 2 and self._told[0][0] < now - PACE_S:
            self._told.popleft()

    def rate_per_s(self, now_s: float | None = None) -> float | None:
        """How much there is a second; None while that is not known."""
        now = time.monotonic() if now_s is None else now_s
        if len(self._told) < 2 or now - self._told[0][0] < 0.2:
            return None
        (begin, first), (_, last) = self._told[0], self._told[-1]
        return (last - first) / (now - begin)


def progress_words(progress: SetUpProgress, rate_per_s: float | None) -> str:
    """Say how far it is: bytes, rate and time left; of a verification, checks."""
    if progress.phase == "verify":
        if not progress.total_B:
            return ""
        return f"{count(progress.done_B)} of {count(progress.total_B)} checks"
    if not progress.total_B:
        return quantity(progress.done_B, "B") if progress.done_B else ""
    words = [f"{quantity(progress.done_B, 'B')} of {quantity(progress.total_B, 'B')}"]
    if rate_per_s and progress.phase == "download":
        words.append(quantity(rate_per_s, "B/s"))
        left_s = (progress.total_B - progress.done_B) / rate_per_s
        if left_s > 0:
            words.append(f"{duration(left_s)} left")
    return " · ".join(words)
