"""One program through NVRTC's own functions, as cuda-bindings offer them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from gpuexplorer.compile.targets import Version
from gpuexplorer.core.errors import CannotRunHere
from gpuexplorer.core.frozen import is_frozen, to_get

_COMMAND = to_get("gpuexplorer[nvrtc]", in_an_engine=True)
_REMEDY = _COMMAND if is_frozen() else f"{_COMMAND}, or [cuda13] or [cuda12] for an NVIDIA GPU here"
_NAME = b"source.cu"


class Refused(Exception):
    """NVRTC did not compile a program: its status, such as NVRTC_ERROR_COMPILATION, and its log."""

    def __init__(self, status: str, log: str) -> None:
        super().__init__(status)
        self.status = status
        self.log = log


class Built(msgspec.Struct, frozen=True):
    """What NVRTC made of a program: a cubin or PTX, the symbol of each name asked for, its log."""

    code: bytes
    symbols: dict[str, str]
    log: str
    between: str = ""
    """The PTX that a cubin was made of, where it was asked for."""


class Nvrtc(msgspec.Struct, frozen=True):
    """The NVRTC that is loaded into this process."""

    version: Version
    known: tuple[int, ...]
    """The architectures it compiles for, 90 for sm_90, oldest first."""

    @staticmethod
    def load() -> Nvrtc:
        """Return the one that this Python has; CannotRunHere where there is none."""
        try:
            from cuda.bindings import nvrtc

            _, major, minor = nvrtc.nvrtcVersion()
            _, known = nvrtc.nvrtcGetSupportedArchs()
        except Exception as error:  # noqa: BLE001  no bindings, or no library: it says which
            raise missing(error) from None
        return Nvrtc((major, minor), tuple(sorted(known)))

    def build(
        self,
        text: str,
        headers: Mapping[str, bytes],
        options: Iterable[str],
        names: Iterable[str],
        *,
        ptx: bool,
        listed: bool = False,
    ) -> Built:
        """Compile ``text``, which may include ``headers`` by name; Refused with the log.

        ``names`` are the kernels wanted, template arguments included. PTX ends with a zero byte.
        ``listed``: with the PTX in between.
        """
        from cuda.bindings import nvrtc

        def call(function: str, *arguments: Any) -> Any:
            status, *values = getattr(nvrtc, function)(*arguments)
            if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
                raise Refused(status.name, "")
            return values[0] if values else None

        def text_of(size: str, function: str) -> bytes:
            found = bytearray(call(size, program))
            call(function, program, found)
            return bytes(found)

        wanted = list(names)
        encoded = [option.encode() for option in options]
        program = call(
            "nvrtcCreateProgram", text.encode(), _NAME,
            len(headers), list(headers.values()), [name.encode() for name in headers],
        )  # fmt: skip
        try:
            for name in wanted:
                call("nvrtcAddNameExpression", program, name.encode())
            try:
                call("nvrtcCompileProgram", program, len(encoded), encoded)
            except Refused as refused:
                said = text_of("nvrtcGetProgramLogSize", "nvrtcGetProgramLog")
                raise Refused(refused.status, _decoded(said)) from None
            log = _decoded(text_of("nvrtcGetProgramLogSize", "nvrtcGetProgramLog"))
            kind = "PTX" if ptx else "CUBIN"
            code = text_of(f"nvrtcGet{kind}Size", f"nvrtcGet{kind}")
            between = _decoded(text_of("nvrtcGetPTXSize", "nvrtcGetPTX")) if listed else ""
            symbols = {
                name: call("nvrtcGetLoweredName", program, name.encode()).decode()
                for name in wanted
            }
        finally:
            nvrtc.nvrtcDestroyProgram(program)
        return Built(code, symbols, log, between)


def _decoded(text: bytes) -> str:
    return text.decode(errors="replace").replace("\0", "").strip()


def missing(error: Exception) -> CannotRunHere:
    """Return the error of a Python that has no NVRTC, or none that can be used."""
    lines = str(error).strip().splitlines() or ["no reason given"]
    if isinstance(error, ImportError):
        return CannotRunHere(f"NVRTC is not installed ({lines[0]})", remedy=_REMEDY)
    return CannotRunHere(f"NVRTC cannot be used here ({lines[0]})", remedy=_REMEDY)
