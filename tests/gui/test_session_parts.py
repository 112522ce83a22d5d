"""Block map, comparison and Lab in session files: nothing is lost, and nothing odd comes in."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from gpuexplorer.core.comparison import Comparison
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import InputError, WorkFailed
from gpuexplorer.core.result import Resources
from gpuexplorer.core.studies import study_json
from gpuexplorer.core.sweep import SweepDocument, sweep_json
from gpuexplorer.gui.model import (
    accesses_file,
    compare_file,
    lab_file,
    map_file,
    operators_file,
    tried,
    versions_file,
)
from gpuexplorer.gui.model import sweep as sweep_file
from gpuexplorer.gui.model.accesses_file import HeldAccesses
from gpuexplorer.gui.model.compare import CompareModel
from gpuexplorer.gui.model.compare_file import HeldComparison, ListedContestant
from gpuexplorer.gui.model.flame import Flame, RecordedProfile
from gpuexplorer.gui.model.job import Held
from gpuexplorer.gui.model.map_file import HeldMap
from gpuexplorer.gui.model.map_surface import MapOf, Surface
from gpuexplorer.gui.model.session_archive import read_session
from gpuexplorer.gui.model.tried import Tried
from gpuexplorer.gui.model.versions_file import HeldVersions, Registers
from gpuexplorer.search.block_grid import Grid
from gpuexplorer.search.blockmap import MapCell, State
from gpuexplorer.search.versions import Version, Versions
from gpuexplorer.studies import kind_of
from gpuexplorer.workloads.loader import load
from tests.gui.conftest import OpenWindow
from tests.gui.driver import find, until, wait_measured
from tests.results.test_results_tuning import TUNING
from tests.support.accesses import drawn_accesses, made_accesses
from tests.support.exchange import made_comparison, made_sweep
from tests.support.lab_studies import STUDIES
from tests.support.operators import made_profile
from tests.support.problems import device
from tests.support.sessions import whole_file

CPU = device(threads=1)
words = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"),
                              exclude_characters="<"), max_size=30)  # fmt: skip
times_s = st.floats(1e-9, 1e3)
ratios = st.floats(1e-3, 1e3)


# ---- what is made


@st.composite
def cells(draw: st.DrawFn, grid: Grid) -> list[MapCell]:
    """Return cells for a grid, one of them measured at least."""
    found = []
    for number in range(grid.count):
        block = grid.block(number)
        if number == 0 or draw(st.booleans()):
            compared = st.builds(
                Comparison, ratios, ratios, ratios, st.integers(0, 99),
                st.sampled_from(["faster", "slower", "same", "can't tell"]),
            )  # fmt: skip
            found.append(
                MapCell(
                    block=block, state="measured", time_s=draw(times_s),
                    turns=draw(st.integers(0, 99)), samples=draw(st.integers(1, 10**6)),
                    flops=draw(st.floats(0, 1e18)), out=draw(st.booleans()),
                    ratio=draw(st.none() | compared),
                    resources=draw(st.none() | st.just(Resources(registers_per_thread=32))),
                )
            )  # fmt: skip
        else:
            states: tuple[State, ...] = ("waiting", "cannot", "long", "failed")
            found.append(MapCell(block, draw(st.sampled_from(states)), draw(words)))
    return found


@st.composite
def maps(draw: st.DrawFn) -> tuple[Surface, SweepDocument | None]:
    counts = st.lists(st.integers(1, 1024), min_size=1, max_size=4, unique=True).map(sorted)
    grid = Grid(tuple(draw(counts)), tuple(draw(counts)), draw(st.integers(1, 4)))
    made = draw(cells(grid))
    timed = [cell.block for cell in made if cell.time_s is not None]
    surface = Surface(
        wanted=MapOf(draw(words), RunRequest(workload="matmul", size={"N": 64}), grid, CPU),
        cells=made,
        best=draw(st.none() | st.sampled_from(timed)),
        ties=frozenset(draw(st.lists(st.sampled_from(timed), max_size=3))),
        finished=draw(st.booleans()),
    )
    return surface, draw(st.none() | st.just(made_sweep()))


def a_map(**changes: Any) -> HeldMap:
    grid = Grid((8, 16), (1, 2))
    made = [MapCell(grid.block(n), "measured", time_s=1e-3 * (n + 1)) for n in range(grid.count)]
    surface = Surface(
        wanted=MapOf("naive", RunRequest(workload="matmul"), grid, CPU),
        cells=made, best=(8, 1, 1), finished=True, runs=made_sweep(),
    )  # fmt: skip
    return HeldMap(msgspec.structs.replace(surface, **changes), lambda: surface.runs)


def a_tuning() -> Held[Tried]:
    return Held(Tried(TUNING.evaluations, TUNING))


def a_comparison() -> HeldComparison:
    result = made_comparison()
    contestants = tuple(ListedContestant(one.run.config, one.run) for one in result.contestants)
    return HeldComparison(contestants, result.reference, result.tolerance, result)


def some_versions() -> tuple[HeldVersions, ...]:
    workload = load()["matmul"]
    run = msgspec.structs.replace(made_comparison().contestants[0].run, samples_s=[])
    versions = (
        Version(1, workload, run.time_utc, run),
        Version(3, workload, run.time_utc, error=WorkFailed("mine.cu:3: no <b>, see /home/ada/x")),
        Version(4, workload, run.time_utc, run, before=1,
                comparison=Comparison(1.1, 1.0, 1.2, 9, "slower")),
    )  # fmt: skip
    return (HeldVersions("matmul", versions, (Registers("sm_90", 32), None, None), "/home/ada/m"),)


def some_operators() -> RecordedProfile:
    made = made_profile(shapes=True)
    kernel = "void at::native::reduce<512, at::Tensor>(void*)"
    profile = msgspec.structs.replace(
        made,
        names=(kernel, *made.names[1:]),
        operators=(msgspec.structs.replace(made.operators[0], name=kernel), *made.operators[1:]),
        environment=msgspec.structs.replace(made.environment, kernels="/home/ada/mine"),
    )
    return RecordedProfile(profile, Flame(profile))


def some_accesses() -> HeldAccesses:
    profile = drawn_accesses()
    return HeldAccesses(profile, made_accesses(), made_accesses().config)


def test_what_was_recorded_of_a_configuration_comes_back_as_it_was() -> None:
    operators = operators_file.encode(some_operators())
    assert b"/home/ada" not in operators
    found = operators_file.decode(operators, "a.gpux")
    kept = some_operators().profile
    assert found.profile == msgspec.structs.replace(
        kept, environment=msgspec.structs.replace(kept.environment, kernels="mine")
    )
    assert (found.origin, found.flame.rows) == ("a.gpux", 6)
    accesses = accesses_file.decode(accesses_file.encode(some_accesses()), "a.gpux")
    assert accesses == msgspec.structs.replace(some_accesses(), origin="a.gpux")
    assert [list(one.offsets_B)[-1] for one in accesses.profile.requests] == [None, 128 * 31]


def test_versions_come_back_as_they_were_and_are_never_run_from_a_file() -> None:
    (made,) = some_versions()
    data = versions_file.encode((made,))
    assert b"/home/ada/m" not in data
    (read,) = versions_file.decode_versions(data, "a.gpux")
    assert (read.name, read.registers, read.origin) == ("matmul", made.registers, "")
    for one, before in zip(read.versions, made.versions, strict=True):
        assert one.foreign and one.workload.sha256 == before.workload.sha256
        assert str(one.error) == str(before.error)
        assert (one.number, one.run, one.before, one.comparison) == (
            before.number, before.run, before.before, before.comparison
        )  # fmt: skip
    assert Versions(read.versions).last_good is None
    assert Versions(made.versions).last_good is made.versions[2]


def test_a_comparison_names_engines_and_does_not_say_where_they_lie() -> None:
    held = a_comparison()
    contestants = tuple(
        msgspec.structs.replace(one, engine="/home/ada/envs/torch/bin/python")
        for one in held.contestants
    )
    data = compare_file.encode(msgspec.structs.replace(held, contestants=contestants))
    assert b"/home/ada" not in data
    assert {one.engine for one in compare_file.decode(data, "a.gpux").contestants} == {"torch"}


# ---- what is kept comes back


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(made=maps())
def test_any_block_map_comes_back_as_it_was(made: tuple[Surface, SweepDocument | None]) -> None:
    surface, sweep = made
    read = map_file.decode(map_file.encode(HeldMap(surface, lambda: sweep)), "a.gpux")
    best_known = surface.finished and surface.best is not None
    expected = msgspec.structs.replace(
        surface, finished=best_known, origin="a.gpux", runs=read.surface.runs
    )
    assert read.surface == expected
    assert read.document() == sweep


@settings(max_examples=60, deadline=None)
@given(
    kinds=st.lists(st.sampled_from(sorted(STUDIES)), min_size=1, unique=True),
    notes=st.lists(words, max_size=3).map(tuple),
    ended=st.sampled_from(["done", "user"]),
)
def test_studies_of_the_lab_come_back_as_they_were(
    kinds: list[str], notes: tuple[str, ...], ended: str
) -> None:
    made = tuple(
        Held(msgspec.structs.replace(STUDIES[kind], notes=notes, stopped_by=ended))
        for kind in kinds
    )
    read = lab_file.decode(lab_file.encode(made), "a.gpux")
    assert [one.result for one in read] == [one.result for one in made]
    assert {one.origin for one in read} == {"a.gpux"}


@settings(max_examples=60, deadline=None)
@given(
    ratio=ratios, turns=st.lists(st.none() | times_s, min_size=1, max_size=9),
    engine=words.filter(lambda name: not set(name) & {"/", "\\"}),  # of a path the end is kept
    measured=st.booleans(), stored=st.booleans(),
)  # fmt: skip
def test_comparisons_come_back_as_they_were(
    ratio: float, turns: list[float | None], engine: str, measured: bool, stored: bool
) -> None:
    plain = made_comparison()
    known = [*turns, 1e-3]
    contestants = [msgspec.structs.replace(one, turns_s=known) for one in plain.contestants]
    contestants[1] = msgspec.structs.replace(contestants[1], ratio=ratio)
    result = msgspec.structs.replace(plain, contestants=contestants)
    made = HeldComparison(
        tuple(ListedContestant(one.run.config, one.run if stored else None, engine or None)
              for one in contestants),
        result.reference, result.tolerance, result if measured else None,
    )  # fmt: skip
    read = compare_file.decode(compare_file.encode(made), "a.gpux")
    assert read == msgspec.structs.replace(made, origin="a.gpux")


def test_a_comparison_of_a_file_is_held_against_another_of_its_runs() -> None:
    model = CompareModel()
    model.show(compare_file.decode(compare_file.encode(a_comparison()), "a.gpux"))
    before = model.result
    assert before is not None and [line.label for line in model.lines()] == [
        one.label for one in before.contestants
    ]
    model.refer_to(1)
    model.tolerate(0.05)
    after = model.result
    assert after is not None and after.reference == 1 and after.tolerance == 0.05
    assert after.contestants[1].ratio is None and model.origin == "a.gpux"
    model.show(None)
    assert model.result is None and not model.contestants and not model.origin


# ---- what is refused

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
PARTS: dict[str, tuple[Callable[[bytes, str], object], Callable[[], bytes]]] = {
    "block-map": (map_file.decode, lambda: map_file.encode(a_map())),
    "tuning": (tried.decode, lambda: tried.encode(a_tuning())),
    "comparison": (compare_file.decode, lambda: compare_file.encode(a_comparison())),
    "lab": (lab_file.decode,
            lambda: lab_file.encode([Held(one) for one in STUDIES.values()])),
    "versions": (versions_file.decode_versions, lambda: versions_file.encode(some_versions())),
    "operators": (operators_file.decode, lambda: operators_file.encode(some_operators())),
    "accesses": (accesses_file.decode, lambda: accesses_file.encode(some_accesses())),
}  # fmt: skip


@pytest.mark.parametrize("name", PARTS)
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_changed_part_is_read_or_refused(name: str, data: st.DataObject) -> None:
    decode, encoded = PARTS[name]
    document = json.loads(encoded())
    spot: Any = document
    while True:
        keys = list(spot) if isinstance(spot, dict) else list(range(len(spot)))
        key = data.draw(st.sampled_from(keys))
        if isinstance(spot[key], (dict, list)) and spot[key] and data.draw(st.booleans()):
            spot = spot[key]
            continue
        spot[key] = data.draw(json_values)
        break
    with contextlib.suppress(InputError):  # anything else would be a crash of the window
        decode(json.dumps(document).encode(), "a.gpux")


@pytest.mark.parametrize(
    "changes",
    [
        {"cells": []},
        {"best": (3, 3, 1)},
        {"ties": frozenset([(64, 64, 1)])},
        {"wanted": MapOf("<b>x</b>", RunRequest(workload="matmul"), Grid((8, 16), (1, 2)), CPU)},
        {"wanted": MapOf("x", RunRequest(workload="matmul"), Grid((16, 8), (1, 2)), CPU)},
        {"cells": [MapCell((x, y, 1), "measured", time_s=-1.0) for y in (1, 2) for x in (8, 16)]},
        {"cells": [MapCell((x, y, 1), "waiting") for y in (1, 2) for x in (8, 16)]},
    ],
)
def test_a_block_map_that_cannot_be_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        map_file.decode(map_file.encode(a_map(**changes)), "a.gpux")


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("comparison", lambda d: d.update(reference=7)),
        ("comparison", lambda d: d.update(tolerance=0)),
        ("comparison", lambda d: d.update(candidates=[])),
        ("comparison", lambda d: d["candidates"][0]["config"].update(workload="<img>")),
        ("comparison", lambda d: d["result"]["contestants"].pop()),
        ("comparison", lambda d: d["result"]["contestants"][1].update(ratio=-1)),
        ("tuning", lambda d: d.update(schema="gpuexplorer/tuning/2")),
        ("tuning", lambda d: d["evaluations"][0].update(median_s=0)),
        ("tuning", lambda d: d["finalists"][1].update(ratio=-1)),
        ("tuning", lambda d: d["start"].update(workload="../up")),
        ("lab", lambda d: d.update(schema="gpuexplorer/lab/2")),
        ("lab", lambda d: d["studies"].append(d["studies"][0])),
        ("lab", lambda d: d["studies"][0]["points"][0]["measured"].update(time_s=-1)),
        ("lab", lambda d: d["studies"][0].update(runs=[])),
        ("lab", lambda d: d["studies"][0].update(title="<b>x</b>")),
        ("versions", lambda d: d["sources"][0]["versions"].reverse()),
        ("versions", lambda d: d["sources"][0]["versions"][2].update(before=4)),
        ("versions", lambda d: d["sources"][0]["versions"][1].update(error=None)),
        ("versions", lambda d: d["sources"][0]["versions"][0]["source"].update(manifest="x")),
        ("versions", lambda d: d["sources"][0].update(name="other")),
        ("versions", lambda d: d["sources"].append(d["sources"][0])),
        ("operators", lambda d: d["calls"][0].__setitem__(0, 5)),
        ("operators", lambda d: d["calls"][0].__setitem__(1, 2)),
        ("operators", lambda d: d["calls"][0].__setitem__(2, 3)),
        ("operators", lambda d: d["calls"][0].__setitem__(2, -1)),
        ("operators", lambda d: d["calls"][0].__setitem__(4, -1e30)),
        ("operators", lambda d: d.update(calls_total=1)),
        ("operators", lambda d: d.update(iteration_s=1e20)),
        ("operators", lambda d: d["tracks"][0].update(levels=10**9)),
        ("operators", lambda d: d["tracks"][0].update(title="<b>x</b>")),
        ("operators", lambda d: d["operators"][0].update(name="x" * 30_000)),
        ("operators", lambda d: d["operators"][0].update(calls=-1)),
        ("operators", lambda d: d["config"].update(workload="../up")),
        ("accesses", lambda d: d["profile"].update(block=[0, 16, 1])),
        ("accesses", lambda d: d["profile"].update(block=[1024, 1024, 1])),
        ("accesses", lambda d: d["profile"].update(warps=9)),
        ("accesses", lambda d: d["profile"]["look"].update(warp=8)),
        ("accesses", lambda d: d["profile"]["look"].update(block=[3, 0, 0])),
        ("accesses", lambda d: d["profile"]["rows"][0].update(requests=0)),
        ("accesses", lambda d: d["profile"]["rows"][0].update(width_B=1 << 20)),
        ("accesses", lambda d: d["profile"]["rows"].pop()),
        ("accesses", lambda d: d["profile"].update(requests=["AAAA", ""])),
        ("accesses", lambda d: d["profile"].update(requests_total=1)),
        ("accesses", lambda d: d["profile"].update(entry="x" * 30_000)),
        ("accesses", lambda d: d["profile"]["device"].update(name="<img>")),
        ("accesses", lambda d: d["beside"].update(warps=0)),
        ("accesses", lambda d: d["against"].update(size={})),
        ("block-map", lambda d: d.update(schema="other")),
        ("block-map", lambda d: d["device"].update(name="\x1b[2J")),
    ],
)
def test_parts_that_cannot_be_are_refused(name: str, edit: Any) -> None:
    decode, encoded = PARTS[name]
    document = json.loads(encoded())
    edit(document)
    with pytest.raises(InputError):
        decode(json.dumps(document).encode(), "a.gpux")


# ---- in the window


def test_the_views_results_are_saved_and_shown_again_and_left(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = open_window()
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.session.experiment.set_size("N", 64)
    wait_measured(qtbot, window)
    window.session.set_live(False)
    panels = window.panels
    panels.block_map.show_held(a_map(origin="first.gpux"))
    panels.compare.show_held(a_comparison())
    panels.tune.show_held(a_tuning())
    panels.lab.show_held(tuple(Held(one) for one in STUDIES.values()))
    panels.operators.show_held(some_operators())
    panels.accesses.show_held(some_accesses())
    path = tmp_path / "all.gpux"
    window.sessions.write(path)
    until(qtbot, lambda: window.sessions.path == path)
    assert set(read_session(path).parts) == {
        "accesses", "block-map", "comparison", "lab", "operators", "tuning"
    }  # fmt: skip
    old = tmp_path / "old.gpux"
    old.write_bytes(whole_file())  # of a version that knew nothing of these views
    window.sessions.open(old)
    until(qtbot, lambda: window.sessions.path == old)
    assert panels.block_map.held() is None and panels.compare.held() is None
    assert panels.lab.held() is None and panels.tune.held() is None
    assert panels.operators.held() is None and panels.accesses.held() is None
    window.sessions.open(path)
    until(qtbot, lambda: window.sessions.path == path)
    shown_map, comparison, studies = (
        panels.block_map.held(),
        panels.compare.held(),
        panels.lab.held(),
    )
    assert shown_map is not None and shown_map.surface.cells == a_map().surface.cells
    assert shown_map.document() == made_sweep() and shown_map.surface.origin == "all.gpux"
    assert comparison is not None and comparison.result == made_comparison()
    assert studies is not None and {kind_of(one.result).name for one in studies} == set(STUDIES)
    panels.places.show_view(panels.compare)
    view = panels.compare.comparing
    assert view is not None and view.head.words.text().startswith("From file all.gpux.")
    panels.places.show_view(panels.tune)
    tuned = panels.tune.tuning
    assert tuned is not None and tuned.tuning == TUNING and tuned.use_button.isVisible()
    assert tuned.head.words.text().startswith("From file all.gpux.")
    panels.places.show_view(panels.lab)
    assert (
        panels.lab.lab is not None
        and "From file all.gpux." in panels.lab.lab.view.head.words.text()
    )
    panels.places.show_view(panels.block_map)
    assert panels.block_map.mapping is not None
    assert "Best 8 × 1 = 8 threads" in panels.block_map.mapping.head.words.text()
    panels.places.show_view(panels.operators)
    operators = panels.operators.held()
    assert operators is not None and len(operators.flame.row) == len(operators.profile.calls)
    assert (
        find(window, "operatorsCaptionWords", QLabel).text().startswith("From file all.gpux, on ")
    )
    panels.places.show_view(panels.accesses)
    accesses = panels.accesses.held()
    assert accesses is not None and accesses.profile == drawn_accesses()
    said = find(window, "accessesCaptionWords", QLabel).text()
    assert said.startswith("From file all.gpux, on ")
    assert panels.accesses.counting().request_words.text().startswith("Request 1 of 2")
    assert window.session.jobs.current is None, "what a file shows is not counted anew"
    window.sessions.back()
    assert panels.compare.held() is None and panels.block_map.held() is None


def test_devices_of_other_machines_are_shown_as_they_are() -> None:
    other: DeviceInfo = msgspec.structs.replace(CPU, id="cuda:7", name="Another GPU", kind="gpu")
    wanted = MapOf("naive", RunRequest(workload="matmul"), Grid((8, 16), (1, 2)), other)
    read = map_file.decode(map_file.encode(a_map(wanted=wanted)), "a.gpux")
    assert read.surface.wanted.device == other


# ---- what a kernel or a compiler said

SAID = "mine.cu:3: no <b>conversion</b> to vector<float>\x1b[0m"
PRINTED = "<tid 3> a<b\x1b[2J\r\n" * 8192 + "\0"


def test_parts_with_what_kernels_printed_and_compilers_said_come_back() -> None:
    sweep = made_sweep()
    *measured, skipped = sweep.runs
    swept = [
        msgspec.structs.replace(e, run=msgspec.structs.replace(e.run, printed=PRINTED))
        for e in measured
        if e.run is not None
    ]
    swept.append(msgspec.structs.replace(skipped, skipped=SAID))
    sweep = msgspec.structs.replace(sweep, runs=swept)
    read = sweep_file.decode(sweep_json(sweep), "a.gpux")
    assert [c.skipped or (c.result and c.result.printed) for c in read.cells] == [
        PRINTED, PRINTED, SAID
    ]  # fmt: skip
    cells = list(a_map().surface.cells)
    cells[-1] = MapCell(cells[-1].block, "failed", SAID)
    held = HeldMap(a_map(cells=cells).surface, lambda: sweep)
    surface = map_file.decode(map_file.encode(held), "a.gpux").surface
    assert surface.cells == cells and surface.runs == sweep
    failed = [
        msgspec.structs.replace(e, reason=SAID if e.reason is not None else None)
        for e in TUNING.evaluations
    ]
    tuning = msgspec.structs.replace(TUNING, evaluations=tuple(failed))
    one = Held(Tried(tuning.evaluations, tuning))
    assert tried.decode(tried.encode(one), "a.gpux").result.tuning == tuning


def test_a_comparison_with_what_kernels_printed_comes_back() -> None:
    made = made_comparison()
    contestants = [
        msgspec.structs.replace(one, run=msgspec.structs.replace(one.run, printed=PRINTED))
        for one in made.contestants
    ]
    held = msgspec.structs.replace(
        a_comparison(), result=msgspec.structs.replace(made, contestants=contestants)
    )
    read = compare_file.decode(compare_file.encode(held), "a.gpux").result
    assert read is not None and [one.run.printed for one in read.contestants] == [PRINTED] * 2


@pytest.mark.parametrize("kind", sorted(STUDIES))
def test_studies_with_what_compilers_said_come_back(kind: str) -> None:
    study = json.loads(study_json(STUDIES[kind]))
    for step in study.get("points", study.get("rows", [])):
        skipped = step.get("skipped", "")
        if isinstance(skipped, dict):
            step["skipped"] = dict.fromkeys(skipped, SAID)
        elif skipped:
            step["skipped"] = SAID
    data = json.dumps({"schema": lab_file.SCHEMA, "studies": [study]}).encode()
    lab_file.decode(data, "a.gpux")


def test_a_text_that_none_can_have_said_is_refused() -> None:
    sweep = made_sweep()
    entry = msgspec.structs.replace(sweep.runs[-1], skipped="n" * 20_001)
    with pytest.raises(InputError, match="too long"):
        sweep_file.decode(
            sweep_json(msgspec.structs.replace(sweep, runs=[*sweep.runs[:-1], entry])), "a.gpux"
        )
