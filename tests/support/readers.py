"""What this program reads besides imports: samples of each kind, what spoils them, how it is read.

Each reader does what the program does with the input, up to where something would be launched.
"""

from __future__ import annotations

import io
import random
import re
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from gpuexplorer.compile.rewriter import rewrite
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.core.result import Phases
from gpuexplorer.core.sample import Reading, SampleBatch
from gpuexplorer.core.sweep import read_sweep, sweep_json
from gpuexplorer.core.text import brief
from gpuexplorer.engine import protocol
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import read_folder, read_source, shipped_folder
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.workload import Workload
from tests.support.exchange import RAW, Spoil, made_sweep, spoil_bytes, spoil_json
from tests.support.prepared import prepared
from tests.support.problems import device, library_device, model_device

Read = Callable[[bytes], None]
WORDS = (
    "N", "-1", "0", "1e308", "nan", "inf", "2**63", "[]", "{}", "\"\"", "'x'", "true", "10**400",
    "N*N*N", "1/0", "block_x", "__import__('os')", "(" * 200, "[" * 200, "\u202e", "\x1b[2J",
)  # fmt: skip
"""What stands in a manifest in place of something else."""
TOKENS = (
    "__global__", "extern", "\"C\"", "float", "*", "&", "(", ")", "{", "}", "[", "]", "<", ">", ";",
    ",", "/*", "*/", "//", "\\\n", "#define X", "#include \"a.h\"", "#if 0", "#endif", "R\"(", "'",
    "\"", "<<<", ">>>", "template<int T>", "__shared__", "long", "unsigned", "\x00", "é", "f(" * 50,
)  # fmt: skip


def spoil_text(words: Sequence[str]) -> Spoil:
    """Return what spoils a text: pieces replaced by such words, doubled, left out; or its bytes."""
    pieces = re.compile(rb"\w+|\S|\s+")

    def spoil(data: bytes, chance: random.Random) -> bytes:
        for _ in range(chance.randint(1, 3)):
            if chance.random() < 0.3:
                data = spoil_bytes(data, chance)
                continue
            found = pieces.findall(data) or [b""]
            at, action = chance.randrange(len(found)), chance.randrange(4)
            if action == 0:
                found[at] = chance.choice(words).encode()
            elif action == 1:
                del found[at]
            elif action == 2:
                found[at] = found[chance.randrange(len(found))]
            else:
                found.insert(at, chance.choice(words).encode())
            data = b"".join(found)
        return data

    return spoil


# ---- workloads


def manifests() -> tuple[list[bytes], Read]:
    """Return the shipped manifests, and how one is read: to the plan of each of its variants."""
    folders = [path for path in sorted(shipped_folder().iterdir()) if path.is_dir()]
    sources = {file.name: file.read_bytes() for folder in folders for file in folder.glob("*.cu*")}
    here = (device(threads=1), model_device(), library_device("numpy.matmul"))
    devices = DeviceList(devices=here)
    by_id = {one.id: one for one in here}
    home = Path(tempfile.mkdtemp(prefix="gpuexplorer-fuzz-"))
    for name, data in sources.items():
        (home / name).write_bytes(data)

    def read(data: bytes) -> None:
        (home / "workload.toml").write_bytes(data)
        workload = Workload(read_folder(home))
        for name in list(workload.manifest.variants)[:1]:
            config = complete(RunRequest(workload=workload.name, variant=name), workload, devices)
            make_plan(workload, config, by_id[config.device])

    return [(folder / "workload.toml").read_bytes() for folder in folders], read


def sources() -> tuple[list[bytes], Read]:
    """Return the kernels that a CPU runs as well, and how both languages read a source."""
    found = [
        path.read_bytes()
        for path in sorted(shipped_folder().rglob("*.cu"))
        if not re.search(r"\basm\b|\bwmma\b", path.read_text(encoding="utf-8"))
    ]
    path = Path(tempfile.mkdtemp(prefix="gpuexplorer-fuzz-")) / "made.cu"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        text = read_source(path)
        rewrite("made.cu", {"made.cu": text})
        rewrite("made.cu", {"made.cu": text}, "c")

    return found, read


# ---- documents


def sweeps() -> tuple[list[bytes], Read]:
    """Return a sweep's document, and how the window reads it."""
    return [sweep_json(made_sweep())], lambda data: void(read_sweep(data))


def void(_: object) -> None:
    """Take anything."""


# ---- session files


def sessions() -> tuple[list[bytes], Read]:
    """Return a session file, and how it is opened."""
    from gpuexplorer.gui.model.replay import open_session
    from tests.support.sessions import whole_file

    path = Path(tempfile.mkdtemp(prefix="gpuexplorer-fuzz-")) / "s.gpux"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        open_session(path, 1)

    return [whole_file()], read


def spoil_session(data: bytes, chance: random.Random) -> bytes:
    """Spoil a session file: its bytes, or a member, with sums that fit it again."""
    from gpuexplorer.gui.model.session_archive import SUMS
    from tests.support.sessions import rewrite as write_again

    if chance.random() < 0.3:
        return spoil_bytes(data, chance)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = chance.choice(sorted(parts))
    parts[name] = (spoil_json if name.endswith(".json") else spoil_bytes)(parts[name], chance)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.gpux"
        write_again(path, {n: d for n, d in parts.items() if n != SUMS or n == name},
                    sums=name != SUMS)  # fmt: skip
        return path.read_bytes()


# ---- frames


def frames() -> tuple[list[bytes], Read]:
    """Return what an engine says of a run, and how the client takes it in."""
    seconds = (np.arange(1, 9) * 1e-3).astype("<f8").tobytes()
    said: list[protocol.Message] = [
        prepared(),
        protocol.Stage(generation=1, name="measure", deadline_s=10.0),
        protocol.Samples(
            generation=1, batch=SampleBatch(seconds=seconds, counts=(4, 4), starts_ns=(0, 10**7))
        ),
        protocol.Telemetry(
            device="opencl:0", reading=Reading(t_ns=5, source="cpu", sm_clock_Hz=2e9)
        ),
        protocol.Finished(generation=1, stopped_by="time", phases_s=Phases()),
    ]
    return [b"".join(map(protocol.frame, said)), *map(protocol.frame, said)], _take_frames


def _take_frames(data: bytes) -> None:
    """Do what the client's reading thread and a session do, and say what they would."""
    stream, record = io.BytesIO(data), RunRecord(prepared())
    try:
        while (body := protocol.read_body(stream)) is not None:
            message = protocol.engine_decoder().decode(body)
            if isinstance(message, protocol.Prepared):
                record = RunRecord(message)
            elif isinstance(message, protocol.Samples):
                record.add(message.batch)
            elif isinstance(message, protocol.Telemetry):
                record.add_reading(message.reading)
            elif isinstance(message, protocol.MemoryCounted):
                record.memory = message.memory
            elif isinstance(message, protocol.Finished):
                record.end(message.stopped_by, message.phases_s)
    except (protocol.ProtocolError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise WorkFailed(f"the engine is lost: {brief(str(error), 900)}") from None
    if record.samples:
        record.result()


def requests() -> tuple[list[bytes], Read]:
    """Return what a client asks an engine, and how the engine takes it in."""
    config = RunConfig(
        workload="matmul", variant="naive", size={"N": 64}, precision="fp32", device="opencl:0",
        block=(16, 16, 1),
    )  # fmt: skip
    asked: list[protocol.Message] = [
        protocol.Hello(protocol=protocol.PROTOCOL, client_version="0"),
        protocol.ListDevices(),
        protocol.Run(generation=1, config=config, workload_sha256="0" * 64),
        protocol.Cancel(generation=1),
    ]

    def read(data: bytes) -> None:
        stream = io.BytesIO(data)
        try:
            while (body := protocol.read_body(stream)) is not None:
                protocol.client_decoder().decode(body)
        except (protocol.ProtocolError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise WorkFailed(f"engine: unreadable message: {error}"[:900]) from None

    return [b"".join(map(protocol.frame, asked))], read


def readers() -> dict[str, tuple[Sequence[bytes], Spoil, Read]]:
    """Return every kind of input by its name: samples, what spoils them, and how one is read."""
    made: dict[str, tuple[Sequence[bytes], Spoil, Read]] = {}

    def add(name: str, found: tuple[list[bytes], Read], spoil: Spoil) -> None:
        made[name] = (found[0], spoil, found[1])

    add("manifest", manifests(), spoil_text(WORDS))
    add("source", sources(), spoil_text(TOKENS))
    add("sweep-document", sweeps(), spoil_json)
    add("session", sessions(), spoil_session)
    add("frames", frames(), spoil_frames)
    add("requests", requests(), spoil_frames)
    return made


def spoil_frames(data: bytes, chance: random.Random) -> bytes:
    """Spoil a stream of frames: its bytes, or a value within a frame whose length fits again."""
    if chance.random() < 0.4:
        return spoil_bytes(data, chance)
    stream, bodies = io.BytesIO(data), []
    while (body := protocol.read_body(stream)) is not None:
        bodies.append(body)
    at = chance.randrange(len(bodies))
    message: Any = msgspec.msgpack.decode(bodies[at])
    places = list(_places(message))
    if places:
        holder, key = chance.choice(places)
        holder[key] = chance.choice(VALUES)
    bodies[at] = msgspec.msgpack.encode(message)
    return b"".join(len(body).to_bytes(4, "little") + body for body in bodies)


VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 2**63 - 1, -(2**63), 1e308, float("nan"), float("inf"), -0.0, "", "x" * 999,
    b"", b"\x00" * 7, b"\xff" * 64, [], {}, [[]], RAW[0],
)  # fmt: skip


def _places(value: Any) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in list(items):
        yield value, key
        if isinstance(part, dict | list):
            yield from _places(part)
