"""What the Lab's studies can look at, from the knobs as they stand, and how long they take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.knobs import values_text
from gpuexplorer.core.units import count
from gpuexplorer.gui.model.experiment import Experiment
from gpuexplorer.gui.model.lab import Kind
from gpuexplorer.gui.model.lab_words import duration
from gpuexplorer.gui.model.offers import Offer
from gpuexplorer.studies import How, Lab, PrecisionLab, SwitchesLab
from gpuexplorer.studies.choices import THREADS, title_of
from gpuexplorer.studies.speedup import default_sizes

EACH_S = {"kernel": 0.06, "model": 0.25}
"""What a turn takes beside its samples, before anything was measured."""
NO_SWITCHES = (
    "Switches belong to models of frameworks. Choose a workload such as MLP forward, or a variant "
    "that a framework computes."
)

THREADS_TIP = (
    "The model with so many CPU threads, in an engine of its own beside the window's:\n"
    "starting it takes a few seconds"
)


@dataclass(frozen=True)
class Sides:
    """Devices that can run the workload, and which two are compared at first."""

    devices: tuple[DeviceInfo, ...]
    first: str | None
    second: str | None

    @property
    def reason(self) -> str:
        """Why there is nothing to compare; empty when there is."""
        if self.first is not None and self.second is not None:
            return ""
        return "Only one device here can run this workload, so there is nothing to hold against it."


def precision_choices(experiment: Experiment) -> list[Offer]:
    """Return every precision, with what it is and why some cannot be looked at."""
    return experiment.precision_offers()


def switch_choices(experiment: Experiment) -> list[Offer]:
    """Return the switches of the variant, with what they teach and why some cannot be turned."""
    return [
        Offer(offer.name, offer.switch.title, offer.reason, offer.switch.teaches)
        for offer in experiment.switch_offers()
    ]


def thread_choices(experiment: Experiment, cores: int) -> list[Offer]:
    """Return other numbers of CPU threads to try with a model on a processor of ``cores`` cores."""
    device = experiment.device
    if device is None or device.threads is None or experiment.variant.model is None:
        return []
    powers = (1 << k for k in range(cores.bit_length()))
    numbers = sorted({n for n in (*powers, cores - 1, cores) if 1 <= n <= cores} - {device.threads})
    return [Offer(f"{THREADS}={n}", title_of(THREADS, n), tip=THREADS_TIP) for n in numbers]


def split_threads(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the switches among ticked names, and the numbers of CPU threads."""
    mark = f"{THREADS}="
    switches = tuple(name for name in names if not name.startswith(mark))
    return switches, tuple(int(n.removeprefix(mark)) for n in names if n.startswith(mark))


def sides(experiment: Experiment) -> Sides:
    """Return the devices that have any variant of the workload: a CPU first, then a GPU."""
    devices = experiment.devices.devices if experiment.devices is not None else ()
    variants = experiment.workload.manifest.variants.values()
    calls = {v.call for v in variants if v.call is not None}
    kernels = any(v.launch for v in variants)
    able = [d for d in devices if (kernels and d.runs_kernels) or calls & set(d.libraries)]
    cpus = [d for d in able if d.kind == "cpu"]
    chosen = experiment.device
    if chosen is not None and chosen in cpus:  # what the knobs mean comes first
        cpus = [chosen, *(d for d in cpus if d is not chosen)]
    gpus = [d for d in able if d.kind != "cpu"]
    if chosen is not None and chosen in gpus:
        gpus = [chosen, *(d for d in gpus if d is not chosen)]
    pair = [*cpus[:1], *gpus[:1]] if gpus else cpus[:2]
    if len(pair) < 2:
        pair = able[:2]
    first, second = ([d.id for d in pair] + [None, None])[:2]
    return Sides(tuple(able), first, second)


def sizes_text(experiment: Experiment, symbol: str) -> str:
    """Return sizes that double around a symbol's default, in the grammar of ranges."""
    return values_text(default_sizes(experiment.workload.manifest.sizes[symbol]))


def configurations(lab: Lab) -> int:
    """Return how many configurations a study measures, as far as that is known before it runs."""
    if isinstance(lab, PrecisionLab):
        return sum(offer.config is not None for offer in lab.offers)
    if isinstance(lab, SwitchesLab):
        return 1 + len(lab.choices.offered)
    return 3 * len(lab.sizes)


def total_words(lab: Lab) -> str:
    """Return what a study will measure, in a sentence."""
    number = configurations(lab)
    if isinstance(lab, PrecisionLab):
        return f"{count(number)} precision{'s' if number != 1 else ''}, measured in turns."
    if isinstance(lab, SwitchesLab):
        return (
            f"The baseline and {count(number - 1)} switch"
            f"{'es' if number != 2 else ''} beside it, then those that pay on top of each other."
        )
    return f"{count(len(lab.sizes))} sizes on two devices, with and without transfers."


def estimate_s(lab: Lab, how: How, *, model: bool) -> float:
    """Return about how long a study takes, in seconds; compiling is not in it."""
    each_s = EACH_S["model" if model else "kernel"]
    number = configurations(lab)
    if isinstance(lab, SwitchesLab):
        number = 2 * number - 1  # those that pay are measured again
    return number * (how.seconds + (1 + how.rounds) * each_s)


def about(kind: Kind) -> tuple[str, str]:
    """Return what a study is, for those who have not run it: a title and a sentence."""
    return {
        "precision": (
            "How much accuracy does each precision cost, and what does it buy?",
            "The workload runs in every precision it has here, in turns. Each point's error is "
            "against float64; the line joins those that nothing beats in both.",
        ),
        "switches": (
            "What did each switch buy?",
            "Each switch of the model's structure is turned by itself beside the knobs as they "
            "stand, in turns; those that pay are then put on top of each other.",
        ),
        "speedup": (
            "From which size on does the second device pay?",
            "The workload runs on both devices over a range of sizes: with the data at hand, and "
            "with all that it takes to bring them there and back.",
        ),
    }[kind]


def time_words(lab: Lab, how: How, *, model: bool) -> str:
    """Return about how long a study takes, in a sentence."""
    words = f"Takes {duration(estimate_s(lab, how, model=model))}"
    compiles = isinstance(lab, SwitchesLab) and any(
        c.switch in ("compile", "xla", "jit", "tf_function") for c in lab.choices.offered
    )
    return words + (", and longer where a model is compiled anew." if compiles else ".")
