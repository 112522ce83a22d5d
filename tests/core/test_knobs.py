"""The table of knobs: a request, its arguments, its values by axis and its words say the same."""

from __future__ import annotations

import inspect
import pydoc
from typing import Any, get_type_hints

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpuexplorer.api
from gpuexplorer.cli.knob_options import request_of as request_of_options
from gpuexplorer.cli.parser import parse
from gpuexplorer.core.config import OWN_FILL, RunConfig, RunRequest
from gpuexplorer.core.knobs import (
    BY_AXIS,
    DEFAULTS,
    KNOBS,
    NOT_AXES,
    RequestArguments,
    arguments_of,
    find_knob,
    knob_of,
    option_words,
    request_from,
    request_like,
    request_of,
    request_words,
    short_block,
    values_of,
)
from gpuexplorer.reproduce import python_script
from gpuexplorer.search.contestants import read_configuration, words_of
from gpuexplorer.search.space import Space, read_axis
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.switches import SWITCHES

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
WORDS = st.from_regex(r"[a-z][a-z0-9_:]{0,8}", fullmatch=True)
SIDES = st.lists(st.integers(1, 10**9 - 1), min_size=2, max_size=3)
BLOCKS = SIDES.map(lambda sides: short_block(tuple(sides)))
SETTINGS: Any = st.fixed_dictionaries(
    {},
    optional={
        "include_transfers": st.just(True),
        **{s.name: st.sampled_from(s.values) for s in SWITCHES.values()},
    },
)
REQUESTS = st.builds(
    RunRequest,
    workload=WORDS,
    variant=st.none() | WORDS,
    size=st.just({})
    | st.dictionaries(NAMES, st.integers(-9, 10**9), max_size=3)
    | st.builds(lambda n: {"": n}, st.integers(1, 10**9)),
    block=st.none() | BLOCKS,
    precision=st.none() | WORDS,
    device=st.just("auto") | WORDS,
    tunables=st.dictionaries(NAMES, st.integers(-9, 10**6), max_size=3),
    cache=st.sampled_from(["hot", "cold"]),
    fill=st.none() | st.sampled_from(["normal", "zeros"]),
    seed=st.integers(0, 10**9),
    threads=st.none() | st.integers(1, 256),
    switches=SETTINGS,
)


def test_every_field_of_a_request_has_a_knob_and_an_argument() -> None:
    fields = {*RunRequest.__struct_fields__, "include_transfers"} - {"workload"}
    assert {knob.field for knob in KNOBS} == fields
    assert set(get_type_hints(RequestArguments)) == fields
    assert len(BY_AXIS) == len(KNOBS)
    assert set(RunRequest.__struct_fields__) <= set(RunConfig.__struct_fields__)


def test_every_knob_but_two_is_an_axis_of_a_sweep() -> None:
    texts = {"block": "8x8,16x4", "switch.compile": "off,default"}
    for knob in KNOBS:
        if knob.axis in NOT_AXES:
            continue
        symbol = {"switch": "compile", "size": "N", "tunable": "TILE"}.get(knob.axis, "")
        name = f"{knob.axis}.{symbol}" if symbol else knob.axis
        assert knob_of(name) == (knob, symbol)
        text = texts.get(name, "1,2" if knob.within is not None else "a,b")
        assert len(Space(RunRequest(workload="w"), (read_axis(name, text),)).axes[0].values) == 2
    assert all(find_knob(name) is None for name in ("size", "tunable", "switch", "nothing", "a.b"))


@given(REQUESTS)
def test_a_request_is_what_its_arguments_and_its_values_by_axis_make(request: RunRequest) -> None:
    assert request_of(request.workload, **arguments_of(request)) == request
    assert request_from(request.workload, values_of(request)) == request


@given(REQUESTS)
@settings(deadline=None)
def test_a_request_is_what_its_words_on_a_command_line_ask_for(request: RunRequest) -> None:
    for command in ("run", "operators", "study switches"):
        words = [*command.split(), request.workload, *request_words(request)]
        assert request_of_options(parse(words)) == request


@given(REQUESTS)
@settings(deadline=None)
def test_a_script_calls_run_with_the_request(request: RunRequest) -> None:
    config = RunConfig(
        **{n: v for n, v in msgspec.structs.asdict(request).items() if n not in ("block", "fill")},
        block=(*request.block, 1, 1)[:3] if request.block else None,  # type: ignore[arg-type]
        fill=request.fill or OWN_FILL,
    )
    seen: list[RunRequest] = []

    class Result:
        class timing:
            median_s, samples = 1e-3, 3

    def run(workload: str, **given: Any) -> type[Result]:
        seen.append(request_of(workload, **given))
        return Result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpuexplorer.api, "run", run)
        exec(compile(python_script(config), "script", "exec"), {})
    assert seen == [request]


WORKLOADS = load()
VARIANTS = [(w.name, v) for w in WORKLOADS.values() for v in w.manifest.variants]


@st.composite
def known_requests(draw: st.DrawFn) -> RunRequest:
    """Requests of what is shipped, with the names that its variants have."""
    name, variant_name = draw(st.sampled_from(VARIANTS))
    workload = WORKLOADS[name]
    variant = workload.variant(variant_name)
    free = [n for n, tunable in variant.tunables.items() if tunable.formula is None]
    number = st.integers(1, 10**6)
    return RunRequest(
        workload=name,
        variant=variant_name,
        size={symbol: draw(number) for symbol in workload.manifest.sizes},
        block=draw(st.none() | BLOCKS),
        precision=draw(st.sampled_from(sorted(workload.manifest.precisions))),
        device=draw(st.just("auto") | WORDS),
        tunables={tunable: draw(number) for tunable in free},
        cache=draw(st.sampled_from(["hot", "cold"])),
        fill=draw(st.none() | st.sampled_from(["normal", "zeros"])),
        seed=draw(st.integers(0, 10**9)),
        switches=draw(st.just({}) | st.just({"include_transfers": True})),
    )


@given(known_requests())
@settings(deadline=None)
def test_a_contenders_word_asks_for_the_configuration(request: RunRequest) -> None:
    fields = msgspec.structs.asdict(request)
    fields |= {"block": (*request.block, 1, 1)[:3] if request.block else None}
    config = RunConfig(**(fields | {"fill": request.fill or OWN_FILL}))
    assert request_like(config).size == request.size
    word = words_of(config, "another")
    found, _ = read_configuration(word, RunRequest(workload="matmul"), WORKLOADS)
    assert found == request


def test_words_stand_in_the_tables_order() -> None:
    values = {"cache": ("cold",), "size.M": (1, 2), "variant": ("naive",), "size.N": (4,)}
    assert option_words(values) == [
        "--variant", "naive", "--size", "M=1,2,N=4", "--cache", "cold",
    ]  # fmt: skip


def test_the_signature_of_each_call_lists_every_knob_with_its_default() -> None:
    for function in (gpuexplorer.api.run, gpuexplorer.api.compare, gpuexplorer.api.sweep):
        listed = inspect.signature(function).parameters
        assert {name: listed[name].default for name in DEFAULTS} == DEFAULTS
        assert all(one.kind is not one.VAR_KEYWORD for one in listed.values())
        assert "include_transfers: bool = False" in pydoc.render_doc(function)
    tuned = inspect.signature(gpuexplorer.api.tune).parameters
    assert not {"block", "switches", "include_transfers"} & set(tuned)
    with pytest.raises(TypeError, match="unexpected keyword argument 'bloc'"):
        gpuexplorer.api.run("matmul", bloc=(8, 8))  # type: ignore[call-arg]
