"""What a kind of study is: its words, its choices in a form and on a command line, its outcome.

The window, the terminal, reports and files know every study by its ``StudyKind`` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from gpuexplorer.charts.caption import Caption
from gpuexplorer.charts.spec import ChartSpec
from gpuexplorer.charts.studies_words import subject
from gpuexplorer.core import ranges
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.offer import Offer
from gpuexplorer.core.sheet import Sheet
from gpuexplorer.core.studies import Study
from gpuexplorer.studies.running import Running
from gpuexplorer.workloads.manifest import VariantSpec
from gpuexplorer.workloads.workload import Workload

S = TypeVar("S", bound=Study)


class Scene(Protocol):
    """The knobs as they stand, which a study's form follows."""

    @property
    def workload(self) -> Workload:
        """The workload."""

    @property
    def variant(self) -> VariantSpec:
        """The variant."""

    @property
    def device(self) -> DeviceInfo | None:
        """The device; None while none is known."""

    @property
    def devices(self) -> DeviceList | None:
        """All devices; None while they are not known."""

    def variant_offers(self) -> list[Offer]:
        """Return the variants of the workload, and why some cannot run on the device."""

    def precision_offers(self) -> list[Offer]:
        """Return the precisions, and why some cannot be had."""

    def switch_offers(self) -> Sequence[Any]:
        """Return the switches of the variant, each with ``name``, ``switch`` and ``reason``."""


class Choice(msgspec.Struct, frozen=True):
    """Something that a study is told beside the knobs; ``name`` is the argument of its lab."""

    name: str
    option: str
    """On the command line."""
    metavar: str
    help: str
    also: tuple[str, ...] = ()
    """Other names of the option."""
    read: Callable[[str], Sequence[Any]] = ranges.names
    """Reads its values from text, on the command line and of what is ticked in a form."""
    title: str = ""
    """Above its boxes in a form; without one the command line alone has it."""
    offers: Callable[[Scene], Sequence[Offer]] = lambda _: ()
    ticked: bool = True
    """Whether every offer is ticked as long as the user did not say otherwise."""
    too_few: str = ""
    """What is said where nothing is ticked, or a list shows nothing; empty: that is allowed."""
    nothing: Callable[[Scene], str] = lambda _: ""
    """What the form says where it has nothing to offer."""
    boxes: tuple[tuple[str, str], ...] = ()
    """Titles and tips of lists that take one offer each; none: each offer has a check box."""
    first: Callable[[Scene], Sequence[str | None]] = lambda _: ()
    """What those lists show at first."""


class StudyKind(msgspec.Struct, Generic[S], frozen=True):
    """One kind of study."""

    title: str
    """In a word or two, for a tab."""
    heading: str
    tip: str
    question: str
    """What it answers, for those who have not run it, and ``about`` how."""
    about: str
    doing: str
    """What the status bar says meanwhile."""
    command: str
    """What ``gpuexplorer study --help`` says of it."""
    document: type[S]
    lab: Callable[..., Running[S]]
    """Called with request, workload, devices and ``How``, and the choices by name."""
    sheet: Callable[[S], Sheet]
    chart: Callable[[S], ChartSpec]
    finding: Callable[[S], str]
    """The finding in a sentence or two; empty while there is none."""
    choices: tuple[Choice, ...] = ()
    over_sizes: bool = False
    """Whether it measures several sizes of one symbol (its arguments ``symbol`` and ``sizes``)."""
    varies: tuple[str, ...] = ()
    """Fields of a request that the study chooses itself."""
    without: tuple[str, ...] = ()
    """Knobs that its command has no option for."""
    subject: Callable[[S], str] | None = None
    """What a study was about in words; None: what its ``config`` says."""
    source: Callable[[S, str], tuple[str, str]] | None = None
    """Returns what changed in the source up to a run, by its id: a title and the text, empty where
    nothing did. None: the study is not about sources."""
    settle: Callable[[Mapping[str, Any]], Mapping[str, Any]] = msgspec.field(default=dict)
    """Returns what a form's choices come to; InputError where that is nothing to measure."""

    @property
    def name(self) -> str:
        """The name on the command line, in documents and in the Python API."""
        return str(self.document.__struct_config__.tag)

    def caption(self, study: S) -> Caption:
        """Return what a study's runs have in common."""
        return Caption.of(study.runs, self.varies)

    def subject_of(self, study: S) -> str:
        """Return what a study was about: what its runs have in common."""
        if self.subject is not None:
            return self.subject(study)
        config: RunConfig = study.config  # type: ignore[attr-defined]
        return subject(config, without=self.varies)
