"""The public Python API: list devices, measure, sweep and analyse kernels, from scripts.

    import gpuexplorer

    result = gpuexplorer.run("matmul", variant="naive", size=512, block=(16, 16))
    print(result.timing.median_s, result.throughput.flop_per_s)

Every call starts the process that the window uses, the engine or the compiler, and ends it with
its answer. NumPy's numbers and arrays are taken wherever numbers are.
Errors are ``gpuexplorer.core.errors.ExplorerError`` and say in one sentence what is wrong; an
argument that cannot be is an ``InputError``. What fails after a measurement, such as keeping it, is
a warning, and the result comes back all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import EllipsisType
from typing import Any, Unpack

from gpuexplorer.analysis.architectures import (
    DEFAULT_ARCHITECTURE,
    chosen_architectures,
    one_architecture,
)
from gpuexplorer.analysis.listing import Listings
from gpuexplorer.analysis.static import Analysis
from gpuexplorer.calibration.store import CeilingStore
from gpuexplorer.cluster.call import connecting
from gpuexplorer.cluster.connection import Cluster
from gpuexplorer.core import limits
from gpuexplorer.core.accesses import AccessLook, AccessProfile
from gpuexplorer.core.compared import ComparisonResult
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.knobs import (
    ConditionArguments,
    ProblemArguments,
    RequestArguments,
    request_of,
)
from gpuexplorer.core.operators import OperatorProfile
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.sweep import SweepDocument
from gpuexplorer.core.tuning import Budget, Tuning
from gpuexplorer.engine.analyze import (
    analyze_file,
    analyze_variant,
    list_file,
    list_variants,
    with_compiled,
)
from gpuexplorer.engine.session import EngineSession, RunProgress
from gpuexplorer.search.arguments import arguments, choices_by_name, optional
from gpuexplorer.search.call import (
    kept_in,
    not_kept,
    read_workload,
    trusted,
    with_partial,
    workload_of,
)
from gpuexplorer.search.compare import AT_MOST_S as COMPARE_S
from gpuexplorer.search.compare import Comparing, Standing
from gpuexplorer.search.contestants import (
    check_followed,
    contestants_of,
    one_number_of_threads,
    read_words,
)
from gpuexplorer.search.engines import Engines
from gpuexplorer.search.measuring import AT_MOST_S, SAMPLES, Measuring
from gpuexplorer.search.side_by_side import SideBySide
from gpuexplorer.search.space import Axis, Space
from gpuexplorer.search.space_sweep import SpaceSweep
from gpuexplorer.search.stored import compare_runs
from gpuexplorer.search.sweep import SweepStep
from gpuexplorer.search.tune import Tuner, TuningOptions, TuningProgress
from gpuexplorer.search.tune_keep import TuningKeeper
from gpuexplorer.search.tune_sampler import check_sampler
from gpuexplorer.search.tune_space import Ranges, tuning_space
from gpuexplorer.studies.once import ladder, study
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.operators import told_variant

__all__ = [
    "accesses",
    "analyze",
    "compare",
    "devices",
    "ladder",
    "listings",
    "operators",
    "run",
    "study",
    "sweep",
    "tune",
]


@arguments()
def devices(*, python: str | None = None, threads: int | None = None) -> DeviceList:
    """Return every device that can run work here, and why other backends cannot.

    ``python`` is the Python that runs the engine: a name from ``gpuexplorer engines``, an
    interpreter's or an environment's path, None for this one. ``threads`` are the CPU threads a
    kernel may use (None: all cores but one). Raises CannotRunHere when no engine starts.
    """
    with EngineSession(python=python, threads=threads) as session:
        return session.devices()


@arguments()
def run(
    workload: str,
    *,
    seconds: float = 2.0,
    max_noise: float | None = None,
    kernels: str | Path | Sequence[str | Path] = (),
    python: str | None = None,
    trust: bool = False,
    allow_long: bool = False,
    on_progress: Callable[[RunProgress], None] | None = None,
    **knobs: Unpack[RequestArguments],
) -> RunResult:
    """Measure one configuration and return its document; None takes the workload's default.

    ``size`` is a number (the first size symbol) or a mapping by symbol; ``block`` counts threads
    per block along x, y, z; ``cache`` says whether the last-level cache is emptied before each
    launch (``cold``) or not; ``fill`` is the inputs' distribution (None: as the manifest says),
    ``normal``, ``uniform``, ``integers`` or ``zeros``; ``switches`` say how a framework runs its
    model, such as ``{"compile": "default"}``; ``seconds`` is how long to sample, or with
    ``max_noise`` (such as 0.005) at most so long: until the median is known to that fraction, or
    until more samples do not help; ``kernels`` are folders of your own workloads; ``workload`` may
    be the path of a model's Python file, which ``trust`` agrees to run; ``allow_long`` agrees to
    launches longer than two seconds. ``on_progress`` is called a few times a second.

    Raises InputError for a request that cannot be, CannotRunHere when this machine lacks what it
    needs, WrongResult when the kernel's result is wrong, WorkFailed when it does not compile or
    run. When a run ends early, as with an engine that was killed, the error's ``partial`` is the
    document of what was sampled by then, None for nothing. A KeyboardInterrupt stops the run.
    """
    request = request_of(workload, **knobs)
    chosen = workload_of(workload, kernels, trust=trust)
    ceilings = CeilingStore().find
    with EngineSession(python=python, threads=request.threads, ceilings=ceilings) as session:
        config = complete(request, chosen, session.devices())
        options = RunOptions(seconds=seconds, max_noise=max_noise, allow_long=allow_long)
        with with_partial(session.partial):
            return session.measure(config, chosen, options, on_progress=on_progress).result()


@arguments(seconds=optional(limits.SECONDS.check))
def compare(
    *contestants: str | RunResult,
    workload: str | None = None,
    seconds: float | None = None,
    rounds: int | None = None,
    tolerance: float = 0.005,
    fail_if_slower: float | None = None,
    stored: bool = False,
    kernels: str | Path | Sequence[str | Path] = (),
    python: str | None = None,
    trust: bool = False,
    allow_long: bool = False,
    on_round: Callable[[Sequence[Standing]], None] | None = None,
    **knobs: Unpack[RequestArguments],
) -> ComparisonResult:
    """Measure two or more in turns and hold each against the first; return the document.

    A contestant is a word as ``gpuexplorer compare`` takes it, such as ``"naive:16x16"``, the
    beginning of a stored run's id, ``"baseline"`` or ``"tiled,TILE=32"``, or a run's result, which
    is measured again. What a word leaves open is as ``workload`` and all the others say, or else as
    in the first run. A word may name its engine, such as ``"torch,engine=torch-2.11"``: then each
    engine is a process of its own, and one measures at a time. It ends when every verdict is clear,
    after ``seconds`` of measuring at the latest (20), or after exactly so many ``rounds``. Ratios
    within ``tolerance`` of 1 are the same; with ``fail_if_slower`` (such as 0.05) each contestant's
    ``too_slow`` says whether it is slower by more, with confidence. ``on_round`` is called with
    each contestant's standing. ``stored`` takes stored runs and results as they are, on whatever
    days they were measured, which is weaker evidence than turns; nothing is measured then.

    Raises as ``run`` does, with the contestant's name; ``partial`` is the document of the rounds
    that were done.
    """
    if len(contestants) < 2:
        raise InputError("a comparison takes two", remedy="name another configuration or run")
    threads = knobs.pop("threads", None)
    if stored and rounds is not None:
        raise InputError(
            "'rounds' counts turns, and with 'stored' nothing is measured in turns",
            remedy="leave one of the two out",
        )
    said = [name for name, value in knobs.items() if value is not None]
    request = request_of(workload or "", **knobs)
    wanted = read_words(
        contestants, request, trusted(kernels, trust=trust),
        as_stored=stored, said=said, engine=python,
    )  # fmt: skip
    own = [f"'{name}'" for name in said]
    given = {"seconds": seconds, "threads": threads}
    measuring = [f"'{name}'" for name, value in given.items() if value is not None]
    check_followed(wanted, own, measuring, "'stored'" if stored else None)
    if stored:
        runs = [one.stored for one in wanted if one.stored is not None]
        if len(runs) < len(wanted):
            raise InputError("'stored' takes stored runs alone", remedy="name each by its id")
        return compare_runs(runs, tolerance=tolerance, fail_if_slower=fail_if_slower)
    wanted, threads = one_number_of_threads(wanted, threads)
    ceilings = CeilingStore().find

    def open_session(engine: str | None) -> EngineSession:
        return EngineSession(python=engine, threads=threads, ceilings=ceilings)

    with SideBySide(open_session) as engines:
        compared = contestants_of(wanted, engines.devices, python)
        comparing = Comparing(
            compared,
            tolerance=tolerance,
            fail_if_slower=fail_if_slower,
            rounds=rounds,
            allow_long=allow_long,
        )
        measures = [engines.measures(one.engine) for one in compared]
        with with_partial(lambda: comparing.result() if comparing.rounds else None):
            comparing.measure(measures, seconds=seconds or COMPARE_S, on_round=on_round)
    return comparing.result()


@arguments(seconds=optional(limits.SECONDS.check))
def sweep(
    workload: str,
    axes: Mapping[str, Sequence[Any]],
    *,
    samples: int | None = SAMPLES,
    seconds: float | None = AT_MOST_S,
    max_noise: float | None = None,
    order_seed: int = 1,
    history: bool | str | Path = False,
    resume: bool = False,
    cluster: str | Path | None = None,
    slower_by: float | None = None,
    kernels: str | Path | Sequence[str | Path] = (),
    python: str | None = None,
    trust: bool = False,
    allow_long: bool = False,
    on_step: Callable[[SweepStep], None] | None = None,
    **knobs: Unpack[RequestArguments],
) -> SweepDocument:
    """Measure every combination of the axes' values and return the sweep's document.

        gpuexplorer.sweep("matmul", {"size": [256, 512], "block.x": [8, 16, 32], "block.y": [1, 4]})

    ``axes`` are ``size`` (the first size symbol), ``size.N``, ``block`` (threads along x, y, z),
    ``block.x``, ``block.y``, ``block.z``, ``precision``, ``variant``, ``tunable.NAME``,
    ``switch.NAME``, ``device``, ``fill``, ``cache`` and ``threads``; the other arguments, as
    ``run`` has them, say the rest.
    Each is measured until it has ``samples``, for ``seconds`` at the most, or until its median is
    known to ``max_noise``; one of the first two is needed. The order is random after
    ``order_seed``. What cannot run, or fails, is skipped with its reason. ``history`` keeps every
    run as soon as it is done: True in the user's own, or in the one named; with ``resume`` what the
    latest sweep of the same finished there is not measured again. ``cluster``, a cluster.toml, its
    folder or a scheduler's address, measures on all workers of that cluster, with their own Python;
    what one has measured whose reference took longer than usual by the share ``slower_by`` (None:
    0.1) is measured again, with a warning.
    ``on_step`` is called before and after each configuration.

    Raises InputError and CannotRunHere when nothing of it can be run, and when the history cannot
    be opened; CannotRunHere when no engine starts, or none any more: the document of what was
    measured by then is the error's ``partial``, None for nothing. A history that fails later is a
    UserWarning. A KeyboardInterrupt stops the sweep.
    """
    if samples is None and seconds is None:
        raise InputError(
            "nothing ends a configuration: samples and seconds are both None",
            remedy="give one of them",
        )
    connect = connecting(cluster, python=python, slower_by=slower_by)
    chosen = workload_of(workload, kernels, trust=trust)
    first = next(iter(chosen.manifest.sizes))
    request = request_of(chosen.name, **knobs)
    named = {f"size.{first}" if name == "size" else name: v for name, v in axes.items()}
    space = Space(request, tuple(Axis(name, tuple(v)) for name, v in named.items()))
    ceilings = CeilingStore().find
    wanted = named.get("threads", [request.threads])[0]

    def opened(number: int | None) -> EngineSession:
        return EngineSession(python=python, threads=number, ceilings=ceilings)

    def measuring() -> Engines | Cluster:
        return Engines(opened, wanted) if connect is None else connect()

    with kept_in(history or resume) as store, measuring() as engines:
        space_sweep = SpaceSweep(
            space,
            chosen,
            engines.devices,
            Measuring(samples, seconds, max_noise, allow_long=allow_long),
            seed=order_seed,
            store=store,
            resume=resume,
            python=python,
            ceilings=ceilings,
            on_step=on_step,
            on_trouble=not_kept,
        )
        with with_partial(lambda: done if (done := space_sweep.document()).measured else None):
            return space_sweep.run(engines)


@arguments(
    seconds=optional(limits.SECONDS.check),
    samples=limits.SAMPLES.check,
    tunables=optional(choices_by_name),
)
def tune(
    workload: str,
    *,
    block_x: Sequence[int] | None = None,
    block_y: Sequence[int] | None = None,
    block_z: Sequence[int] | None = None,
    tunables: Mapping[str, Sequence[int]] | None = None,
    seconds: float | EllipsisType | None = ...,
    evaluations: int | None = None,
    sampler: str = "tpe",
    samples: int = 7,
    racing: bool = True,
    history: bool | str | Path = False,
    cluster: str | Path | None = None,
    slower_by: float | None = None,
    kernels: str | Path | Sequence[str | Path] = (),
    python: str | None = None,
    allow_long: bool = False,
    on_tuning: Callable[[TuningProgress], None] | None = None,
    **knobs: Unpack[ConditionArguments],
) -> Tuning:
    """Search blocks and tunables for the fastest and return the tuning's document.

        tuning = gpuexplorer.tune("matmul", variant="tiled", size=1024, seconds=30)
        print(tuning.chosen, tuning.why, len(tuning.tied))

    ``block_x``, ``block_y``, ``block_z`` and ``tunables`` are the values to choose among; None
    takes every power of two that can be launched, and the manifest's values. The budget is
    ``seconds``, the final included (60 unless ``evaluations`` are given), and ``evaluations``
    (configurations), whichever is used up first; None for both is the whole space. ``sampler`` is
    ``tpe``, ``random``, ``grid``, ``cmaes`` or ``qmc``. A contender gets ``samples`` launches and
    with ``racing`` a clear loser fewer; the leaders are measured again in turns before one is
    named. ``history`` keeps the runs and what was found, for ``run --tuned`` and the window: True
    in the user's own, or in the one named. ``cluster`` and ``slower_by`` are those of ``sweep``:
    all workers with the hardware of ``device`` measure candidates at a time. ``on_tuning`` is
    called after each configuration and each round of the final.

    Raises InputError when there is nothing to tune, CannotRunHere when a sampler lacks its package
    or no engine starts, WorkFailed when nothing can be measured. The error that ends a tuning has
    its document by then as ``partial``, which names nothing, None where nothing was measured. A
    history that fails meanwhile is a UserWarning.
    """
    connect = connecting(cluster, python=python, slower_by=slower_by)
    chosen = workload_of(workload, kernels, trust=False)
    request = request_of(workload, **knobs)
    given = {"block.x": block_x, "block.y": block_y, "block.z": block_z}
    ranges = Ranges(
        {name: tuple(values) for name, values in given.items() if values is not None},
        {name: tuple(values) for name, values in (tunables or {}).items()},
    )
    if isinstance(seconds, EllipsisType):
        seconds = 60.0 if evaluations is None else None
    options = TuningOptions(
        sampler=sampler,
        budget=Budget(seconds=seconds, evaluations=evaluations),
        samples=samples,
        racing=racing,
        seed=request.seed,
        allow_long=allow_long,
    )
    check_sampler(sampler)
    ceilings = CeilingStore().find

    def measuring() -> EngineSession | Cluster:
        if connect is not None:
            return connect()
        return EngineSession(python=python, threads=request.threads, ceilings=ceilings)

    with kept_in(history) as store, measuring() as session:
        devices = session.devices if isinstance(session, Cluster) else session.devices()
        space = tuning_space(request, chosen, devices, ranges)
        tuner = Tuner(session, chosen, space, options)
        if on_tuning is not None:
            tuner.on_progress = on_tuning
        with with_partial(lambda: done if (done := tuner.so_far()).device else None):
            return TuningKeeper(store, not_kept).run(tuner)


@arguments()
def operators(
    workload: str,
    *,
    switches: Mapping[str, bool | str] | None = None,
    shapes: bool = False,
    kernels: str | Path | Sequence[str | Path] = (),
    python: str | None = None,
    trust: bool = False,
    **knobs: Unpack[ProblemArguments],
) -> OperatorProfile:
    """Record what one iteration calls and return the profile: a table, and calls over time.

    ``workload`` is a name, or the path of a model's Python file, which ``trust`` agrees to run;
    ``variant`` is one that PyTorch runs (None: the first of those); ``shapes`` makes a row for each
    operator and shapes of its inputs. The rest is as ``run`` has it.

    Raises InputError for a workload that PyTorch runs no variant of, and what ``run`` raises.
    """
    chosen = workload_of(workload, kernels, trust=trust)
    knobs["variant"] = told_variant(chosen, knobs.get("variant"))
    request = request_of(chosen.name, **knobs, switches=switches)
    with EngineSession(python=python, threads=request.threads) as session:
        config = complete(request, chosen, session.devices())
        return session.operators(config, chosen, shapes=shapes)


@arguments()
def accesses(
    workload: str,
    *,
    launch: int = 0,
    place: Sequence[int] = (0, 0, 0),
    warp: int = 0,
    arch: str | None = None,
    kernels: str | Path | Sequence[str | Path] = (),
    python: str | None = None,
    **knobs: Unpack[ProblemArguments],
) -> AccessProfile:
    """Run one block of a kernel on the CPU device and return what a warp of it asks of memory.

    For each place of the source and array: requests, sectors of 32 bytes, bytes used of those
    fetched, bank conflicts; and each request with the places of its 32 lanes. ``launch`` is one of
    the variant's, ``place`` the block's in the grid, ``warp`` one of the block's, all from 0. With
    ``arch``, such as ``sm_90``, the kernel is compiled for it and ``compiled`` holds what became of
    the accesses. The rest is as ``run`` has it.

    Raises InputError for a block or warp that is not there, CannotRunHere without the CPU device,
    WorkFailed with file and line for a source whose accesses cannot be followed.
    """
    chosen = workload_of(workload, kernels, trust=False)
    if knobs.get("device", "auto") == "auto":
        knobs["device"] = "cpu"
    if len(place) > 3:
        raise InputError(f"a grid has no place with {len(place)} numbers", remedy="give three")
    request = request_of(chosen.name, **knobs)
    x, y, z = (*place, 0, 0, 0)[:3]
    look = AccessLook(launch=launch, block=(x, y, z), warp=warp)
    architecture = one_architecture([arch] if isinstance(arch, str) else arch or ())
    with EngineSession(python=python, threads=request.threads) as session:
        config = complete(request, chosen, session.devices())
        profile = session.accesses(config, chosen, look)
    if arch is None:
        return profile
    return with_compiled(profile, chosen, request, architecture, python=python)


@arguments()
def analyze(
    subject: str | Path,
    *,
    arch: str | Sequence[str] = "all",
    variant: str | None = None,
    size: int | Mapping[str, int] | None = None,
    block: Sequence[int] | None = None,
    precision: str | None = None,
    defines: Mapping[str, int] | None = None,
    dynamic_shared_B: int = 0,
    entries: Sequence[str] = (),
    kernels: str | Path | Sequence[str | Path] = (),
    python: str | None = None,
) -> Analysis:
    """Compile kernels for GPUs that need not be here and return what they take of the hardware.

    ``subject`` is a CUDA source as a ``Path``, or a workload's name. ``arch`` is one or several of
    ``sm_90``, a GPU such as ``H100``, or ``all``; ``defines`` are the file's macros or the
    variant's tunables. ``dynamic_shared_B`` (bytes a block) and ``entries`` (the kernels wanted,
    such as ``scale<4>``) are a file's; ``variant``, ``size`` and ``kernels`` a workload's.

    Raises InputError for a request that cannot be, CannotRunHere where NVRTC is not installed,
    WorkFailed when the source does not compile.
    """
    architectures = chosen_architectures([arch] if isinstance(arch, str) else arch)
    if isinstance(subject, Path):
        return analyze_file(
            subject,
            architectures,
            block=block,
            precision=precision or "fp32",
            defines=defines,
            dynamic_shared_B=dynamic_shared_B,
            entries=entries,
            python=python,
        )
    request = request_of(
        subject, variant=variant, size=size, block=block, precision=precision, tunables=defines
    )
    chosen = read_workload(subject, kernels)
    return analyze_variant(chosen, request, architectures, python=python)


@arguments()
def listings(
    subject: str | Path,
    *,
    arch: str | Sequence[str] = DEFAULT_ARCHITECTURE,
    variant: str | None = None,
    size: int | Mapping[str, int] | None = None,
    block: Sequence[int] | None = None,
    precision: str | None = None,
    defines: Mapping[str, int] | None = None,
    entries: Sequence[str] = (),
    kernels: str | Path | Sequence[str | Path] = (),
    python: str | None = None,
) -> Listings:
    """Compile kernels for GPUs that need not be here and return their machine instructions.

    Each of ``kernels`` in the document is one kernel on one architecture: its SASS with the source
    lines that it comes from and the registers alive at each instruction, its PTX, and how many
    instructions there are of each kind. The arguments are those of ``analyze``, and ``block``, as
    far as macros follow from it, a workload's.

    Raises what ``analyze`` raises, and CannotRunHere where nvdisasm is not installed.
    """
    architectures = chosen_architectures([arch] if isinstance(arch, str) else arch)
    if isinstance(subject, Path):
        return list_file(
            subject,
            architectures,
            precision=precision or "fp32",
            defines=defines,
            entries=entries,
            python=python,
        )
    request = request_of(
        subject, variant=variant, size=size, block=block, precision=precision, tunables=defines
    )
    chosen = read_workload(subject, kernels)
    return list_variants(chosen, [request], architectures, python=python)
