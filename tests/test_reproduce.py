"""A run as a command and as a script gives the same run again."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuexplorer.cli.knob_options import request_of
from gpuexplorer.cli.parser import parse
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.result import Origin
from gpuexplorer.engine.protocol import CONFIRM_ABOVE_S
from gpuexplorer.history.place import ENVIRONMENT_VARIABLE as HISTORY
from gpuexplorer.reproduce import command_line, command_of, python_script, tuning_command
from gpuexplorer.workloads.switches import SWITCHES
from tests.support.cli import cli_environment
from tests.support.results import made_config, made_result

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
NUMBERS = st.integers(1, 10**9 - 1)

SETTINGS: Any = st.fixed_dictionaries(
    {},
    optional={
        "include_transfers": st.just(True),
        **{
            switch.name: st.sampled_from([v for v in switch.values if v != switch.default])
            for switch in SWITCHES.values()
        },
    },
)
CONFIGS = st.builds(
    RunConfig,
    workload=st.from_regex(r"[a-z][a-z0-9_.-]{0,12}", fullmatch=True),
    variant=st.text("abc 'x$\"", min_size=1, max_size=8).filter(lambda t: t.strip() == t),
    size=st.dictionaries(NAMES, NUMBERS, min_size=1, max_size=3),
    precision=st.sampled_from(["fp64", "fp32", "fp16"]),
    device=st.sampled_from(["opencl:0", "cuda:1", "torch:cpu"]),
    block=st.none() | st.tuples(NUMBERS, NUMBERS, NUMBERS),
    tunables=st.dictionaries(NAMES, st.integers(-9, 10**6), max_size=3),
    cache=st.sampled_from(["hot", "cold"]),
    fill=st.sampled_from(["manifest", "normal", "zeros"]),
    seed=st.integers(0, 10**9),
    threads=st.none() | st.integers(1, 256),
    switches=SETTINGS,
)


def asked_for(config: RunConfig) -> RunRequest:
    """Return what a request must say to give this configuration on any machine."""
    block = config.block
    if block is not None and block[2] == 1:
        block = block[:2]  # type: ignore[assignment]
    return RunRequest(
        workload=config.workload,
        variant=config.variant,
        size=config.size,
        block=block,
        precision=config.precision,
        device=config.device,
        tunables=config.tunables,
        cache=config.cache,
        fill=config.fill if config.fill != "manifest" else None,
        seed=config.seed,
        threads=config.threads,
        switches=config.switches,
    )


@given(CONFIGS)
@settings(deadline=None)
def test_the_command_line_asks_for_the_same_configuration(config: RunConfig) -> None:
    words = shlex.split(command_line(config))
    assert words[0] == "gpuexplorer"
    assert request_of(parse(words[1:])) == asked_for(config)


PATHS = st.text("ab cd'\"$`\\;&|é*~", min_size=1, max_size=12).map(lambda t: Path("/") / t)
WORDS = st.none() | st.from_regex(r"[a-z][a-z0-9_. '-]{0,12}", fullmatch=True)


@given(CONFIGS, st.lists(PATHS, max_size=3), WORDS, st.floats(1e-6, 86_400.0), st.booleans())
@settings(deadline=None)
def test_what_a_command_needs_comes_along(
    config: RunConfig, kernels: list[Path], engine: str | None, seconds: float, agreed: bool
) -> None:
    line = command_line(config, kernels, seconds=seconds, engine=engine, agreed=agreed)
    options = parse(shlex.split(line)[1:])
    assert request_of(options) == asked_for(config)
    assert (options.kernels, options.python, options.yes) == (kernels, engine, agreed)
    assert options.seconds == pytest.approx(seconds, rel=1e-14)
    assert not options.tuned


@given(CONFIGS, st.lists(PATHS, max_size=3), WORDS, WORDS)
@settings(deadline=None)
def test_a_tuning_and_what_it_found_are_asked_for_with_all_they_need(
    config: RunConfig, kernels: list[Path], engine: str | None, history: str | None
) -> None:
    problem = msgspec.structs.replace(config, block=None, tunables={}, switches={})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(HISTORY, "")  # a command that names one sets it for the whole program
        for command in ("tune", "run"):
            line = tuning_command(command, config, kernels, engine=engine, history=history)
            options = parse(shlex.split(line)[1:])
            assert request_of(options) == asked_for(problem)
            assert (options.kernels, options.python) == (kernels, engine)
            assert options.history == history
            assert getattr(options, "tuned", True)


@given(CONFIGS, st.none() | PATHS, WORDS, st.floats(1e-9, 60.0))
@settings(deadline=None)
def test_a_stored_run_says_the_command_that_had_it(
    config: RunConfig, kernels: Path | None, engine: str | None, median_s: float
) -> None:
    result = made_result()
    where = msgspec.structs.replace(
        result.environment, engine=engine, kernels=str(kernels) if kernels else None
    )
    timing = msgspec.structs.replace(result.timing, median_s=median_s)
    result = msgspec.structs.replace(result, config=config, environment=where, timing=timing)
    line = command_of(result)
    assert line is not None
    options = parse(shlex.split(line)[1:])
    assert request_of(options) == asked_for(config)
    assert options.python == engine
    assert options.kernels == ([kernels] if kernels else [])
    assert options.yes or median_s < CONFIRM_ABOVE_S
    foreign = msgspec.structs.replace(result, origin=Origin(program="Another", file="a", what="k"))
    assert command_of(foreign) is None


def test_only_what_differs_from_the_defaults_is_named() -> None:
    line = command_line(made_config(threads=None))
    assert line == (
        "gpuexplorer run matmul --variant naive --size N=512 --block 16x16 --precision fp32 "
        "--device opencl:0"
    )


@given(CONFIGS, st.booleans())
@settings(deadline=None)
def test_the_script_calls_run_with_the_same_arguments(config: RunConfig, agreed: bool) -> None:
    import gpuexplorer.api

    seen: dict[str, object] = {}

    class Timing:
        median_s, samples = 1e-3, 3

    class Result:
        timing = Timing()

    def run(workload: str, **arguments: object) -> Result:
        seen.update(arguments, workload=workload)
        return Result()

    script = python_script(config, seconds=0.25, agreed=agreed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpuexplorer.api, "run", run)
        exec(compile(script, "script", "exec"), {})
    wanted = asked_for(config)
    assert seen.pop("seconds") == 0.25
    assert seen.pop("allow_long", False) == agreed
    for name in ("workload", "variant", "size", "precision", "device"):
        assert seen.pop(name) == getattr(wanted, name)
    assert seen.pop("block", None) == wanted.block
    assert seen.pop("tunables", {}) == wanted.tunables
    assert seen.pop("seed", 1) == wanted.seed
    assert seen.pop("cache", "hot") == wanted.cache
    assert seen.pop("fill", None) == wanted.fill
    assert seen.pop("threads", None) == wanted.threads
    transfers = wanted.switches.get("include_transfers", False)
    assert seen.pop("include_transfers", False) == transfers
    others = {n: v for n, v in wanted.switches.items() if n != "include_transfers"}
    assert seen.pop("switches", {}) == others
    assert not seen


def test_the_script_runs(tmp_path: Path) -> None:
    config = made_config(size={"N": 64}, threads=1)
    script = tmp_path / "again.py"
    script.write_text(python_script(config, seconds=0.05), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env=cli_environment(PYTHONIOENCODING="utf-8"),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("median ")
