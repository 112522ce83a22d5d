"""The public Python API: list devices and measure configurations, from notebooks and scripts.

    import gpuexplorer

    result = gpuexplorer.run("matmul", variant="naive", size=512, block=(16, 16))
    print(result.timing.median_s, result.throughput.flop_per_s)

Every call starts the same engine process that the window uses and ends it when it returns.
Errors are ``gpuexplorer.core.errors.ExplorerError`` and say in one sentence what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.result import RunResult
from gpuexplorer.engine.session import Progress, Session
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load, pick


def devices(*, python: str | None = None, threads: int | None = None) -> DeviceList:
    """Return every device that can run work here, and why other backends cannot.

    ``python`` is the interpreter that runs the engine (None: this one), ``threads`` the CPU threads
    a kernel may use (None: all cores but one). Raises CannotRunHere when no engine starts.
    """
    with Session(python=python, threads=threads) as session:
        return session.devices()


def run(
    workload: str,
    *,
    variant: str | None = None,
    size: int | Mapping[str, int] | None = None,
    block: Sequence[int] | None = None,
    precision: str | None = None,
    device: str = "auto",
    tunables: Mapping[str, int] | None = None,
    fill: str | None = None,
    seed: int = 1,
    threads: int | None = None,
    include_transfers: bool = False,
    seconds: float = 2.0,
    kernels: Sequence[str | Path] = (),
    python: str | None = None,
    allow_long: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> RunResult:
    """Measure one configuration and return its document; None takes the workload's default.

    ``size`` is a number (the first size symbol) or a mapping by symbol; ``block`` counts threads
    per block along x, y, z; ``seconds`` is how long to sample; ``kernels`` are folders of your own
    workloads; ``allow_long`` agrees to launches longer than two seconds. ``on_progress`` is called
    a few times a second.

    Raises InputError for a request that cannot be, CannotRunHere when this machine lacks what it
    needs, WrongResult when the kernel's result is wrong, WorkFailed when it does not compile or
    run. A KeyboardInterrupt stops the run.
    """
    sizes = {"": size} if isinstance(size, int) else dict(size or {})
    request = RunRequest(
        workload=workload,
        variant=variant,
        size=sizes,
        block=tuple(block) if block is not None else None,
        precision=precision,
        device=device,
        tunables=dict(tunables or {}),
        fill=fill,
        seed=seed,
        threads=threads,
        switches={"include_transfers": True} if include_transfers else {},
    )
    chosen = pick(load(Path(folder) for folder in kernels), workload)
    with Session(python=python, threads=threads) as session:
        config = complete(request, chosen, session.devices())
        return session.measure(
            config, chosen, seconds=seconds, allow_long=allow_long, on_progress=on_progress
        )
