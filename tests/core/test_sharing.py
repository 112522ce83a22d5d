"""Documents for others name folders and interpreters; where they lie stays on this machine."""

from __future__ import annotations

import msgspec
import pytest

from gpuexplorer.core.result import Environment
from gpuexplorer.core.sharing import (
    last_name,
    places_of,
    shared,
    shared_environment,
    shared_text,
)


def environment(kernels: str | None = None, engine: str | None = None) -> Environment:
    return Environment(gpuexplorer="1", python="3.11", kernels=kernels, engine=engine)


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("/home/ada/kernels/mine", "mine"),
        ("/home/ada/kernels/mine/", "mine"),
        ("/home/ada/model.py", "model.py"),
        (r"C:\Users\Ada Lovelace\mine", "mine"),
        ("/home/ada/envs/torch-2.11/bin/python3.12", "torch-2.11"),
        (r"C:\Users\Ada\envs\jax\Scripts\python.exe", "jax"),
        ("/usr/local/bin/python3", "python3"),
        ("/", "/"),
    ],
)
def test_a_path_is_named_by_what_tells_most(place: str, name: str) -> None:
    assert last_name(place) == name


def test_names_of_engines_are_no_places() -> None:
    assert places_of([environment(engine="torch-2.11")], ["jax", None]) == set()
    assert shared_environment(environment(engine="torch-2.11")).engine == "torch-2.11"


@pytest.mark.parametrize("place", ["/home/ada/own 'kernels'/mine", r"C:\Users\Ada Lovelace\mine"])
def test_a_place_is_gone_wherever_it_stands_in_a_document(place: str) -> None:
    found = environment(place)
    data = msgspec.json.encode(
        {"environment": found, "why": f"{place}/workload.toml: no block", "rate": "GFLOP/s"}
    )
    told = msgspec.json.decode(shared(data, [found]))
    assert told["environment"]["kernels"] == "mine"
    assert told["why"] == "mine/workload.toml: no block"
    assert told["rate"] == "GFLOP/s"
    assert shared_environment(found).kernels == "mine"


def test_what_only_looks_like_the_place_stays() -> None:
    text = "12 B/s in /srv/s/b and x/s, /s-2, but: /s, /s/kernel.cu:3"
    assert shared_text(text, ["/s"]) == "12 B/s in /srv/s/b and x/s, /s-2, but: s, s/kernel.cu:3"


@pytest.mark.parametrize("indent", [0, 2])
def test_machine_and_person_are_in_no_document_for_others(indent: int) -> None:
    found = msgspec.structs.replace(
        environment("/home/ada/mine"), machine='the "big" box', person="ada"
    )
    data = msgspec.json.encode({"environment": found, "note": "machine of ada"})
    told = shared(msgspec.json.format(data, indent=indent), [found])
    read = msgspec.json.decode(told)
    assert read["environment"].keys().isdisjoint({"machine", "person"})
    assert read["environment"]["kernels"] == "mine" and read["note"] == "machine of ada"
    assert b"machine" not in msgspec.json.encode(shared_environment(found))
    other = msgspec.structs.replace(environment(), machine="box")
    assert b"box" not in shared(msgspec.json.encode([found, other]), [found, other])
