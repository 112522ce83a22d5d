"""Session files to read, to change and to be refused."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.sample import Reading, SampleBatch
from gpuexplorer.gui.model.knobs import Knobs
from gpuexplorer.gui.model.live import Live
from gpuexplorer.gui.model.replay import contents_of, open_session, take
from gpuexplorer.gui.model.session_archive import DOCUMENT, SUMS, write_session
from gpuexplorer.gui.model.session_document import SessionContents, View
from gpuexplorer.gui.model.tally import Tally
from gpuexplorer.gui.model.trace import sample_times_s
from gpuexplorer.workloads.workload import WorkloadSource
from tests.support.prepared import prepared

KNOBS = Knobs(
    workload="matmul", variant="naive", size={"N": 512}, precision="fp32", block=(16, 16, 1)
)
SOURCE = WorkloadSource(manifest="name = 'mine'\n", files={"mine.cu": "__global__ void f() {}\n"})


def batch(seed: int, *, start_s: float, rows: int = 12, size: int = 7) -> SampleBatch:
    generator = np.random.default_rng(seed)
    seconds = generator.lognormal(-7, 0.05, rows * size)
    starts = (start_s + 0.05 * np.arange(rows)) * 1e9
    return SampleBatch(
        seconds=seconds.astype("<f8").tobytes(),
        counts=(size,) * rows,
        starts_ns=tuple(int(s) for s in starts),
        clocks_Hz=(None,) * rows,
    )


def measure(live: Live, ticket: int, x: int, start_s: float) -> None:
    """Let a timeline live through a run, as the session does."""
    ready = prepared()
    config = msgspec.structs.replace(ready.config, block=(x, 16, 1))
    live.begin(ticket, config)
    live.prepare(msgspec.structs.replace(ready, config=config))
    tally = Tally(ready.resolution_s)
    for number in range(3):
        piece = batch(ticket * 10 + number, start_s=start_s + number)
        live.add(sample_times_s(piece, 0), piece.durations_s, [piece])
        live.read(
            Reading(t_ns=int((start_s + number + 0.3) * 1e9), source="cpu", sm_clock_Hz=2e9,
                    load=0.5),
            start_s + number + 0.3,
        )  # fmt: skip
        tally.extend(piece)
        live.summarize(tally.summary())


def timeline() -> Live:
    live = Live()
    measure(live, 1, 8, 100.0)
    measure(live, 2, 16, 110.0)
    live.pin("the second, in words")
    measure(live, 3, 32, 120.0)
    return live


def contents(live: Live | None = None) -> SessionContents:
    shown = take(
        live or timeline(), KNOBS, View(tab="Roofline", span_s=10.0), "a note", {"mine": SOURCE}
    )
    return contents_of(shown, {"later": b'{"schema": "gpuexplorer/later/1"}'})


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path: Path, parts: dict[str, bytes], *, sums: bool = True) -> None:
    """Write a session of these members; with check sums that fit unless told otherwise."""
    import hashlib

    if sums:
        named = {n: hashlib.sha256(d).hexdigest() for n, d in parts.items() if n != SUMS}
        parts = {**parts, SUMS: json.dumps(named).encode()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


def change(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    """Edit the document of a session file."""
    parts = members(path)
    document = json.loads(parts[DOCUMENT])
    edit(document)
    rewrite(path, {**parts, DOCUMENT: json.dumps(document).encode()})


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        open_session(path, 1)
    words = str(caught.value)
    assert words.startswith(f"cannot open {path}: ") and "\n" not in words
    return words


_whole: list[bytes] = []


def whole_file() -> bytes:
    if not _whole:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "bench.gpux"
            write_session(contents(), path)
            _whole.append(path.read_bytes())
    return _whole[0]
