"""What a compiled kernel takes of the hardware, read from the cubin: no driver is needed.

A cubin is a 64-bit little-endian ELF file. Section ``.nv.info`` holds, as (format, attribute,
size) records, each function's registers (EIATTR_REGCOUNT) and stack; ``.nv.info.K`` kernel K's
bounds and, one record each, its parameters (EIATTR_KPARAM_INFO: index, ordinal, offset, size in the
upper 14 bits; _V2: size in the lower 16 bits); the size of ``.nv.shared.K`` is K's static shared
memory. The attributes are not documented
by NVIDIA; the values were compared with what ptxas prints.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import msgspec

_REGISTERS = 0x2F
_FRAME = 0x11
_MAX_THREADS = 0x05
_PARAMETER = 0x17
_LONG_PARAMETER = 0x45
"""The same of a kernel whose parameters take more than 4 KiB."""
_SIZED = 4
"""The record format whose size field is a length; in the others it is the value itself."""
_SYSTEM_SHARED_B = 1024
"""What the system takes of each block's shared memory from sm_90 on, included in the section."""
_SYMTAB = 2
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")


class KernelResources(msgspec.Struct, frozen=True, kw_only=True):
    """What one kernel takes: registers and stack a thread, static shared memory a block."""

    registers_per_thread: int
    static_shared_B: int
    frame_B: int
    """Local memory of a thread: its arrays, and registers that were spilled."""
    max_threads: int | None
    """Threads of the largest block that ``__launch_bounds__`` allows; None without one."""


class CubinError(ValueError):
    """The bytes are not a cubin."""


class _Section(msgspec.Struct, frozen=True):
    name: str
    kind: int
    data: bytes
    size: int
    link: int


def read_cubin(code: bytes, arch: str) -> dict[str, KernelResources]:
    """Return each kernel's resources by symbol; ``arch`` (``sm_90``) is what it was compiled for.

    Raises CubinError when ``code`` is not a whole cubin.
    """
    try:
        return _read(code, arch)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise CubinError(f"the cubin is damaged: {error}") from None


def parameter_sizes(code: bytes) -> dict[str, tuple[int, ...]]:
    """Return the bytes of each parameter of each kernel, in order, by symbol.

    Raises CubinError when ``code`` is not a whole cubin.
    """
    try:
        return {
            section.name.removeprefix(".nv.info."): _sizes(section.data)
            for section in _sections(code)
            if section.name.startswith(".nv.info.")
        }
    except (struct.error, LookupError, UnicodeDecodeError) as error:
        raise CubinError(f"the cubin is damaged: {error}") from None


def _sizes(data: bytes) -> tuple[int, ...]:
    found: dict[int, int] = {}
    for attribute, value in _records(data):
        if attribute in (_PARAMETER, _LONG_PARAMETER) and len(value) == 12:
            _, ordinal, _, packed = struct.unpack("<IHHI", value)
            found[ordinal] = packed >> 18 if attribute == _PARAMETER else packed & 0xFFFF
    return tuple(found[ordinal] for ordinal in range(len(found)))


def _read(code: bytes, arch: str) -> dict[str, KernelResources]:
    sections = _sections(code)
    symbols = _symbols(sections)
    registers: dict[str, int] = {}
    frames: dict[str, int] = {}
    wanted = {_REGISTERS: registers, _FRAME: frames}
    for section in sections:
        if section.name == ".nv.info":
            for attribute, value in _records(section.data):
                if attribute in wanted and len(value) == 8:
                    symbol, number = struct.unpack("<II", value)
                    wanted[attribute][symbols[symbol]] = number
    by_name = {s.name: s for s in sections}
    system_B = _SYSTEM_SHARED_B if _number(arch) >= 90 else 0
    found = {}
    for name in (s.name.removeprefix(".text.") for s in sections if s.name.startswith(".text.")):
        if f".nv.info.{name}" not in by_name:
            continue  # a function, not a kernel
        shared = by_name.get(f".nv.shared.{name}")
        found[name] = KernelResources(
            registers_per_thread=registers[name],
            static_shared_B=max(shared.size - system_B, 0) if shared else 0,
            frame_B=frames.get(name, 0),
            max_threads=_max_threads(by_name[f".nv.info.{name}"].data),
        )
    return found


def _number(arch: str) -> int:
    """Return 90 of ``sm_90`` or ``sm_90a``."""
    digits = "".join(c for c in arch if c.isdigit())
    if not digits:
        raise CubinError(f"'{arch}' is not an architecture")
    return int(digits)


def _sections(code: bytes) -> list[_Section]:
    if code[:5] != b"\x7fELF\x02":
        raise CubinError("not a 64-bit ELF file")
    header = _HEADER.unpack_from(code)
    offset, size, count, names_index = header[6], header[11], header[12], header[13]
    heads = [_SECTION.unpack_from(code, offset + i * size) for i in range(count)]
    strings = code[heads[names_index][4] :][: heads[names_index][5]]
    found = []
    for name, kind, _, _, start, length, link, *_ in heads:
        without_data = kind == 8  # SHT_NOBITS: only its size counts
        data = b"" if without_data else code[start : start + length]
        found.append(_Section(_text(strings, name), kind, data, length, link))
    return found


def _symbols(sections: list[_Section]) -> list[str]:
    for section in sections:
        if section.kind == _SYMTAB:
            strings = sections[section.link].data
            return [_text(strings, s[0]) for s in _SYMBOL.iter_unpack(section.data)]
    return []


def _text(strings: bytes, offset: int) -> str:
    return strings[offset : strings.index(b"\0", offset)].decode()


def _records(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, at)
        at += 4
        length = size if form == _SIZED else 0
        yield attribute, data[at : at + length]
        at += length


def _max_threads(data: bytes) -> int | None:
    for attribute, value in _records(data):
        if attribute == _MAX_THREADS and len(value) == 12:
            x, y, z = struct.unpack("<III", value)
            return int(x * y * z)
    return None
