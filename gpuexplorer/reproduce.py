"""A run as its command line and as a Python script, so that anybody can repeat it.

Whatever the program prints as a command works when it is pasted: it names the folders of kernels,
the engine and the history that it needs.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from gpuexplorer.core.change import switch_value
from gpuexplorer.core.config import EVEN_IF_WRONG, OWN_FILL, Block, RunConfig
from gpuexplorer.core.result import RunResult

NOT_SWITCHES = ("include_transfers", EVEN_IF_WRONG)
"""Entries of ``RunConfig.switches`` that are no switch of a model."""
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
        agreed=result.timing.median_s > LONG_S,
    )


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
    words = _problem("run", config, block=config.block)
    for name, value in config.tunables.items():
        words += ["--set", f"{name}={value}"]
    words += _conditions(config)
    for name, chosen in switches_of(config).items():
        words += ["--switch", f"{name}={switch_value(chosen)}"]
    if config.include_transfers:
        words.append("--include-transfers")
    if seconds is not None:
        words += ["--seconds", f"{seconds:.15g}"]
    if agreed:
        words.append("--yes")
    return shlex.join(words + surroundings(kernels, engine))


def tuning_command(
    command: str,
    config: RunConfig,
    kernels: Sequence[Path] = (),
    *,
    engine: str | None = None,
    history: str | None = None,
) -> str:
    """Return ``gpuexplorer tune`` for a configuration's problem, or ``run --tuned``, quoted.

    The block and the tunables are left to the tuning. ``history`` is where that is kept, None for
    the user's own.
    """
    words = _problem(command, config) + _conditions(config)
    words += ["--tuned"] if command == "run" else []
    return shlex.join(words + surroundings(kernels, engine, history))


def _problem(command: str, config: RunConfig, block: Block | None = None) -> list[str]:
    """Return the words that say what is computed, and where."""
    words = ["gpuexplorer", command, config.workload, "--variant", config.variant]
    words += ["--size", ",".join(f"{symbol}={value}" for symbol, value in config.size.items())]
    if block is not None:
        words += ["--block", "x".join(map(str, short_block(block)))]
    return [*words, "--precision", config.precision, "--device", config.device]


def _conditions(config: RunConfig) -> list[str]:
    """Return the words for what else decides the time, where it differs from the default."""
    words = []
    if config.cache != "hot":
        words += ["--cache", config.cache]
    if config.fill != OWN_FILL:
        words += ["--fill", config.fill]
    if config.seed != 1:
        words += ["--seed", str(config.seed)]
    if config.threads is not None:
        words += ["--threads", str(config.threads)]
    return words


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
) -> str:
    """Return a short Python script that runs this configuration and prints its figures.

    ``engine`` is as for ``command_line``.
    """
    arguments: dict[str, object] = {
        "variant": config.variant,
        "size": config.size,
    }
    if config.block is not None:
        arguments["block"] = short_block(config.block)
    arguments |= {"precision": config.precision, "device": config.device}
    if config.tunables:
        arguments["tunables"] = config.tunables
    if config.cache != "hot":
        arguments["cache"] = config.cache
    if config.fill != OWN_FILL:
        arguments["fill"] = config.fill
    if config.seed != 1:
        arguments["seed"] = config.seed
    if config.threads is not None:
        arguments["threads"] = config.threads
    if switches_of(config):
        arguments["switches"] = switches_of(config)
    if config.include_transfers:
        arguments["include_transfers"] = True
    if seconds is not None:
        arguments["seconds"] = seconds
    if kernels:
        arguments["kernels"] = [str(folder) for folder in kernels]
    if engine is not None:
        arguments["python"] = engine
    lines = "".join(f"    {name}={value!r},\n" for name, value in arguments.items())
    return (
        "import gpuexplorer\n"
        "\n"
        "result = gpuexplorer.run(\n"
        f"    {config.workload!r},\n"
        f"{lines}"
        ")\n"
        "timing = result.timing\n"
        'print(f"median {timing.median_s * 1e6:.3f} µs of {timing.samples} launches")\n'
    )


def switches_of(config: RunConfig) -> dict[str, bool | int | float | str]:
    """Return what ``--switch`` sets of a configuration, where it differs from its default."""
    return {name: value for name, value in config.switches.items() if name not in NOT_SWITCHES}


def short_block(block: tuple[int, ...]) -> tuple[int, ...]:
    """Return a block without the ones at its end, but with two dimensions at least."""
    x, y, z = (*block, 1, 1)[:3]
    return (x, y) if z == 1 else (x, y, z)
