"""The messages between client and engine, and how they are framed.

A frame is a little-endian 32-bit length and that many bytes of msgpack, 16 MiB at most. The engine
first writes ``PREAMBLE``, because a login shell may print before it; the client skips to it. Then
the client says Hello, the engine Welcome. Every message about a run carries its generation: the
client counts up, and whatever belongs to an older one is dropped.
"""

from __future__ import annotations

import re
import select
import struct
from functools import cache
from typing import BinaryIO, Literal

import msgspec

from gpuexplorer.core import bootstrap
from gpuexplorer.core.accesses import AccessLook, AccessProfile
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.memory import MemoryUse
from gpuexplorer.core.operators import OperatorProfile
from gpuexplorer.core.pipes import write_all
from gpuexplorer.core.result import (
    Arithmetic,
    Environment,
    Phases,
    Resources,
    Traffic,
    Verification,
)
from gpuexplorer.core.run_options import LIVE, RunOptions
from gpuexplorer.core.sample import Reading, SampleBatch
from gpuexplorer.core.telemetry import Counters, SourceState
from gpuexplorer.workloads.workload import WorkloadSource

PROTOCOL = 2
PREAMBLE = bootstrap.PREAMBLE
MAX_FRAME_B = 16 * 1024 * 1024
_LENGTH = struct.Struct("<I")
_NEVER_BLOCKS_B: int = getattr(select, "PIPE_BUF", 0) if hasattr(select, "poll") else 0
"""What a pipe takes whole once the system says that it takes something; 0: it does not say."""
_MARK = re.compile(re.escape(bootstrap.MARK) + rb"([\d.]+)\x00\n")


class ProtocolError(Exception):
    """The other side does not speak this protocol."""


class NoEngine(ProtocolError):
    """No preamble came; ``output`` is what came in its place, ``flooded`` that it was too much."""

    def __init__(self, output: bytes, *, flooded: bool) -> None:
        told = output[-300:].decode(errors="replace").strip() or "nothing"
        super().__init__(f"no engine answered; it said: {told}")
        self.output, self.flooded = output, flooded


class Message(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A message of either direction; the tag is the class's name."""


MAX_NOISE = 0.005
"""The relative error down to which a median counts as known, unless a run asks for another."""

Recording = Literal["samples", "counters", "operators", "shapes"] | AccessLook
"""What a run records: samples; what Nsight Compute counts in one launch, answered by Counted; the
operators of one launch, or those with the shapes of their inputs, answered by Profiled; what
the warp that is looked at asks of memory, answered by Accessed."""

# ---- client to engine


class Hello(Message, frozen=True, kw_only=True):
    """The first message; the engine refuses another protocol version."""

    protocol: int
    client_version: str


class ListDevices(Message, frozen=True, kw_only=True):
    """Ask for every device and every backend that has none; answered by Devices."""

    telemetry: bool = False
    """Ask also for the sources that can read each, which takes half a second a device."""
    packages: bool = False
    """Ask also for the versions of the packages that matter here."""


class Run(Message, frozen=True, kw_only=True):
    """Measure one configuration; replaces whatever runs."""

    generation: int
    config: RunConfig
    workload_sha256: str
    workload: WorkloadSource | None = None
    """Sent once per engine; later runs name it by its sha256."""
    options: RunOptions = LIVE
    recording: Recording = "samples"
    agreed: bool = False
    """Whether the user agreed to run the workload's own code, where it is a model's file."""
    waits: bool = False
    """Whether to wait, at the stage ``wait``, until nobody else uses the device."""


class Cancel(Message, frozen=True, kw_only=True):
    """Stop at the next launch boundary; answered by Finished or, without samples, Cancelled."""

    generation: int


class Alive(Message, frozen=True, kw_only=True):
    """Say that somebody still waits for an engine on another machine."""


class Shutdown(Message, frozen=True, kw_only=True):
    """End the process."""


# ---- engine to client


class Welcome(Message, frozen=True, kw_only=True):
    """The handshake's answer: who the engine is, and its clocks at one moment."""

    protocol: int
    version: str
    pid: int
    python: str
    monotonic_ns: int
    utc: str
    threads: int


class Refused(Message, frozen=True, kw_only=True):
    """This Python cannot be an engine, and why; in Welcome's place, and the last message."""

    what: str
    remedy: str = ""
    detail: str = ""


class Devices(Message, frozen=True, kw_only=True):
    """Every device found."""

    devices: DeviceList
    telemetry: dict[str, tuple[SourceState, ...]] = {}
    """If asked for: the state of each source, by hardware."""
    packages: dict[str, str] = {}
    """If asked for: the versions of what is installed beside the engine, by distribution."""
    no_profiler: str = ""
    """Why Nsight Compute cannot look into the NVIDIA GPUs; "" where it may, or there is none."""


STAGES = {
    "wait": "waiting until nobody else uses the device",
    "check": "checking the configuration",
    "inputs": "making inputs",
    "build": "building the kernel",
    "allocate": "allocating memory",
    "upload": "copying inputs to the device",
    "predict": "predicting a launch's time",
    "verify": "running once to verify",
    "compare": "comparing with float64",
    "rest": "letting the device rest, for its power at rest",
    "profile": "running once under Nsight Compute",
    "operators": "recording operators",
    "accesses": "counting accesses",
    "measure": "measuring",
    "memory": "counting the memory it takes",
    "finish": "finishing",
    "suspended": "waiting for the engine, which is suspended",
}
"""What a run does at each stage, in words."""


class Stage(Message, frozen=True, kw_only=True):
    """What the engine is about to do; after ``deadline_s`` without another message it hangs.

    A step that is over at once is not told, but for the first one at which the process might end.
    """

    generation: int
    name: str
    """One of ``STAGES``."""
    deadline_s: float | None = None


class Prepared(Message, frozen=True, kw_only=True):
    """Built, run once and verified; samples follow."""

    generation: int
    config: RunConfig
    device: DeviceInfo
    verification: Verification | None
    """None: the result could not be checked, and ``not_verified`` says why."""
    resources: Resources
    phases_s: Phases
    traffic: list[Traffic]
    environment: Environment
    flops: float
    fewer_flops: bool = False
    """Whether it may have got by with fewer operations."""
    predicted_s: float | None
    method: str
    resolution_s: float
    untimed_B: float = 0.0
    """Bytes moved before each launch that are no part of it: emptied caches, arrays set back."""
    memory: MemoryUse | None = None
    """What the memory will be, by formula; what a counter saw follows in MemoryCounted."""
    not_verified: str | None = None
    printed: str | None = None
    """What the kernels printed in the launch that was checked."""
    arithmetic: Arithmetic | None = None
    """What ran, beside what was asked for; None where the configuration alone says it."""

    @property
    def verified(self) -> bool:
        """Whether the result was checked, all of it, and found right."""
        return self.verification is not None and self.verification.whole is True

    @property
    def computed_in(self) -> str:
        """The precision whose roofs it stands under: what its products were computed in."""
        ran = self.arithmetic.ran if self.arithmetic is not None else None
        return (ran or self.config.precision).removeprefix("autocast_")


class Samples(Message, frozen=True, kw_only=True):
    """Samples since the last such message."""

    generation: int
    batch: SampleBatch
    dropped: int = 0
    """Samples lost before these because the client did not read in time."""

    def __post_init__(self) -> None:
        """Refuse what a damaged frame makes of samples; the decoder tells it as its own error."""
        if not self.batch.is_whole:
            raise ValueError("a batch of samples does not hold together")


class MemoryCounted(Message, frozen=True, kw_only=True):
    """The most memory that arrays and launches held, with the prediction beside it."""

    generation: int
    memory: MemoryUse


class Telemetry(Message, frozen=True, kw_only=True):
    """The device's state; ``device`` is its id."""

    device: str
    reading: Reading


class NeedsConfirmation(Message, frozen=True, kw_only=True):
    """A launch would take longer than ``CONFIRM_ABOVE_S``; Run again with ``allow_long``."""

    generation: int
    predicted_s: float


class Finished(Message, frozen=True, kw_only=True):
    """The run ended and had samples; the client makes its document (see ``record.RunRecord``)."""

    generation: int
    stopped_by: str
    """``time``, ``samples``, ``noise``, ``stable`` (the noise no longer fell) or ``user``."""
    phases_s: Phases


class Counted(Message, frozen=True, kw_only=True):
    """What Nsight Compute counted in one launch; the run's last message."""

    generation: int
    counters: Counters


class Profiled(Message, frozen=True, kw_only=True):
    """The operators of one launch; the run's last message."""

    generation: int
    profile: OperatorProfile


class Accessed(Message, frozen=True, kw_only=True):
    """What one warp asks of memory; the run's last message."""

    generation: int
    profile: AccessProfile


class Cancelled(Message, frozen=True, kw_only=True):
    """The run ended before it had a sample."""

    generation: int


class Failed(Message, frozen=True, kw_only=True):
    """The run, or the request with generation 0, failed; one sentence, and the exit code."""

    generation: int
    kind: str
    what: str
    remedy: str = ""
    detail: str = ""
    exit_code: int = 1
    traceback: str = ""


ClientMessage = Hello | ListDevices | Run | Cancel | Alive | Shutdown
EngineMessage = (
    Welcome | Refused | Devices | Stage | Prepared | Samples | MemoryCounted | Telemetry
    | NeedsConfirmation | Finished | Counted | Profiled | Accessed | Cancelled | Failed
)  # fmt: skip

EXIT_TOLD = 70
"""The exit status of an engine that cannot go on and has said why in its last message."""
CONFIRM_ABOVE_S = 2.0
"""A launch predicted above this runs only after the user said so."""

_encoder = msgspec.msgpack.Encoder()


@cache
def client_decoder() -> msgspec.msgpack.Decoder[ClientMessage]:
    """Return what reads the client's messages, made by the first who needs it: each takes long."""
    return msgspec.msgpack.Decoder(ClientMessage)


@cache
def engine_decoder() -> msgspec.msgpack.Decoder[EngineMessage]:
    """Return what reads the engine's messages, made by the first who needs it."""
    return msgspec.msgpack.Decoder(EngineMessage)


def frame(message: Message) -> bytes:
    """Return a message as one frame; ProtocolError when it is above ``MAX_FRAME_B``."""
    body = _encoder.encode(message)
    if len(body) > MAX_FRAME_B:
        raise ProtocolError(f"a message of {len(body)} bytes is above the limit of {MAX_FRAME_B}")
    return _LENGTH.pack(len(body)) + body


def write_at_once(stream: BinaryIO, data: bytes) -> bool:
    """Write to a pipe where that cannot block, and return whether it did.

    Another thread that would write instead takes longer to wake than this takes.
    """
    if len(data) > _NEVER_BLOCKS_B:
        return False
    try:
        room = select.poll()
        room.register(stream, select.POLLOUT)
        if not room.poll(0):
            return False
        write_all(stream, data)
        stream.flush()
    except (OSError, ValueError):  # it is closed, or no file of the system's
        return False
    return True


def read_body(stream: BinaryIO) -> bytes | None:
    """Read one frame's body; None at the end of the stream, ProtocolError for a torn frame."""
    head = _read_exactly(stream, _LENGTH.size)
    if not head:
        return None
    if len(head) < _LENGTH.size:
        raise ProtocolError("the stream ended inside a frame")
    (length,) = _LENGTH.unpack(head)
    if length > MAX_FRAME_B:
        raise ProtocolError(f"a frame of {length} bytes is above the limit of {MAX_FRAME_B}")
    body = _read_exactly(stream, length)
    if len(body) < length:
        raise ProtocolError("the stream ended inside a frame")
    return body


def _read_exactly(stream: BinaryIO, length: int) -> bytes:
    parts: list[bytes] = []
    missing = length
    while missing:
        part = stream.read(missing)
        if not part:
            break
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def skip_to_preamble(stream: BinaryIO, limit_B: int = 1 << 20) -> bytes:
    """Read up to the engine's preamble and return what stood before it.

    NoEngine when the stream ends or ``limit_B`` bytes pass without it.
    """
    seen = bytearray()
    while not seen.endswith(PREAMBLE):
        byte = stream.read(1)
        if not byte or len(seen) >= limit_B:
            raise NoEngine(bytes(seen), flooded=bool(byte))
        seen += byte
    return bytes(seen[: -len(PREAMBLE)])


def split_mark(before: bytes) -> tuple[str | None, bytes]:
    """Return the version that a Python wrote before anything else, and the rest of what it said.

    The version is None where no Python ran.
    """
    found = _MARK.search(before)
    if found is None:
        return None, before
    return found[1].decode(), before[: found.start()] + before[found.end() :]
