"""Parts of session files that cannot be: refused in one short sentence, whatever is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.studies import STUDY_GROUP, without_runs
from gpuexplorer.core.sweep import sweep_json
from gpuexplorer.exchange.formats import read_runs
from gpuexplorer.gui.model import compare_file, lab_file, map_file, sweep, tried
from gpuexplorer.gui.model.compare_file import HeldComparison, ListedContestant
from gpuexplorer.gui.model.group_views import opened_group
from gpuexplorer.gui.model.job import Held
from gpuexplorer.history.store import Store
from tests.gui.test_session_parts import a_comparison, a_map, a_tuning
from tests.support.exchange import cache_text, made_sweep
from tests.support.lab_studies import STUDIES, made_run, precision_study, scaling_study
from tests.support.results import made_config

PARTS: dict[str, tuple[Callable[[bytes, str], object], Callable[[], bytes]]] = {
    "block-map": (map_file.decode, lambda: map_file.encode(a_map())),
    "tuning": (tried.decode, lambda: tried.encode(a_tuning())),
    "comparison": (compare_file.decode, lambda: compare_file.encode(a_comparison())),
    "sweep": (sweep.decode, lambda: sweep_json(made_sweep())),
    "lab": (lab_file.decode, lambda: lab_file.encode([Held(one) for one in STUDIES.values()])),
}


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("comparison", lambda d: d["candidates"][0]["config"].update(workload="../../up")),
        ("comparison", lambda d: d["candidates"][0]["stored"]["config"].update(workload="../up")),
        ("comparison", lambda d: d["candidates"][0]["config"].update(variant="naive\n")),
        ("comparison", lambda d: d["candidates"][0]["config"].update(size={})),
        ("comparison", lambda d: d["candidates"][0]["config"].update(block=[0, 1, 1])),
        ("comparison", lambda d: d["candidates"][0]["config"].update(seed=10**400)),
        ("comparison", lambda d: d.update(candidates=d["candidates"] * 7)),
        ("comparison", lambda d: d["result"].update(rounds=-1)),
        ("comparison", lambda d: d["result"].update(tolerance=1)),
        (
            "comparison",
            lambda d: d["result"]["contestants"][0]["run"]["timing"].update(median_s=-1),
        ),
        ("comparison", lambda d: d["result"]["contestants"][0]["turns_s"].append(1e-3)),
        ("comparison", lambda d: d["result"]["contestants"][1].update(ci95_low=None)),
        ("block-map", lambda d: d["runs"]["runs"][0].update(time_utc="<b>now</b>")),
        ("block-map", lambda d: d.update(x=[])),
        ("block-map", lambda d: d.update(z=0)),
        ("block-map", lambda d: d.update(x=list(range(1, 20_000)))),
        ("block-map", lambda d: d["cells"][0].update(time_s=0)),
        ("block-map", lambda d: d["cells"][0].update(time_s=None)),
        ("block-map", lambda d: d["cells"][0].update(samples=-1)),
        ("block-map", lambda d: d["cells"][0].update(flops=-1)),
        ("block-map", lambda d: d["cells"][0].update(ci95_low_s=-1)),
        ("block-map", lambda d: d["cells"][0].update(resources={"occupancy": 2})),
        ("sweep", lambda d: d.update(schema="gpuexplorer/sweep/2")),
        ("sweep", lambda d: d.update(points=1)),
        ("sweep", lambda d: d.update(axes={})),
        ("sweep", lambda d: d.update(axes={"block": [[1, 2, 3, 4]]})),
        ("sweep", lambda d: d.update(axes={"size.N": [0.5]})),
        ("sweep", lambda d: d.update(title="<b>x</b>")),
        ("sweep", lambda d: d["runs"][0].update(values={})),
        ("sweep", lambda d: d["runs"][0]["device"].update(name="<b>x</b>")),
        ("sweep", lambda d: d["runs"][0]["timing"].update(median_s=0)),
        ("sweep", lambda d: d["runs"][0]["timing"].update(median_s=1e10)),
    ],
)
def test_a_part_that_cannot_be_is_refused(name: str, edit: Any) -> None:
    decode, encoded = PARTS[name]
    document = json.loads(encoded())
    edit(document)
    with pytest.raises(InputError):
        decode(json.dumps(document).encode(), "a.gpux")


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("cache", [b"x" * 30_000, b"a\\nb", b"\xff\xfe"])
def test_what_is_said_of_a_refused_part_is_one_short_sentence(name: str, cache: bytes) -> None:
    decode, encoded = PARTS[name]
    data = encoded()
    assert b'"cache":"hot"' in data
    with pytest.raises(InputError) as caught:
        decode(data.replace(b'"cache":"hot"', b'"cache":"' + cache + b'"'), "a.gpux")
    assert len(str(caught.value)) < 400 and "\n" not in str(caught.value)


def test_a_comparison_with_a_run_of_another_program_comes_back(tmp_path: Path) -> None:
    (tmp_path / "cache.json").write_text(cache_text())
    run, *_ = read_runs(tmp_path / "cache.json").runs
    own = a_comparison().contestants[0]
    held = HeldComparison((own, ListedContestant(run.config, run)), 0, 0.005, None)
    read = compare_file.decode(compare_file.encode(held), "a.gpux")
    assert read == msgspec.structs.replace(held, origin="a.gpux")


def test_a_manifest_may_call_its_sizes_and_tunables_in_any_alphabet() -> None:
    held = a_comparison()
    own = held.contestants[0].config
    config = msgspec.structs.replace(own, size={"größe": 64, "_n": 2}, tunables={"разряд": 4})
    made = HeldComparison((ListedContestant(config),), 0, 0.005, None)
    read = compare_file.decode(compare_file.encode(made), "a.gpux")
    assert read.contestants == made.contestants


def test_a_study_of_times_that_hardly_grow_comes_back() -> None:
    grown = scaling_study().growth[0]
    flat = msgspec.structs.replace(grown, exponent=0.01, ci95_low=-0.02, ci95_high=0.04)
    made = scaling_study(growth=(flat,))
    (read,) = lab_file.decode(lab_file.encode([Held(made)]), "a.gpux")
    assert read.result == made


def test_a_study_of_which_one_dropped_out_after_some_rounds_is_shown_again(tmp_path: Path) -> None:
    study, left = precision_study(), made_run(99, made_config(precision="fp16"))
    with Store.open(tmp_path / "h.sqlite") as store:
        group = store.add_group(STUDY_GROUP, without_runs(study), [left, *study.runs])
        (held,) = opened_group(store, group).held
    assert {run.id for run in held.result.runs} == {run.id for run in study.runs}
