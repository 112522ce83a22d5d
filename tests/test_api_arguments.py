"""Every argument of every public function: what can be meant is taken, the rest is one sentence."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuexplorer
from gpuexplorer.api import (
    accesses,
    analyze,
    compare,
    devices,
    ladder,
    listings,
    operators,
    run,
    study,
    sweep,
    tune,
)
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.search.arguments import READERS
from tests.support.crossed import crossed
from tests.support.kernels import write_article, write_vector

LIMIT_S = 60.0
"""More than any of these calls takes on a busy machine, and far less than what never returns."""


class Odd:
    """Something of the caller's own."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")


class Endless:
    """Values without an end."""

    def __iter__(self) -> Iterator[int]:
        while True:
            yield 1


HOSTILE: dict[str, Any] = {
    "None": None,
    "nan": float("nan"),
    "inf": float("inf"),
    "-1": -1,
    "0": 0,
    "1.5": 1.5,
    "empty text": "",
    "blank": " ",
    "x": "x",
    "zero byte": "a\0b",
    "long text": "x" * 100_000,
    "half a character": "\ud800",
    "bytes": b"x",
    "[]": [],
    "nested": [[[]]],
    "[None]": [None],
    "mixed": [1, "x", None],
    "{}": {},
    "mapping": {1: 2},
    "names": {"x": Odd()},
    "object": Odd(),
    "function": len,
    "complex": 1j,
    "true": True,
    "huge": 10**400,
    "beyond 64 bits": 2**63,
    "large float": 1e308,
    "small float": 5e-324,
    "numpy nan": np.float64("nan"),
    "numpy whole": np.int64(-3),
    "numpy true": np.bool_(True),
    "numpy text": np.str_("x"),
    "no axes": np.array(3),
    "empty array": np.array([]),
    "array": np.array([[1, 2], [3, 4]]),
    "floats": np.array([0.5]),
    "objects": np.array([None, "x"], dtype=object),
    "time": np.datetime64("2026-01-01"),
    "endless": Endless(),
    "path": Path("no/such/place"),
    "folder": Path("."),
}

VALID: dict[Callable[..., Any], tuple[tuple[Any, ...], dict[str, Any]]] = {
    devices: ((), {}),
    run: (("vector",), {"size": 64, "seconds": 0.01}),
    compare: (("plain:32", "plain:64"), {"workload": "vector", "size": 64, "rounds": 2}),
    sweep: (("vector", {"size": [32]}), {"samples": 2, "seconds": 0.05}),
    tune: (("vector",), {"size": 64, "evaluations": 1, "samples": 2, "block_x": [32, 64]}),
    operators: (("vector",), {}),
    accesses: (("vector",), {"size": 64}),
    analyze: (("vector",), {"arch": "sm_90"}),
    listings: (("vector",), {"arch": "sm_90"}),
    ladder: (("vector",), {"size": 64, "rounds": 2, "seconds": 0.01}),
    study: (("switches", "vector"), {"try_threads": [1], "rounds": 2, "seconds": 0.01}),
}
"""A call of each function that measures little."""
KINDS = {
    "precisions": ("precision", "vector"),
    **dict.fromkeys(("devices", "sizes", "symbol"), ("speedup", "matmul")),
    "variants": ("scaling", "vector"),
}
"""The studies that these arguments belong to."""
OWN = ("on_progress", "on_round", "on_step", "on_tuning")
"""Functions of the caller's: what they raise is the caller's own."""


def parameters(function: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(function).parameters)


def test_every_argument_has_a_reader_and_every_function_is_looked_at() -> None:
    assert set(gpuexplorer.__all__) - {"__version__"} == {one.__name__ for one in VALID}
    for function in VALID:
        assert set(parameters(function)) <= set(READERS)
        assert hasattr(function, "__wrapped__")


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_vector(tmp_path_factory.mktemp("kernels")).parent


@pytest.fixture
def one_engine(monkeypatch: pytest.MonkeyPatch, engine: EngineSession) -> None:
    """Have every call use the engine that is running, so that a thousand of them need one."""
    real = EngineSession.__init__

    class Shared(EngineSession):
        def __init__(self, *, python: str | None = None, threads: int | None = None, **more: Any):
            if python is not None or threads is not None:
                real(self, python=python, threads=threads, **more)
            else:
                self.__dict__ = engine.__dict__

        def close(self) -> None:
            if self.__dict__ is not engine.__dict__:
                super().close()

    for module in ("gpuexplorer.api", "gpuexplorer.studies.once"):
        monkeypatch.setattr(f"{module}.EngineSession", Shared)


@pytest.fixture(scope="module")
def engine() -> Iterator[EngineSession]:
    with EngineSession() as session:
        session.devices()
        yield session


@contextmanager
def one_sentence(what: str) -> Iterator[None]:
    """Let a call end well or with one of our errors, and soon."""
    began = time.monotonic()
    said = "nothing"
    try:
        yield
    except ExplorerError as error:
        said = str(error)
    assert said and "\n" not in said and len(said) < 1500, (what, said)
    assert time.monotonic() - began < LIMIT_S, what


CASES = [(function, name) for function in VALID for name in parameters(function)]


@pytest.mark.parametrize(
    ("case", "turn"), crossed(CASES, range(4), name=lambda one: f"{one[0].__name__}-{one[1]}")
)
@pytest.mark.usefixtures("one_engine")
def test_whatever_is_given_the_call_ends_well_or_in_one_sentence(
    case: tuple[Callable[..., Any], str],
    turn: int,
    kernels: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    function, name = case
    monkeypatch.chdir(tmp_path)
    place, more = VALID[function]
    if function is study and name in KINDS:
        place, more = KINDS[name], {"rounds": 2, "seconds": 0.01}
    named = dict(zip(parameters(function), place, strict=False))
    if function is compare:
        named = {}
    if "kernels" in parameters(function):
        more = {"kernels": kernels, **more}
    for title, value in list(HOSTILE.items())[turn::4]:
        if name in OWN and callable(value):
            continue
        arguments: tuple[Any, ...] = ()
        if function is compare:
            arguments = (*place, value) if name == "contestants" else place
        given = {**named, **more, **({} if name == "contestants" else {name: value})}
        if name == "trust":  # of a file that is there
            given |= {"workload": "vector"}
        with one_sentence(f"{function.__name__}({name}={title})"):
            function(*arguments, **given)


REFUSED: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (run, {"seconds": None}, "seconds is None; give a number of seconds above 0 and up to 86400"),
    (run, {"seconds": float("nan")}, "seconds is nan"),
    (run, {"seconds": 0}, "seconds is 0"),
    (run, {"seconds": -1.5}, "seconds is -1.5"),
    (run, {"max_noise": 1}, "max_noise is 1; give a share such as 0.005 above 0 and below 1"),
    (run, {"size": "64"}, "size is '64'; give a whole number"),
    (run, {"size": 64.0}, "size is 64.0"),
    (run, {"size": {"N": True}}, "size['N'] is True"),
    (run, {"block": "16x16"}, "block is '16x16'; give one to three numbers of threads"),
    (run, {"block": (0, 4)}, "block[0] is 0; give a whole number from 1 on"),
    (run, {"seed": 2**63}, "seed is 9223372036854775808; give a whole number from 0 on"),
    (run, {"fill": ""}, "fill is ''; give a text that is not empty"),
    (run, {"trust": "no"}, "trust is 'no'; give True or False"),
    (run, {"threads": 10**6}, "1000000 CPU threads are not to be had here; use 1"),
    (run, {"kernels": 3}, "kernels is 3; give a name or a path"),
    (run, {"on_progress": 3}, "on_progress is 3; give a function"),
    (sweep, {"samples": None, "seconds": None}, "samples and seconds are both None"),
    (sweep, {"seconds": float("nan")}, "seconds is nan"),
    (sweep, {"samples": 0}, "samples is 0; give a whole number from 1 to 4000000"),
    (sweep, {"axes": {"size": "big"}}, "axes['size'] is 'big'"),
    (sweep, {"axes": {"block": [[16, "x"]]}}, "axes['block'][0][1] is 'x'"),
    (compare, {"rounds": 0}, "rounds is 0"),
    (compare, {"tolerance": float("inf")}, "tolerance is inf"),
    (tune, {"evaluations": -2}, "evaluations is -2"),
    (tune, {"block_x": ["a"]}, "block_x[0] is 'a'"),
    (tune, {"tunables": {"TILE": [None]}}, "tunables['TILE'][0] is None"),
    (study, {"try_threads": [0]}, "try_threads[0] is 0"),
    (study, {"precisions": ["fp16"]}, "precisions is not for the study 'switches'; leave it out"),
    *(
        (search, {"python": "torch", "cluster": "nowhere"}, "leave it out, or leave cluster out")
        for search in (sweep, tune)
    ),
    *(
        (search, {"slower_by": 0.2}, "slower_by is for the workers of a cluster; give cluster")
        for search in (sweep, tune)
    ),
    (analyze, {"dynamic_shared_B": -1}, "dynamic_shared_B is -1"),
]


@pytest.mark.parametrize(("function", "given", "said"), REFUSED)
def test_what_cannot_be_names_the_argument_and_what_to_give(
    function: Callable[..., Any], given: Mapping[str, Any], said: str, kernels: Path
) -> None:
    place, more = VALID[function]
    named = {} if function is compare else dict(zip(parameters(function), place, strict=False))
    with pytest.raises(InputError) as caught:
        function(
            *(place if function is compare else ()),
            **{**named, **more, "kernels": kernels, **given},
        )
    assert said in str(caught.value)


def test_numpys_numbers_and_arrays_and_single_values_are_taken(
    tmp_path: Path,
) -> None:
    write_article(tmp_path)
    numbers: dict[str, Any] = {
        "size": np.int32(33),
        "block": np.array([8, 4]),
        "seconds": np.float32(0.05),
        "seed": np.uint8(3),
        "threads": np.array(1),
        "include_transfers": np.bool_(False),
    }
    result = run("article", kernels=str(tmp_path), **numbers)
    assert (result.config.size, result.config.block) == ({"N": 33}, (8, 4, 1))
    assert (result.config.seed, result.config.threads) == (3, 1)
    axes: dict[str, Any] = {
        "size": np.arange(32, 97, 32), "block": np.array([[8, 8], [16, 4]]), "fill": "zeros",
    }  # fmt: skip
    document = sweep("article", axes, samples=2, kernels=tmp_path)
    assert document.axes == {
        "size.N": [32, 64, 96], "block": [[8, 8], [16, 4]], "fill": ["zeros"],
    }  # fmt: skip
    assert len(document.measured) == 6
    among: dict[str, Any] = {"block_x": np.array([8, 16]), "block_y": 8, "samples": np.int64(2)}
    tuning = tune("article", size=32, evaluations=2, kernels=[tmp_path], **among)
    assert {e.config.block for e in tuning.evaluations} == {(8, 8, 1), (16, 8, 1)}
