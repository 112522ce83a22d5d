"""A run as its command line and as a Python script, so that it can be repeated.

Whatever the program prints as a command works when it is pasted: it names the folders of kernels,
the engine and the history that it needs.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.knobs import arguments_of, request_words
from gpuexplorer.core.result import RunResult

TUNED = ("block", "tunable", "switch", "include_transfers")
"""What a tuning chooses, and what a kernel that can be tuned does not have."""
LONG_S = 1.0
"""Of a run whose launches took longer, the command agrees to long ones: they may be predicted at
the two seconds from which that is asked for."""


def command_of(result: RunResult) -> str | None:
    """Return the command that measures a run's configuration again with the engine and the kernels
    that it had; None for a run of another program."""
    if result.origin is not None:
        return None
    return command_line(
        result.config,
        kernels_of(result),
        engine=result.environment.engine,
        agreed=is_long(result.timing.median_s),
    )


def is_long(median_s: float | None) -> bool:
    """Return whether what measures a run again has to agree to long launches: None, not known."""
    return median_s is not None and median_s > LONG_S


def kernels_of(result: RunResult) -> list[Path]:
    """Return the user's own folder that a run's workload came from; none of a shipped one."""
    return [Path(result.environment.kernels)] if result.environment.kernels is not None else []


def command_line(
    config: RunConfig,
    kernels: Sequence[Path] = (),
    *,
    seconds: float | None = None,
    engine: str | None = None,
    agreed: bool = False,
) -> str:
    """Return the ``gpuexplorer run`` command that gives this configuration, quoted for a shell.

    What makes the experiment is always spelled out, so that another version's defaults cannot
    change it; the rest is named only where it differs from its default. ``engine`` is the word for
    the engine that measures, None for the built-in one; ``agreed`` says yes to long launches.
    """
    words = ["gpuexplorer", "run", config.workload, *request_words(config)]
    if seconds is not None:
        words += ["--seconds", f"{seconds:.15g}"]
    if agreed:
        words.append("--yes")
    return shlex.join(words + surroundings(kernels, engine))


def tuning_command(
    command: str,
    config: RunRequest | RunConfig,
    kernels: Sequence[Path] = (),
    *,
    engine: str | None = None,
    history: str | None = None,
) -> str:
    """Return ``gpuexplorer tune`` for a configuration's problem, or ``run --tuned``, quoted.

    The block and the tunables are left to the tuning. ``history`` is where that is kept, None for
    the user's own.
    """
    words = ["gpuexplorer", command, config.workload, *request_words(config, TUNED)]
    words += ["--tuned"] if command == "run" else []
    return shlex.join(words + surroundings(kernels, engine, history))


def surroundings(
    kernels: Sequence[Path], engine: str | None, history: str | None = None
) -> list[str]:
    """Return the words for what a command needs beside its request."""
    words = []
    for folder in kernels:
        words += ["--kernels", str(folder)]
    if engine is not None:
        words += ["--python", engine]
    if history is not None:
        words += ["--history", history]
    return words


def python_script(
    config: RunConfig,
    kernels: Sequence[Path] = (),
    *,
    seconds: float | None = None,
    engine: str | None = None,
    agreed: bool = False,
) -> str:
    """Return a short Python script that runs this configuration and prints its figures.

    ``engine`` and ``agreed`` are as for ``command_line``.
    """
    arguments = arguments_of(config)
    if seconds is not None:
        arguments["seconds"] = seconds
    if kernels:
        arguments["kernels"] = [str(folder) for folder in kernels]
    if engine is not None:
        arguments["python"] = engine
    if agreed:
        arguments["allow_long"] = True
    lines = "".join(f"    {name}={value!r},\n" for name, value in arguments.items())
    return (
        "import gpuexplorer\n"
        "\n"
        "result = gpuexplorer.run(\n"
        f"    {config.workload!r},\n"
        f"{lines}"
        ")\n"
        "timing = result.timing\n"
        'print(f"median {timing.median_s * 1e6:.3f} µs of {timing.samples} samples")\n'
    )
