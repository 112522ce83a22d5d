"""A profile of operators as a Chrome trace: what Perfetto needs to draw it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpuexplorer.core.errors import InputError
from gpuexplorer.exchange.operator_trace import write_operator_trace
from tests.support.operators import made_profile


def written(path: Path, **how: bool) -> list[dict[str, Any]]:
    write_operator_trace(made_profile(**how), path)
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["displayTimeUnit"] == "ms"
    events: list[dict[str, Any]] = document["traceEvents"]
    return events


def test_every_call_is_a_span_on_its_track(tmp_path: Path) -> None:
    profile = made_profile()
    events = written(tmp_path / "t.json")
    spans = [e for e in events if e["ph"] == "X"]
    assert len(spans) == len(profile.calls)
    for span, call in zip(spans, profile.calls, strict=True):
        assert span["name"] == profile.names[call.name]
        assert span["ts"] == pytest.approx(call.start_s * 1e6)
        assert span["dur"] == pytest.approx(call.duration_s * 1e6)
    named = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert set(named.values()) == {"CPU thread 1", "GPU stream 7"}
    assert {(s["pid"], s["tid"]) for s in spans} == set(named)


def test_spans_of_a_track_are_nested(tmp_path: Path) -> None:
    spans = [e for e in written(tmp_path / "t.json", gpu=False) if e["ph"] == "X"]
    open_: list[float] = []
    for span in sorted(spans, key=lambda s: (s["ts"], -s["dur"])):
        while open_ and open_[-1] <= span["ts"] + 1e-9:
            open_.pop()
        assert not open_ or span["ts"] + span["dur"] <= open_[-1] + 1e-9
        open_.append(span["ts"] + span["dur"])


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such folder"):
        write_operator_trace(made_profile(), tmp_path / "none" / "t.json")
